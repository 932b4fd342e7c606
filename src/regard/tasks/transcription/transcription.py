"""Transcription: an encoder reads a sound (or a video), a decoder writes what is said in it, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.core.answers import Answer
from regard.core.batch import Examples, TokenBatch, move, row_lengths
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Ports
from regard.core.probe import Probe, Search
from regard.core.roles import Role
from regard.core.seams import Decodable, ReadsArrays, max_lengths_of
from regard.core.seams.task import Session, Sums
from regard.data.corpus import Corpus
from regard.data.examples import HasTarget
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.wording import random_ids, token_axis
from regard.data.padding import pad
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Beam
from regard.decoding.sentences import Symbols
from regard.layers.embeddings import output_matrix, output_states
from regard.layers.states import real_states
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.tasks.metrics.transcripts import transcript_scores
from regard.tasks.probing import vocabulary_logits
from regard.tasks.scores import teacher_forced
from regard.tasks.transcription.transcripts import TranscriptPart, TranscriptTask
from regard.tasks.whole_inputs import Whole

RANDOM_LENGTH = 9
"""Tokens of texts that mean nothing."""


class TranscriptionConfig(TranscriptPart):
    """From a sound to the text that is heard in it."""

    accuracy = "token_accuracy"
    generates = True
    needs = Role.ANSWERS
    reads = "sounds (or videos)"
    for_texts = 'task.kind = "translation"'

    kind: str = "transcription"
    label_smoothing: float = Field(0.1, ge=0, lt=1)

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> Transcription:
        return Transcription(self, corpus, modalities, seed)


@dataclass(frozen=True, slots=True)
class HeardBatch(TokenBatch):
    """Sources as arrays, and their texts as the decoder reads them."""

    source: Inputs
    target_in_BT: Tensor
    positions: int

    @property
    def tokens(self) -> int:
        return self.positions

    @property
    def written_lengths_B(self) -> Tensor:
        return row_lengths(self.real_N, self.target_in_BT)


class Transcription(TranscriptTask):
    """The task over one corpus."""

    static_shapes = False

    def __init__(self, config: TranscriptionConfig, corpus: Corpus[Any], modalities: Modalities, seed: int) -> None:
        super().__init__(config, corpus, modalities, seed, self.ids)
        self.config = config

    def ports(self) -> Ports:
        return self.modalities.ports()

    def ids(self, one: HasTarget) -> np.ndarray:
        return np.asarray(self.tokenizer.encode(one.target), np.int64)

    # -- examples and batches -------------------------------------------------------------------------------

    def collate(self, items: Sequence[Whole]) -> HeardBatch:
        specials, texts = self.tokenizer.specials, [one.answer for one in items]
        target_in_BT, lengths_B = pad(texts, before=specials.sos, fill=specials.pad)
        target_out_BT, _ = pad(texts, after=specials.eos, fill=specials.pad)
        real_N = np.flatnonzero(np.arange(target_in_BT.shape[1]) < lengths_B[:, None])
        targets_N = target_out_BT.ravel()[real_N]
        real, targets, read = (torch.from_numpy(one) for one in (real_N, targets_N, target_in_BT))
        return HeardBatch(real, targets, self.source([one.item for one in items]), read, self.inputs.positions(items))

    def source(self, items: Sequence[Any]) -> Inputs:
        """Collated; how long each is stands beside it also where all are equally long."""
        inputs = self.inputs.modality.collate(items)
        if inputs.lengths_B is not None:
            return inputs
        return replace(inputs, lengths_B=torch.full((len(items),), inputs.values.shape[2]))

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: HeardBatch) -> Sums:
        head: Any = model.head
        states_BTD = model(batch.source.values, batch.source.real_lengths_B, batch.target_in_BT)
        states_ND = output_states(head, real_states(states_BTD, batch.real_N))
        smoothing = self.config.label_smoothing if model.training else 0.0
        loss = vocabulary_loss(states_ND, output_matrix(head), batch.targets_N, smoothing)
        count = len(batch.targets_N)
        return Sums({"loss": loss.smoothed, "token_accuracy": loss.correct}, {"loss": count, "token_accuracy": count})

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        """A source with a given text, or with the answer that the model finds."""
        (item,) = self.inputs.modality.encode([raw])
        search = None if target else self.searched(session, item)
        answer = self.tokenizer.encode(target.strip()) if search is None else search.answers[0].tokens
        return replace(self.probe_examples(session, [Whole(item, np.asarray(answer, np.int64))]), search=search)

    def searched(self, session: Session, item: Any) -> Search:
        """The model's own answer; of a beam also how it was found."""
        engine = self.engine(session.model, session.device)
        if isinstance(session.options, Beam):
            every = session.options.model_copy(update={"n_best": session.options.size})
            return Search(*engine.explain(item, every))
        return Search(engine.predict([item], session.options)[0])

    def probe_examples(self, session: Session, items: Sequence[Whole]) -> Probe:
        batch, specials, first = self.collate(items), self.tokenizer.specials, items[0]
        answer = (*first.answer.tolist(), specials.eos)
        lengths_B = torch.tensor([1 + len(one.answer) for one in items])
        return session.move(
            Probe(
                Inputs(batch.target_in_BT, lengths_B), forward_heard, vocabulary_logits, self.tokenizer.token,
                source=batch.source, start=source_of,
                axis=token_axis(self.tokenizer, (specials.sos, *answer[:-1])),
                source_axis=source_axis(session.model, self.inputs.modality.axis(first.item)),
                expected=answer, asked=tuple(range(len(answer))), text=self.inputs.modality.describe(first.item),
            )
        )  # fmt: skip

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[Whole]:
        """Sources of different lengths, answers of one: all that is written is compared."""
        items = self.inputs.modality.random_items(generator, rows, length)
        return [Whole(item, random_ids(generator, self.tokenizer, min(RANDOM_LENGTH, length))) for item in items]

    # -- answers and scores ---------------------------------------------------------------------------------

    def engine(self, model: nn.Module, device: torch.device) -> TorchEngine:
        """What searches for answers with this model."""
        most = max_lengths_of(model)[1]

        def collate(items: list[Any]) -> tuple[Tensor, Tensor]:
            source = move(self.source(items), device)
            return source.values, source.real_lengths_B

        return TorchEngine(
            cast(Decodable, model), collate, symbols=Symbols.of(self.tokenizer.specials), device=device,
            length=self.inputs.modality.size, room=lambda item: most,
        )  # fmt: skip

    def answers(self, session: Session, items: Sequence[Any]) -> list[list[Answer]]:
        engine = self.engine(session.model, session.device)
        found = engine.predict(items, session.options, progress=session.progress, numbers=session.numbers)
        return [
            [Answer(self.tokenizer.decode(one.tokens), one.log_probability, one.score) for one in own] for own in found
        ]

    def transcribe(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        return self.answers(session, self.inputs.modality.encode(inputs))

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        return self.transcribe(session, inputs)

    def judge(self, session: Session, examples: Sequence[Any], encoded: Examples) -> dict[str, Any]:
        said = [own[0].text for own in self.answers(session, [one.item for one in encoded])]
        scores = transcript_scores(said, [one.target for one in examples])
        return {**scores, **teacher_forced(self, session, encoded), "decoding": session.options.model_dump()}


def source_of(probe: Probe) -> tuple[Tensor, Tensor]:
    assert probe.source is not None
    return probe.source.values, probe.source.real_lengths_B


def forward_heard(model: nn.Module, probe: Probe) -> Tensor:
    """states_BTD under teacher forcing."""
    return model(*source_of(probe), probe.inputs.values)


def source_axis(model: nn.Module, axis: Axis) -> Axis:
    """The positions that the model makes of its source, each called by its place on their grid."""
    if not isinstance(model, ReadsArrays):
        return axis
    return Axis(tuple(",".join(str(one + 1) for one in cell) for cell in np.ndindex(*model.source_cells(axis.shape))))

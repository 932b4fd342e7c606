"""Temporal classification: a text is read off an input that is longer, step by step, without knowing what stands where.

At every step a head says a symbol or the blank. A text is as probable as all of its alignments together (connectionist
temporal classification, Graves et al. 2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer
from regard.core.batch import Examples, InputBatch
from regard.core.errors import DataError, RecipeError, enumerate_problems
from regard.core.ports import INPUT, Ports
from regard.core.probe import Probe
from regard.core.seams import HasGrid, ReadsAgain
from regard.core.seams.task import Session, Sums
from regard.data.corpus import Corpus
from regard.data.examples import HasTarget
from regard.data.modalities.both import Modalities
from regard.decoding.temporal import best_alignment, best_prefixes, collapsed, steps_needed
from regard.layers.headed import body_of
from regard.layers.symbol_head import SymbolHead, is_beyond
from regard.tasks.metrics.transcripts import transcript_scores
from regard.tasks.reading import logits_of
from regard.tasks.transcription.transcripts import TranscriptPart, TranscriptTask
from regard.tasks.whole_inputs import Whole

NAMED = 10
"""Inputs that a message names before it only counts."""
BLANK = "–"


class TemporalClassificationConfig(TranscriptPart):
    """Which text is heard in a sound, its symbols in the order in which they come."""

    accuracy = "exact_match"
    reads = "sounds (or series, or videos)"
    for_texts = 'task.kind = "translation", or "tagging" where every word has an answer'

    kind: str = "temporal-classification"
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    prefixes: int = Field(8, ge=1, le=1000)  # that a search for the answer keeps; 1: the best symbol of each step

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> TemporalClassification:
        return TemporalClassification(self, corpus, modalities, seed)


@dataclass(frozen=True, slots=True)
class SymbolBatch(InputBatch):
    """Inputs, and what is said in them: symbols_BS, of each row the first ``lengths_B``."""

    symbols_BS: Tensor
    lengths_B: Tensor
    terms: int

    @property
    def loss_terms(self) -> int:
        return self.terms


class TemporalClassification(TranscriptTask):
    """The task over one corpus."""

    def __init__(
        self, config: TemporalClassificationConfig, corpus: Corpus[Any], modalities: Modalities, seed: int
    ) -> None:
        super().__init__(config, corpus, modalities, seed, self.symbols)
        self.config = config
        self.blank = self.tokenizer.size
        self.static_shapes = self.inputs.static_shapes

    def ports(self) -> Ports:
        """Of the body, which only reads: symbols come from the head, and a body of tokens finds none to write."""
        return {INPUT: self.modalities.ports()[INPUT]}

    def head(self, body: Any) -> nn.Module:
        check_steps(body)
        return SymbolHead(body.width, self.blank, self.config.dropout)

    def symbols(self, one: HasTarget) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(one.target))

    def check_lengths(self, model: Any, batch_tokens: int) -> None:
        """An input with fewer steps than what is said in it needs is named before training."""
        body = body_of(model)
        for split in ("train", "validation"):
            examples = self.corpus.splits.get(split, ())
            wrong = []
            for one, whole in zip(examples, self.inputs.encode(examples), strict=True):
                found, needed = self.steps(body, whole.item), steps_needed(whole.answer)
                if found < needed:
                    wrong.append(f"{one.source} ({one.origin}, line {one.line}): {found} for {one.target[:40]!r}, "
                                 f"which takes {needed}")  # fmt: skip
            if wrong:
                raise too_short(wrong, len(examples), split, self.inputs.modality.name)

    def steps(self, body: Any, item: Any) -> int:
        """Positions that the body makes of an input."""
        shape = self.inputs.modality.axis(item).shape
        return body.cells(shape)[0] if isinstance(body, HasGrid) else self.inputs.modality.size(item)

    # -- examples and batches -------------------------------------------------------------------------------

    def collate(self, items: Sequence[Whole]) -> SymbolBatch:
        inputs = self.inputs.modality.collate([one.item for one in items])
        lengths = [len(one.answer) for one in items]
        symbols_BS = torch.zeros(len(items), max(lengths), dtype=torch.long)
        for row, one in enumerate(items):
            symbols_BS[row, : len(one.answer)] = torch.tensor(one.answer)
        return SymbolBatch(inputs, self.inputs.positions(items), symbols_BS, torch.tensor(lengths), sum(lengths))

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        return self.probe_examples(session, [self.inputs.one(raw, target)])

    def probe_examples(self, session: Session, items: Sequence[Whole]) -> Probe:
        probe = self.inputs.probe(
            session, items, choice=self.spelled, unit="symbol",
            answers=lambda logits_TW: self.found(logits_TW.detach().float().log_softmax(-1).cpu()),
        )  # fmt: skip
        return replace(probe, read_out=visible_logits)

    def spelled(self, symbol: int) -> str:
        return BLANK if symbol == self.blank else self.tokenizer.token(symbol)

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[Whole]:
        return [Whole(item, ()) for item in self.inputs.random(session, generator, rows, length)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: SymbolBatch) -> Sums:
        """−log p(text | input) by symbol; and how many are right as a whole by the best alignment alone."""
        log_BTW = logits_of(model, batch.inputs).log_softmax(dim=-1)
        loss = -log_likelihoods(log_BTW, batch.symbols_BS, batch.lengths_B, self.blank).sum()
        best = log_BTW.detach().argmax(dim=-1).tolist()
        there = [row[:length] for row, length in zip(batch.symbols_BS.tolist(), batch.lengths_B.tolist(), strict=True)]
        right = sum(list(collapsed(one, self.blank)) == own for one, own in zip(best, there, strict=True))
        hits = torch.tensor(float(right), device=log_BTW.device)
        return Sums({"loss": loss, "exact_match": hits}, {"loss": batch.terms, "exact_match": len(there)})

    # -- answers and scores ---------------------------------------------------------------------------------

    def found(self, log_TW: Tensor) -> list[Answer]:
        """Texts that are likely, the most probable first; what each is given are all of its alignments."""
        rows = log_TW.double().numpy()
        if self.config.prefixes == 1:
            texts = [best_alignment(rows, self.blank)]
        else:
            texts = best_prefixes(rows, self.blank, self.config.prefixes)
        every_BTW = log_TW.double().expand(len(texts), -1, -1)
        lengths_B = torch.tensor([len(text) for text in texts])
        symbols_BS = torch.zeros(len(texts), max(1, int(lengths_B.max())), dtype=torch.long)
        for row, text in enumerate(texts):
            symbols_BS[row, : len(text)] = torch.tensor(text, dtype=torch.long)
        totals = log_likelihoods(every_BTW, symbols_BS, lengths_B, self.blank).tolist()
        answers = [
            Answer(self.tokenizer.decode(text), total, total) for text, total in zip(texts, totals, strict=True)
        ]
        return sorted(answers, key=lambda one: -one.score)

    @torch.inference_mode()
    def answers(self, session: Session, examples: Examples) -> list[list[Answer]]:
        """In the order of the examples, whatever the batches."""
        found: dict[int, list[Answer]] = {}
        for indices, logits_BTW in self.inputs.outputs(session, examples, self.collate):
            log_BTW = logits_BTW.log_softmax(dim=-1)
            found.update(zip(indices.tolist(), map(self.found, log_BTW), strict=True))
        return [found[place] for place in range(len(examples))]

    def transcribe(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """All answers that the search kept."""
        items = [Whole(item, ()) for item in self.inputs.modality.encode(inputs)]
        return self.answers(session, self.inputs.gathered(items))

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """The most probable text of each input."""
        return [own[:1] for own in self.transcribe(session, inputs)]

    def judge(self, session: Session, examples: Sequence[Any], encoded: Examples) -> dict[str, Any]:
        said = [own[0].text for own in self.answers(session, encoded)]
        references = [one.target for one in examples]
        return {**transcript_scores(said, references), "prefixes": self.config.prefixes}


def log_likelihoods(log_BTW: Tensor, symbols_BS: Tensor, lengths_B: Tensor, blank: int) -> Tensor:
    """log p(text | input) of each row, over all alignments."""
    steps_B = torch.full_like(lengths_B, log_BTW.shape[1])
    return -functional.ctc_loss(log_BTW.transpose(0, 1), symbols_BS, steps_B, lengths_B, blank=blank, reduction="none")


def visible_logits(model: nn.Module, logits_BTW: Tensor) -> Tensor:
    """Zeros beyond the end of an input, where nothing is said."""
    return logits_BTW.float().masked_fill(is_beyond(logits_BTW)[..., None], 0.0)


def check_steps(body: Any) -> None:
    """One position for every step of time, and nothing else."""
    if not isinstance(body, HasGrid):
        return
    if isinstance(body, ReadsAgain) and body.readings(body.grid):
        raise RecipeError(
            'task.kind = "temporal-classification" reads steps of time in their order, and this front reads the input '
            'several times over; choose model.front.kind = "patches" or "convolution"'
        )
    if body.class_tokens:
        raise RecipeError(
            'task.kind = "temporal-classification" reads steps of time, of which a class token is none; set '
            "model.front.class_token=false"
        )
    if any(own != 1 for own in body.grid[1:]):
        raise RecipeError(
            f'task.kind = "temporal-classification" needs one position for every step of time, and there are '
            f"{' × '.join(map(str, body.grid))} of them; let model.front.size cover the whole of the other axes, as in "
            "[4, 40] for 40 bins of pitch"
        )


def too_short(wrong: Sequence[str], among: int, split: str, name: str) -> DataError:
    title = f"{len(wrong):,} of {among:,} {split} examples have fewer steps of time than their text takes"
    more = [f"and {len(wrong) - NAMED:,} others"] if len(wrong) > NAMED else []
    return DataError(
        enumerate_problems(title, [*wrong[:NAMED], *more])
        + f"\nMake steps shorter (model.front.size, model.front.strides, input.features.hop), or take these {name}s out"
    )

"""Translation, or any text to text: teacher forcing in one parallel pass, cross-entropy with label smoothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.core.answers import Answer
from regard.core.batch import Examples, TokenBatch, move, row_lengths
from regard.core.errors import InputError, OptionError
from regard.core.inputs import Inputs
from regard.core.metrics import Details, Metric, share
from regard.core.ports import Ports
from regard.core.probe import Probe, Search
from regard.core.roles import Role
from regard.core.seams import Decodable, Hypothesis, max_lengths_of
from regard.core.seams.anatomy import anatomy_of
from regard.core.seams.task import Session, Sums
from regard.core.symbols import Specials
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.wording import random_ids, random_lengths, token_axis
from regard.data.padding import pad
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Beam
from regard.decoding.sentences import Symbols
from regard.layers.embeddings import output_matrix, output_states
from regard.layers.losses.consistency import consistency_loss
from regard.layers.losses.distillation import Lesson, Scored, Softening
from regard.layers.states import real_states
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.tasks import TaskPart
from regard.tasks.baselines.yardsticks import pair_yardsticks
from regard.tasks.metrics.alignment import Head
from regard.tasks.metrics.bleu import Comparison, check_bleu_tokenizer, paired_significance
from regard.tasks.metrics.classes import paired_hits
from regard.tasks.metrics.lengths import by_length
from regard.tasks.pairs.alignment import best_head, error_rate
from regard.tasks.pairs.encoded_pairs import EncodedPair, EncodedPairs, check_pairs
from regard.tasks.probing import check_probe_length, vocabulary_logits
from regard.tasks.scores import leading_scores, teacher_forced, text_figures, text_scores


class TeacherForcing(TaskPart):
    """How a target is learned from its source, whatever the two are."""

    cuts_anew = True
    generates = True
    needs = Role.ANSWERS

    accuracy = "token_accuracy"

    label_smoothing: float = Field(0.1, ge=0, lt=1)
    consistency: float = Field(0.0, ge=0)  # R-Drop's α: every pair passes twice and must agree with itself; 0: once
    word_dropout: float = Field(0.0, ge=0, lt=1)  # in training so many of the pieces that are read become <unk>
    max_length: int = Field(256, ge=1)  # training pairs with more pieces on a side are left out, and listed


class TranslationConfig(TeacherForcing):
    """From a source text to a target text."""

    headline = (
        Metric("bleu", "BLEU", digits=1),
        Metric("chrf", "chrF", digits=1),
        share("exact_match", "exact match"),
        Metric("alignment_error_rate", "alignment error", higher_is_better=False),
    )

    kind: str = "translation"
    both_ways: int = Field(0, ge=0)  # epochs in which each pair is also learned backwards (Ding et al. 2021)
    bleu_tokenize: Literal["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"] = "13a"

    def build(self, corpus: Corpus, modalities: Modalities, seed: int) -> Translation:
        check_pairs(corpus, self.kind)
        return Translation(self, corpus, modalities.vocabularies, seed)


@dataclass(frozen=True, slots=True)
class PairBatch(TokenBatch):
    """Sources, and their targets as the decoder reads them."""

    source_BS: Tensor
    source_lengths_B: Tensor
    target_in_BT: Tensor

    @property
    def written_lengths_B(self) -> Tensor:
        return row_lengths(self.real_N, self.target_in_BT)


class Translation:
    """The task over one corpus: makes batches of its pairs and sums of batches, answers and scores."""

    additive = True
    static_shapes = False

    def __init__(
        self, config: TranslationConfig, corpus: Corpus, vocabularies: Vocabularies, seed: int
    ) -> None:
        if "train" in corpus.splits:
            check_bleu_tokenizer(config.bleu_tokenize)
            check_vocabularies(config, vocabularies)
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.pairs = EncodedPairs(corpus, vocabularies, config.max_length, config.both_ways)
        if vocabularies.dropout and "train" in corpus.splits:
            self.pairs.resample_pieces(vocabularies.dropout, seed)
        self.alignment_head: Head | None = None  # chosen on validation data when it is first asked for

    @property
    def translation(self) -> Translation:
        return self

    def encode_pairs(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        return self.pairs.encode(pairs)

    def check_lengths(self, model: Any, batch_tokens: int) -> None:
        self.pairs.check_lengths(model, batch_tokens)

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def examples(self, split: str, epoch: int) -> Examples:
        return self.pairs.examples(split, epoch)

    def collate(self, items: Sequence[EncodedPair]) -> PairBatch:
        source, target = self.vocabularies.source.specials, self.vocabularies.target.specials
        source_BS, source_lengths_B = pad([pair.source for pair in items], after=source.eos, fill=source.pad)
        target_in_BT, lengths_B = pad([pair.target for pair in items], before=target.sos, fill=target.pad)
        target_out_BT, _ = pad([pair.target for pair in items], after=target.eos, fill=target.pad)
        real_N = np.flatnonzero(np.arange(target_in_BT.shape[1]) < lengths_B[:, None])
        targets_N = target_out_BT.ravel()[real_N]
        arrays = (real_N, targets_N, source_BS, source_lengths_B, target_in_BT)
        return PairBatch(*(torch.from_numpy(array) for array in arrays))

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        """A source with a given target, or with the answer that the model finds."""
        source = self.vocabularies.source.encode(raw.strip())  # as pairs are read from files
        limits = max_lengths_of(session.model)
        check_piece_counts([source], limits[0])
        search = None if target else self.searched(session, source)
        answer = self.vocabularies.target.encode(target.strip()) if search is None else search.answers[0].tokens
        check_probe_length(1 + len(answer), limits[1], "the target, including its opening symbol,")
        pair = EncodedPair(np.asarray(source, np.int64), np.asarray(answer, np.int64))
        return replace(self.probe_examples(session, [pair]), search=search)

    def searched(self, session: Session, source: Sequence[int]) -> Search:
        """The model's own answer; of a beam also how it was found."""
        engine = session.engine or self.engine(session.model, session.device)
        if isinstance(engine, TorchEngine) and isinstance(session.options, Beam):
            every = session.options.model_copy(update={"n_best": session.options.size})
            return Search(*engine.explain(list(source), every))
        return Search(engine.predict([list(source)], session.options)[0])

    def probe_examples(self, session: Session, items: Sequence[EncodedPair]) -> Probe:
        batch = self.collate(items)
        source, target, first = self.vocabularies.source, self.vocabularies.target, items[0]
        lengths_B = torch.tensor([1 + len(pair.target) for pair in items])
        answer = (*first.target.tolist(), target.specials.eos)
        probe = Probe(
            Inputs(batch.target_in_BT, lengths_B), forward_pair, vocabulary_logits, target.token,
            source=Inputs(batch.source_BS, batch.source_lengths_B), start=source_of,
            axis=token_axis(target, (target.specials.sos, *answer[:-1])),
            source_axis=token_axis(source, (*first.source.tolist(), source.specials.eos)),
            expected=answer, asked=tuple(range(len(answer))), text=source.decode(first.source.tolist()),
        )  # fmt: skip
        return session.move(probe)

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[EncodedPair]:
        """Sources of different lengths, answers of one: all that is written is compared."""
        sizes = [min(length, limit or length) - 1 for limit in max_lengths_of(session.model)]
        both = self.vocabularies.source, self.vocabularies.target
        return [
            EncodedPair(*(random_ids(generator, side, size) for side, size in zip(both, (own, sizes[1]))))
            for own in random_lengths(rows, sizes[0])
        ]

    def check_taught(self, teacher: Any) -> None:
        if self.config.consistency:
            raise OptionError("task.consistency has no effect beside teacher.weight; set one of them to 0")

    def distilled(self, model: nn.Module, teacher: Any, batch: PairBatch, softening: Softening) -> Sums:
        """The teacher reads what was not hidden from the student."""
        with torch.no_grad():
            states_BTD = teacher(batch.source_BS, batch.source_lengths_B, batch.target_in_BT)
            states_ND = output_states(teacher.head, real_states(states_BTD, batch.real_N))
        return self.sums(model, batch, Lesson(Scored(states_ND, output_matrix(teacher.head)), softening))

    def sums(self, model: nn.Module, batch: PairBatch, lesson: Lesson | None = None) -> Sums:
        head: Any = model.head
        matrix_WD = output_matrix(head)
        smoothing = self.config.label_smoothing if model.training else 0.0
        inputs = batch.source_BS, batch.source_lengths_B, batch.target_in_BT
        if self.config.word_dropout and model.training:
            source, target = self.vocabularies.source.specials, self.vocabularies.target.specials
            rate = self.config.word_dropout
            gappy_BS = word_dropout(batch.source_BS, source, rate)
            inputs = gappy_BS, batch.source_lengths_B, word_dropout(batch.target_in_BT, target, rate)
        if self.config.consistency and model.training:
            passes = model(*(torch.cat((one, one)) for one in inputs)).chunk(2)
            first_ND, second_ND = (output_states(head, real_states(states, batch.real_N)) for states in passes)
            weight = self.config.consistency
            loss = consistency_loss(first_ND, second_ND, matrix_WD, batch.targets_N, smoothing, weight)
        else:
            states_ND = output_states(head, real_states(model(*inputs), batch.real_N))
            loss = vocabulary_loss(states_ND, matrix_WD, batch.targets_N, smoothing)
            if lesson is not None:
                loss = lesson.added(loss, Scored(states_ND, matrix_WD))
        count = len(batch.targets_N)
        return Sums(
            {"loss": loss.smoothed, "token_accuracy": loss.correct},
            {"loss": count, "token_accuracy": count},
        )

    def engine(self, model: nn.Module, device: torch.device) -> TorchEngine:
        """What searches for answers with this model, where no other engine is given."""
        max_length = max_lengths_of(model)[1]
        return TorchEngine(
            cast(Decodable, model),
            lambda sources: tuple(move(one, device) for one in self.source_batch(sources)),
            symbols=Symbols.of(self.vocabularies.target.specials),
            device=device,
            room=lambda source: max_length,
        )

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        sources = self.vocabularies.source.encode_batch(stripped(inputs))
        check_piece_counts(sources, max_lengths_of(session.model)[0])
        engine = session.engine or self.engine(session.model, session.device)
        found = engine.predict(sources, session.options, progress=session.progress, numbers=session.numbers)
        return [[self._answer(hypothesis) for hypothesis in hypotheses] for hypotheses in found]

    def _answer(self, hypothesis: Hypothesis) -> Answer:
        text = self.vocabularies.target.decode(hypothesis.tokens)
        return Answer(text, hypothesis.log_probability, hypothesis.score)

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Text scores, token accuracy and, where gold is known, alignment by the head that validation data chose."""
        return {**self.score_pairs(session, self.corpus.splits[split]), **self.alignment_scores(session, split)}

    def score_in_detail(self, session: Session, split: str) -> Details:
        """The same, with the answers, the seconds that finding them took, and quality by length."""
        check_bleu_tokenizer(self.config.bleu_tokenize)
        pairs = self.corpus.splits[split]
        began = time.perf_counter()
        answers = [found[0].text for found in self.predict(session, [pair.source for pair in pairs])]
        seconds = time.perf_counter() - began
        scores = {**self.score_answers(session, pairs, answers), **self.alignment_scores(session, split)}
        return Details(scores, seconds, tuple(answers), tuple(by_length(pairs, answers, self.config.bleu_tokenize)))

    def alignment_scores(self, session: Session, split: str) -> dict[str, Any]:
        """The alignment error rate of the head that validation data chose; nothing without attention or gold."""
        pairs, gold = self.corpus.splits[split], self.corpus.gold
        if not anatomy_of(session.model).source_attention or "validation" not in gold or split not in gold:
            return {}
        if self.alignment_head is None:
            chosen_on = self.corpus.splits["validation"]
            self.alignment_head = best_head(self, session, chosen_on, gold["validation"])
        rate = error_rate(self, session, self.alignment_head, pairs, gold[split])
        return {"alignment_error_rate": rate, "alignment_head": list(self.alignment_head)}

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """Predictions against references as they stand, and the references under teacher forcing."""
        check_bleu_tokenizer(self.config.bleu_tokenize)
        answers = self.predict(session, [pair.source for pair in pairs])
        return self.score_answers(session, pairs, [found[0].text for found in answers])

    def score_answers(self, session: Session, pairs: Sequence[Pair], answers: Sequence[str]) -> dict[str, Any]:
        """The same for answers that were already found in this session."""
        scores = text_scores(answers, [pair.target for pair in pairs], self.config.bleu_tokenize)
        forced = teacher_forced(self, session, self.pairs.gathered(self.encode_pairs(pairs)))
        return {**scores, **forced, "decoding": session.options.model_dump()}

    def yardsticks(self, corpus: Corpus, split: str) -> Mapping[str, Yardstick]:
        """The source as it is, and the target of the same source in training."""
        score = partial(text_figures, tokenize=self.config.bleu_tokenize)
        return pair_yardsticks(corpus.splits["train"], corpus.splits[split], score)

    def compare(self, pairs: Sequence[Pair], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two systems' answers to the same sources: is the difference in BLEU more than chance? Where BLEU says little
        of such references, the difference in exact matches."""
        references = [pair.target for pair in pairs]
        if "bleu" not in leading_scores(references, self.config.bleu_tokenize):
            hits = ([said == one for said, one in zip(own, references, strict=True)] for own in (first, second))
            return paired_hits(*hits, metric="% exact match")
        return paired_significance(first, second, references, tokenize=self.config.bleu_tokenize)

    def as_written(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        return sources, targets

    def source_batch(self, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """What ``Decodable.start`` takes: padded sources and their lengths."""
        specials = self.vocabularies.source.specials
        rows = [np.asarray(source, np.int64) for source in sources]
        source_BS, lengths_B = pad(rows, after=specials.eos, fill=specials.pad)
        return torch.from_numpy(source_BS), torch.from_numpy(lengths_B)


def forward_pair(model: nn.Module, probe: Probe) -> Tensor:
    """states_BTD under teacher forcing."""
    return model(*source_of(probe), probe.inputs.values)


def source_of(probe: Probe) -> tuple[Tensor, Tensor]:
    assert probe.source is not None
    return probe.source.values, probe.source.real_lengths_B


def check_vocabularies(config: TranslationConfig, vocabularies: Vocabularies) -> None:
    """Ways of training for which the vocabularies lack something."""
    if config.both_ways and not vocabularies.shared:
        raise OptionError(
            "with task.both_ways each side is read and written, so both need one vocabulary: set tokenizer.joint=true, "
            "or task.both_ways=0"
        )
    if config.word_dropout and min(vocabularies.source.specials.unk, vocabularies.target.specials.unk) < 0:
        raise OptionError("task.word_dropout hides pieces behind <unk>, which is not in this vocabulary; set it to 0")


def word_dropout(ids_BT: Tensor, specials: Specials, rate: float) -> Tensor:
    """A share of the pieces hidden behind <unk>, special symbols never: what is learned cannot lean on all of them."""
    hidden_BT = torch.rand(ids_BT.shape, device=ids_BT.device) < rate
    for special in specials.known():
        hidden_BT &= ids_BT != special
    return ids_BT.masked_fill(hidden_BT, specials.unk)


def stripped(texts: Sequence[str]) -> list[str]:
    """Without the space around them, as pairs are read from files."""
    return [text.strip() for text in texts]


def check_piece_counts(texts: Sequence[Sequence[int]], max_length: int, what: str = "a source") -> None:
    """Names every text that has more pieces than the model has positions, one special symbol among them."""
    long = {place: f"{len(one)} pieces" for place, one in enumerate(texts) if max_length and len(one) + 1 > max_length}
    if long:
        title = f"the model has room for {max_length - 1} pieces of {what}, and there are more in"
        raise InputError(title, long, "cut or split them, or train with a larger model.position.max_length")

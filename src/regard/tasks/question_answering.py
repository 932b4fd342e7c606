"""Extractive question answering: a head on any body says where in a context the answer starts and ends."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, SpanAnswer
from regard.core.batch import Examples
from regard.core.config import parse
from regard.core.errors import DataError, InputWarning, OptionError
from regard.core.metrics import share
from regard.core.ports import Ports
from regard.core.probe import Probe
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data import TokenizerPart
from regard.data.batching import in_length_order, with_progress
from regard.data.corpus import Corpus, Pair
from regard.data.examples import QuestionExample, Reference
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.enclosing import SEPARATOR
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.wording import random_ids, random_lengths
from regard.layers.headed import TokenHead
from regard.tasks import TaskPart
from regard.tasks.baselines.yardsticks import answer_yardsticks
from regard.tasks.metrics.answers import answer_scores
from regard.tasks.probing import check_enclosed, check_no_target, max_probe_length, text_probe
from regard.tasks.reading import READ_AT_ONCE, check_length
from regard.tasks.spans.answer_spans import (
    SpanCandidates,
    best_spans,
    log_places,
    mistakes,
    places,
    question_and_context,
)
from regard.tasks.spans.question_windows import (
    NOT_HERE,
    QuestionBatch,
    QuestionFrame,
    QuestionWindow,
    collate_windows,
    read,
    read_contexts,
)

SHOWN = 8
"""Answers of a probe."""
SIDES = ("start", "end")
"""What the two numbers of every token are about."""


class QuestionAnsweringConfig(TaskPart):
    """Where in a context the answer to a question starts and ends.

    One position of every window means "no answer here": the first token, or the last one where states see only what
    comes before them. Training windows without the answer point there, so that windows can be compared.
    """

    headline = (share("f1", "F1"), share("exact_match", "exact match"))
    accuracy = "span_accuracy"

    one_sided = True

    kind: str = "question-answering"
    max_length: int = Field(384, ge=8)  # tokens of a window: question, context and the symbols around them
    stride: int = Field(128, ge=1)  # tokens from the start of a window to that of the next
    max_question_length: int = Field(64, ge=1)  # tokens; what is longer is cut, and listed
    max_answer_length: int = Field(30, ge=1)  # tokens
    unanswerable: Literal["auto", "yes", "no"] = "auto"  # whether it may say nothing; auto: if training questions do
    threshold: float = 0.0  # how much more log-probable than any answer it must be that there is none
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix

    def example(self, tokenizer: TokenizerPart) -> str:
        return '"a question" --context FILE'

    def resolved(self, corpus: Corpus[QuestionExample]) -> QuestionAnsweringConfig:
        """With what the data says about unanswerable questions."""
        if self.unanswerable != "auto":
            return self
        silent = any(not one.answers for one in corpus.splits.get("train", ()) if isinstance(one, QuestionExample))
        if self.threshold and not silent:
            raise DataError(
                "task.threshold has no effect: every training question has an answer, so the model always gives one; "
                'leave it out, or set task.unanswerable = "yes"'
            )
        return self.model_copy(update={"unanswerable": "yes" if silent else "no"})

    def unused(self) -> dict[str, str]:
        if self.unanswerable != "no":
            return {}
        return {"threshold": 'with unanswerable = "no" an answer is always given'}

    def unresolved(self) -> QuestionAnsweringConfig:
        return self.model_copy(update={"unanswerable": "auto"})

    def build(
        self, corpus: Corpus[QuestionExample], modalities: Modalities, seed: int
    ) -> QuestionAnswering:
        if any(not isinstance(one, QuestionExample) for own in corpus.splits.values() for one in own[:1]):
            raise DataError('question answering needs questions; choose data.kind = "questions" (or world-questions)')
        vocabularies = modalities.vocabularies
        if vocabularies.target.specials.eos < 0:
            raise OptionError("question answering needs a symbol that closes a text, which this tokenizer lacks")
        return QuestionAnswering(self, corpus, vocabularies)


class QuestionAnswering:
    """The task over one corpus, which is encoded once."""

    additive = True
    static_shapes = False

    def __init__(
        self, config: QuestionAnsweringConfig, corpus: Corpus[QuestionExample], vocabularies: Vocabularies
    ) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.frame = self.framed(config)
        self._encoded = {split: self.encode(own, split) for split, own in corpus.splits.items()}

    def framed(self, config: QuestionAnsweringConfig, overlap: int = 0) -> QuestionFrame:
        specials = self.vocabularies.target.specials
        return QuestionFrame(specials, config.max_length, config.stride, config.max_question_length, overlap)

    def changed(self, changes: dict[str, Any], overlap: int = 0) -> QuestionAnswering:
        """The same with other limits, for questions that users ask; with an overlap, windows of that instead of a
        stride."""
        other = copy(self)
        other.config = parse(QuestionAnsweringConfig, {**self.config.model_dump(), **changes})
        other.frame = self.framed(other.config, overlap)
        return other

    @property
    def tokenizer(self) -> Tokenizer:
        return self.vocabularies.target

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def head(self, body: Any) -> nn.Module:
        """Two numbers for every token: how much it is a start, and how much an end."""
        check_length(body, self.config.max_length)
        return TokenHead(body.width, 2, self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def encode(self, asked: Sequence[QuestionExample], split: str = "") -> list[QuestionWindow]:
        """Windows of every question; what is cut, and what cannot be found exactly, is listed for a split."""
        contexts = read_contexts(self.tokenizer, [one.context for one in asked])
        questions = self.tokenizer.encode_batch([one.question for one in asked])
        most = self.config.max_question_length
        windows: list[QuestionWindow] = []
        inexact = long = windowed = nowhere = 0
        longer = sum(len(ids) > most for ids in questions)
        if longer and not split:
            message = f"{longer} of {len(asked)} questions are longer than task.max_question_length = {most} tokens"
            warnings.warn(f"{message}; their ends were cut off", InputWarning, stacklevel=4)
        for number, (one, ids) in enumerate(zip(asked, questions, strict=True)):
            context, question = contexts[one.context], np.array(ids[:most], dtype=np.int32)
            if split and len(ids) > most:
                reason = f"a question longer than task.max_question_length = {most} tokens"
                cut = f"{len(ids) - most} tokens were cut"
                self.corpus.ledger.truncate(split, one.origin, one.line, reason, cut)
            start, last = NOT_HERE, NOT_HERE
            if one.answers:
                text, place = one.answers[0]
                start, last = context.tokens(place, place + len(text))
                inexact += start >= 0 and context.characters(start, last) != (place, place + len(text))
                long += last - start >= self.config.max_answer_length
            before = len(windows)
            for first, size in self.frame.windows(question, len(context.ids_S)):
                held = first <= start and last < first + size and start >= 0
                place_2 = (start, last) if held else (NOT_HERE, NOT_HERE)
                windows.append(QuestionWindow(number, question, context, first, size, *place_2))
            windowed += len(windows) - before > 1
            nowhere += bool(one.answers) and all(window.start == NOT_HERE for window in windows[before:])
        if split:
            self.note(split, inexact, long, nowhere, windowed, len(windows))
        return windows

    def note(self, split: str, inexact: int, long: int, nowhere: int, windowed: int, windows: int) -> None:
        """What a ledger says about a split beside its lines."""
        notes = {
            f"{split}: {inexact} answers begin or end inside a token; they are widened to whole tokens":
                inexact,
            f"{split}: {long} answers are longer than task.max_answer_length = {self.config.max_answer_length} tokens "
            "and will not be found": long,
            f"{split}: {nowhere} answers fit into no window; raise task.max_length or lower task.stride": nowhere,
            f"{split}: {windowed} questions have contexts longer than a window, {windows} windows in all": windowed,
        }  # fmt: skip
        self.corpus.ledger.notes.extend(note for note, count in notes.items() if count)

    def examples(self, split: str, epoch: int) -> Examples:
        windows, weights = self._encoded.get(split, []), self.corpus.weights
        if split != "train" or not weights:
            return self.gathered(windows)
        return self.gathered(windows, [weights[one.number] for one in windows])  # as often as their questions

    def gathered(self, windows: Sequence[QuestionWindow], weights: Sequence[float] = ()) -> Examples:
        lengths_N1 = np.array([self.frame.length(one) for one in windows], np.int64).reshape(-1, 1)
        return Examples(windows, lengths_N1, weights)

    def collate(self, items: Sequence[QuestionWindow]) -> QuestionBatch:
        return collate_windows(self.frame, items)

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str | tuple[str, str], target: str = "") -> Probe:
        """A question and its context with a tab between them; the context fits into one window."""
        check_no_target(target)
        question, context = question_and_context([raw])[0]
        item = self.encode([QuestionExample(question, context)])[0]
        cut = len(item.context.ids_S) - item.size
        check_enclosed(replace(self.frame.enclose(item), cut=cut), self.config.max_length)
        return self.probe_examples(session, [item])

    def probe_examples(self, session: Session, items: Sequence[QuestionWindow]) -> Probe:
        def answers(logits_S2: Tensor) -> list[SpanAnswer]:
            """Of the first window alone."""
            model: Any = session.model
            window, found = items[0]._replace(number=0), SpanCandidates()
            batch = self.collate([window])
            said = log_places(logits_S2[None].cpu(), batch, causal=model.body.causal)
            self.collect([found], [window], batch, said, SHOWN)
            return self.ranked(found, SHOWN)

        texts = [self.frame.enclose(one) for one in items]
        said = {"choice": SIDES.__getitem__, "unit": "side", "answers": answers}
        return session.move(text_probe(texts, self.tokenizer, **said))

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[QuestionWindow]:
        """A question of one token, and a context."""
        room = max_probe_length(session.model, self.config.max_length, length)
        question = random_ids(generator, self.tokenizer, 1).astype(np.int32)
        sizes = random_lengths(rows, max(room - self.frame.before(question) - 1, 1))
        contexts = [read("", random_ids(generator, self.tokenizer, size).tolist(), [(0, 0)] * size) for size in sizes]
        return [QuestionWindow(row, question, one, 0, size) for row, (one, size) in enumerate(zip(contexts, sizes))]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: QuestionBatch) -> Sums:
        """The mean of the two cross-entropies over the places of the context and the one that says "not here"."""
        starts_BS, lasts_BS, nowhere_B = places(model, batch)
        spans_B2 = torch.where(batch.spans_B2 == NOT_HERE, nowhere_B[:, None], batch.spans_B2)
        start_B, last_B = spans_B2.unbind(dim=1)
        loss = functional.nll_loss(starts_BS, start_B, reduction="sum")
        loss = (loss + functional.nll_loss(lasts_BS, last_B, reduction="sum")) / 2
        right = ((starts_BS.argmax(dim=-1) == start_B) & (lasts_BS.argmax(dim=-1) == last_B)).sum()
        count = len(start_B)
        return Sums({"loss": loss, "span_accuracy": right}, {"loss": count, "span_accuracy": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def search(
        self, session: Session, windows: Sequence[QuestionWindow], questions: int, n_best: int = 1
    ) -> list[list[SpanAnswer]]:
        """The best spans of every question over all its windows; a span that two windows hold counts once."""
        model = session.model.eval()
        found = [SpanCandidates() for _ in range(questions)]
        order = in_length_order(self.gathered(windows).lengths_NA, READ_AT_ONCE)
        for indices in with_progress(order, len(windows), session.progress):
            own = [windows[index] for index in indices]
            batch = session.move(self.collate(own))
            self.collect(found, own, batch, places(model, batch), n_best)
        return [self.ranked(one, n_best) for one in found]

    def collect(
        self, found: Sequence[SpanCandidates], windows: Sequence[QuestionWindow], batch: QuestionBatch,
        log_places: tuple[Tensor, Tensor, Tensor], n_best: int,
    ) -> None:  # fmt: skip
        """Adds what a batch of windows says to what is known of their questions."""
        starts_BS, lasts_BS, nowhere_B = log_places
        nowhere_1B = nowhere_B[:, None]
        nothing_B = (starts_BS.gather(1, nowhere_1B) + lasts_BS.gather(1, nowhere_1B)).flatten().tolist()
        best_B = best_spans(starts_BS, lasts_BS, batch.context_BS, self.config.max_answer_length, n_best)
        for window, nothing, rows in zip(windows, nothing_B, best_B, strict=True):
            found[window.number].add(window, self.frame, nothing, rows)

    def ranked(self, question: SpanCandidates, n_best: int) -> list[SpanAnswer]:
        text, silent = question.text, question.silent
        found = [
            SpanAnswer(text[start:stop], score, math.exp(score), start, stop)
            for (start, stop), score in question.spans.items()
        ]
        handicap = {0: self.config.threshold}  # only "no answer" stops where the text begins
        if self.config.unanswerable == "yes" or not found:
            found.append(SpanAnswer("", silent, math.exp(silent)))
        found.sort(key=lambda one: (handicap.get(one.stop, 0.0) - one.log_probability, one.start, one.stop))
        return found[:n_best]

    def answer(
        self, session: Session, asked: Sequence[tuple[str, str]], n_best: int = 1
    ) -> list[list[SpanAnswer]]:
        """For each (question, context) its answers, the most probable first."""
        examples = [QuestionExample(question, context) for question, context in asked]
        return self.search(session, self.encode(examples), len(examples), n_best)

    def predict(self, session: Session, inputs: Sequence[str | tuple[str, str]]) -> list[list[Answer]]:
        """Each input is a question and its context with a tab between them; the score is the probability."""
        found = self.answer(session, question_and_context(inputs), session.options.answers)
        return [[*own] for own in found]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Exact match and F1, and the errors with their contexts."""
        return self.judge(session, self.corpus.splits[split], self._encoded[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for lines that a user gives: question and context, and in the other file the right answers, all
        with tabs between them."""
        both = question_and_context([pair.source for pair in pairs])
        given = [
            QuestionExample(
                *own, tuple(Reference(text, 0) for text in pair.target.split(SEPARATOR)), pair.line, pair.origin
            )
            for own, pair in zip(both, pairs, strict=True)
        ]
        return self.judge(session, given, self.encode(given))

    def yardsticks(self, corpus: Corpus[QuestionExample], split: str) -> Mapping[str, Yardstick]:
        """The words nearest to the question's, and where training has such questions, no answer."""
        return answer_yardsticks(corpus.splits["train"], corpus.splits[split])

    def judge(
        self, session: Session, asked: Sequence[QuestionExample], windows: Sequence[QuestionWindow]
    ) -> dict[str, Any]:
        answers = [own[0] for own in self.search(session, windows, len(asked))]
        references = [[text for text, _ in one.answers] for one in asked]
        scores = answer_scores([one.text for one in answers], references)
        return {**scores, "windows": len(windows), "errors": mistakes(asked, answers, references)}

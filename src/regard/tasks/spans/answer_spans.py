"""Answer spans: the probability of every start and end, the best spans, and those that were wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.core.answers import SpanAnswer
from regard.core.errors import InputError
from regard.data.examples import QuestionExample
from regard.data.modalities.text.enclosing import split_texts
from regard.tasks.metrics.answers import is_exact
from regard.tasks.reading import logits_of
from regard.tasks.spans.question_windows import QuestionBatch, QuestionFrame, QuestionWindow

ERRORS_LISTED = 50
NEVER = float("-inf")


def places(model: Any, batch: QuestionBatch) -> tuple[Tensor, Tensor, Tensor]:
    """log-probabilities of starts_BS and of lasts_BS, and nowhere_B: the place that says "not here"."""
    return log_places(logits_of(model, batch.text), batch, causal=model.body.causal)


def log_places(logits_BS2: Tensor, batch: QuestionBatch, *, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The same from the logits of a pass that was already made."""
    lengths_B = batch.text.real_lengths_B
    nowhere_B = lengths_B - 1 if causal else torch.zeros_like(lengths_B)
    allowed_BS = batch.context_BS.scatter(1, nowhere_B[:, None], True)
    open_BS2 = logits_BS2.masked_fill(~allowed_BS[:, :, None], NEVER).log_softmax(dim=1)
    return open_BS2[:, :, 0], open_BS2[:, :, 1], nowhere_B


def best_spans(
    starts_BS: Tensor, lasts_BS: Tensor, context_BS: Tensor, max_length: int, count: int
) -> list[list[tuple[float, int, int]]]:
    """For each row up to ``count`` of (log-probability, start, last) with start ≤ last < start + max_length."""
    width = min(max_length, starts_BS.shape[1])
    starts_BS = starts_BS.masked_fill(~context_BS, NEVER)
    lasts_BS = functional.pad(lasts_BS.masked_fill(~context_BS, NEVER), (0, width - 1), value=NEVER)
    scores_BN = (starts_BS[:, :, None] + lasts_BS.unfold(1, width, 1)).flatten(1)
    values_BN, flat_BN = scores_BN.topk(min(count, scores_BN.shape[1]), dim=1)
    return [
        [(score, at // width, at // width + at % width) for score, at in zip(scores, flat) if score > NEVER]
        for scores, flat in zip(values_BN.tolist(), flat_BN.tolist(), strict=True)
    ]


class SpanCandidates:
    """The spans of one question over all its windows; one that two windows hold counts once, at its best."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.spans: dict[tuple[int, int], float] = {}  # characters, and their log-probability
        self.silent = 0.0  # that there is no answer, by the window that believes in it least

    def add(
        self, window: QuestionWindow, frame: QuestionFrame, nothing: float, rows: Sequence[tuple[float, int, int]]
    ) -> None:
        """What one window says: how log-probable no answer is, and the best spans of its row."""
        shift = window.first - frame.before(window.question)
        self.text, self.silent = window.context.text, min(self.silent, nothing)
        for score, start, last in rows:
            place = window.context.characters(start + shift, last + shift)
            if place[1] > place[0]:
                self.spans[place] = max(self.spans.get(place, NEVER), score)


def question_and_context(inputs: Sequence[str | tuple[str, str]]) -> list[tuple[str, str]]:
    """Both halves of every input; inputs that have only one are refused, all at once."""
    rows = [split_texts(one) for one in inputs]
    wrong = [place for place, row in enumerate(rows) if len(row) != 2 or not all(half.strip() for half in row)]
    if wrong:
        problems = {place: repr(str(inputs[place])[:60]) for place in wrong}
        remedy = "put a tab between them, or the context in a file (--context)"
        raise InputError("a question and its context are needed, and one is missing in", problems, remedy)
    return [(row[0].strip(), row[1]) for row in rows]


def mistakes(
    asked: Sequence[QuestionExample], answers: Sequence[SpanAnswer], references: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """What was answered wrongly, the most confident first."""
    wrong = [place for place, found in enumerate(answers) if not is_exact(found.text, references[place])]
    return [
        {
            "question": asked[place].question,
            "context": asked[place].context,
            "answers": list(references[place]),
            "predicted": answers[place].text,
            "probability": answers[place].probability,
            "line": asked[place].line,
            "file": asked[place].origin,
        }
        for place in sorted(wrong, key=lambda place: -answers[place].log_probability)[:ERRORS_LISTED]
    ]

"""A question and its context as input: long contexts in overlapping windows, answers as character spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.core.errors import OptionError
from regard.core.symbols import Specials
from regard.data.modalities.text.enclosing import Enclosed, collate_texts
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.tasks.reading import TextBatch

NOT_HERE = -1
"""The place of an answer that a window does not hold."""


@dataclass(frozen=True, slots=True)
class EncodedContext:
    """A context as numbers: its tokens, and between which characters each stands."""

    text: str
    ids_S: np.ndarray
    starts_S: np.ndarray
    stops_S: np.ndarray

    def tokens(self, start: int, stop: int) -> tuple[int, int]:
        """The first and the last token that hold any of these characters."""
        inside_S = np.flatnonzero((self.starts_S < stop) & (self.stops_S > start))
        return (int(inside_S[0]), int(inside_S[-1])) if len(inside_S) else (NOT_HERE, NOT_HERE)

    def characters(self, first: int, last: int) -> tuple[int, int]:
        """Where the text of these tokens starts and stops, without spaces around it."""
        start, stop = int(self.starts_S[first]), int(self.stops_S[last])
        while stop > start and self.text[stop - 1].isspace():
            stop -= 1
        while start < stop and self.text[start].isspace():
            start += 1
        return start, max(start, stop)


def read_contexts(tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, EncodedContext]:
    """Every different text once: many questions are asked about one."""
    different = list(dict.fromkeys(texts))
    made = tokenizer.raw.encode_batch(different, add_special_tokens=False)
    return {text: read(text, one.ids, one.offsets) for text, one in zip(different, made, strict=True)}


def read(text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]]) -> EncodedContext:
    """A piece may have taken along the space before it, which is no part of an answer."""
    places_S2 = np.array(offsets, dtype=np.int32).reshape(-1, 2)
    for place, (start, stop) in enumerate(offsets):
        while start < stop and text[start].isspace():
            start += 1
        places_S2[place, 0] = start
    return EncodedContext(text, np.array(ids, dtype=np.int32), places_S2[:, 0], places_S2[:, 1])


class QuestionWindow(NamedTuple):
    """A question and so many tokens of its context, from ``first`` on; ``start`` and ``last`` are the answer's tokens,
    counted in the context, where it is held whole."""

    number: int  # of the question
    question: np.ndarray
    context: EncodedContext
    first: int
    size: int
    start: int = NOT_HERE
    last: int = NOT_HERE


@dataclass(frozen=True, slots=True)
class QuestionFrame:
    """[open] question [close] context [close] in at most ``max_length`` tokens; the next window of a long context
    starts ``stride`` tokens after the last one, or so that it has ``overlap`` tokens in common with it."""

    specials: Specials
    max_length: int
    stride: int
    max_question_length: int
    overlap: int = 0

    def before(self, question: np.ndarray) -> int:
        """How many tokens stand before the context."""
        return (self.specials.sos >= 0) + len(question) + 1

    def windows(self, question: np.ndarray, size: int) -> Iterator[tuple[int, int]]:
        """(first, size) of stretches that cover a context of so many tokens."""
        room = self.max_length - self.before(question) - 1
        if room < 1:
            raise OptionError(
                f"task.max_length = {self.max_length} leaves no room for a context beside a question of "
                f"{len(question)} tokens; raise it, or lower task.max_question_length"
            )
        if not 0 <= self.overlap < room:
            raise OptionError(
                f"windows have room for {room} tokens of a context, so they cannot have {self.overlap} in common; "
                f"give an overlap from 0 to {room - 1}"
            )
        first = 0
        while True:
            yield first, min(room, size - first)
            if first + room >= size:
                return
            first += room - self.overlap if self.overlap else min(self.stride, room)

    def enclose(self, one: QuestionWindow) -> Enclosed:
        opening = [self.specials.sos] if self.specials.sos >= 0 else []
        shown = one.context.ids_S[one.first : one.first + one.size]
        closing = [self.specials.eos]
        tokens = np.concatenate([opening, one.question, closing, shown, closing]).astype(np.int64)
        return Enclosed(tokens, self.before(one.question))

    def length(self, one: QuestionWindow) -> int:
        return self.before(one.question) + one.size + 1


@dataclass(frozen=True, slots=True)
class QuestionBatch(TextBatch):
    """Windows side by side; ``context_BS`` says which tokens are the context's, ``spans_B2`` with which token of the
    row the answer starts and which is its last."""

    context_BS: Tensor
    spans_B2: Tensor

    @property
    def loss_terms(self) -> int:
        return len(self.spans_B2)


def collate_windows(frame: QuestionFrame, stretches: Sequence[QuestionWindow]) -> QuestionBatch:
    text = collate_texts([frame.enclose(one) for one in stretches], frame.specials.pad)
    before_B = np.array([frame.before(one.question) for one in stretches])
    sizes_B = np.array([one.size for one in stretches])
    places_S = np.arange(text.values.shape[1])
    context_BS = (places_S >= before_B[:, None]) & (places_S < (before_B + sizes_B)[:, None])
    firsts_B = np.array([one.first for one in stretches])
    held_B2 = np.array([(one.start, one.last) for one in stretches])
    spans_B2 = np.where(held_B2 == NOT_HERE, NOT_HERE, held_B2 + (before_B - firsts_B)[:, None])
    return QuestionBatch(text, torch.from_numpy(context_BS), torch.from_numpy(spans_B2))

"""Texts as a model with a head reads them: between the symbols that open and close, one or two, cut to its window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from regard.core.errors import OptionError
from regard.core.inputs import Inputs
from regard.core.symbols import Specials
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.padding import pad

SEPARATOR = "\t"
"""Stands between two texts that are given as one."""
Keep = Literal["start", "end", "ends"]
"""Which part of a text stays that is longer than the window: its start, its end, or both with a gap between them."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Tokens with the symbols around them; ``second`` is where the second text starts (0: there is none)."""

    tokens: np.ndarray
    second: int = 0
    cut: int = 0  # tokens that found no room


@dataclass(frozen=True, slots=True)
class Window:
    """At most ``max_length`` tokens, symbols included."""

    specials: Specials
    max_length: int
    keep: Keep = "start"

    @property
    def opening(self) -> list[int]:
        return [self.specials.sos] if self.specials.sos >= 0 else []

    @property
    def closing(self) -> list[int]:
        return [self.specials.eos] if self.specials.eos >= 0 else []

    def room(self, texts: int = 1) -> int:
        """Tokens that one text, or two together, may have."""
        room = self.max_length - len(self.opening) - texts * len(self.closing)
        if room < texts:
            raise OptionError(f"task.max_length = {self.max_length} leaves no room for a text; raise it")
        return room

    def enclose(self, first: Sequence[int], second: Sequence[int] | None = None) -> Enclosed:
        """[open] first [close], and where there is one: second [close]. The longer of two is cut first."""
        opening, closing = self.opening, self.closing
        texts = [first] if second is None else [first, second]
        room = self.room(len(texts))
        if second is None:
            kept = [self.shorten(first, room)]
        else:
            fair = room // 2
            sizes = max(fair, room - len(second)), max(room - fair, room - len(first))
            kept = [self.shorten(text, size) for text, size in zip(texts, sizes, strict=True)]
        rows = [part for text in kept for part in (text, closing)]
        tokens = np.array([*opening, *(id for part in rows for id in part)], dtype=np.int64)
        start = len(opening) + len(kept[0]) + len(closing) if second is not None else 0
        return Enclosed(tokens, start, sum(map(len, texts)) - sum(map(len, kept)))

    def shorten(self, tokens: Sequence[int], room: int) -> Sequence[int]:
        if len(tokens) <= room:
            return tokens
        if self.keep == "start":
            return tokens[:room]
        if self.keep == "end":
            return tokens[len(tokens) - room :]
        head = room // 2
        return [*tokens[:head], *tokens[len(tokens) - (room - head) :]]


def collate_texts(texts: Sequence[Enclosed], fill: int) -> Inputs:
    """Texts padded to the longest; ``segments_BN`` is 1 for the tokens of second texts, None where there are none."""
    tokens_BS, lengths_B = pad([text.tokens for text in texts], fill=max(fill, 0))
    segments_BS = None
    if any(text.second for text in texts):
        starts_B1 = np.array([text.second or len(text.tokens) for text in texts])[:, None]
        places_S = np.arange(tokens_BS.shape[1])
        second_BS = (places_S >= starts_B1) & (places_S < lengths_B[:, None])
        segments_BS = torch.from_numpy(second_BS.astype(np.int64))
    return Inputs(torch.from_numpy(tokens_BS), torch.from_numpy(lengths_B), segments_BS)


def enclose_all(tokenizer: Tokenizer, window: Window, rows: Sequence[tuple[str, ...]]) -> list[Enclosed]:
    """Rows of one text or two."""
    firsts = tokenizer.encode_batch([row[0] for row in rows])
    seconds = iter(tokenizer.encode_batch([row[1] for row in rows if len(row) > 1]))
    return [
        window.enclose(first, next(seconds) if len(row) > 1 else None) for row, first in zip(rows, firsts, strict=True)
    ]


def split_texts(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """Two texts may be given as one, with a tab between them."""
    return tuple(text.split(SEPARATOR, 1)) if isinstance(text, str) else tuple(text)

"""Tokens in words, for those who look at them; and tokens of no meaning, for checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from regard.core.inputs import Axis
from regard.data.modalities.text.enclosing import SEPARATOR, Enclosed
from regard.data.modalities.text.tokenizers import Tokenizer

STEP = 5
"""Each random text is so many tokens shorter than the one before."""


def token_axis(tokenizer: Tokenizer, ids: Sequence[int]) -> Axis:
    """The tokens by name, and where texts end."""
    closing = tokenizer.specials.eos
    return Axis(
        tuple(map(tokenizer.token, ids)),
        separators=tuple(place for place, id in enumerate(ids) if id == closing >= 0),
    )


def spelled(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text behind tokens, or the two, with a tab between them."""
    ends = [place for place, id in enumerate(ids) if id == tokenizer.specials.eos]
    parts = [ids[start:stop] for start, stop in pairwise((0, *(end + 1 for end in ends), len(ids)))]
    return SEPARATOR.join(tokenizer.decode(list(part)) for part in parts if part)


def random_ids(generator: np.random.Generator, tokenizer: Tokenizer, length: int) -> np.ndarray:
    """Ordinary tokens, drawn evenly."""
    ordinary = np.setdiff1d(np.arange(tokenizer.size), tokenizer.specials.known())
    return generator.choice(ordinary, length).astype(np.int64)


def random_lengths(rows: int, length: int) -> list[int]:
    """Of different sizes, so that some are padded."""
    return [max(length - STEP * row, 1) for row in range(rows)]


def random_texts(generator: np.random.Generator, tokenizer: Tokenizer, rows: int, length: int) -> list[Enclosed]:
    """Of different sizes; no symbols stand around them."""
    return [Enclosed(random_ids(generator, tokenizer, own)) for own in random_lengths(rows, length)]

"""Padding: rows of unequal length in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.core.symbols import PAD

Ids = np.ndarray


def pad(
    rows: Sequence[Ids], *, before: int | None = None, after: int | None = None, fill: int = PAD
) -> tuple[Ids, Ids]:
    """Rows of one length, filled up, each with an opening or closing symbol; and their lengths."""
    extra = (before is not None) + (after is not None)
    first = int(before is not None)
    lengths_B = np.array([len(row) + extra for row in rows], dtype=np.int64)
    padded_BS = np.full((len(rows), int(lengths_B.max(initial=0))), fill, dtype=np.int64)
    for place, row in enumerate(rows):
        padded_BS[place, first : first + len(row)] = row
        if after is not None:
            padded_BS[place, first + len(row)] = after
    if before is not None:
        padded_BS[:, 0] = before
    return padded_BS, lengths_B


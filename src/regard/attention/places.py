"""Where queries stand and how old rows are: one number where all rows agree, else a number for each row.

Rows of one age are the usual case, and cost no tensor work. Rows of different ages share a batch when prompts
have different lengths, or when new rows join a batch that is being decoded.
"""

from __future__ import annotations

import torch
from torch import Tensor

Places = int | Tensor
"""The place of the first query, the others following it; or places_BT, one for each query of each row."""
Ages = int | Tensor
"""How many positions the rows have seen: all of them so many, or ages_B."""


def places_after(ages: Ages, count: int, lengths_B: Tensor | None = None) -> Places:
    """Where the next ``count`` tokens stand; what pads a row stands where its last real token does."""
    if not isinstance(ages, Tensor):
        if lengths_B is None or int(lengths_B.max()) == count:
            return ages  # padding then stands behind everything, at a place that another row really has
        ages = torch.full_like(lengths_B, ages)
    steps_BT = torch.arange(count, device=ages.device).expand(len(ages), -1)
    if lengths_B is not None:
        steps_BT = torch.minimum(steps_BT, lengths_B[:, None] - 1)
    return (ages[:, None] + steps_BT).clamp(min=0)


def advanced(ages: Ages, count: int, lengths_B: Tensor | None = None) -> Ages:
    """The ages after ``count`` tokens, or after so many of them as are real."""
    return ages + count if lengths_B is None else simplified(ages + lengths_B)


def reordered(ages: Ages, rows: Tensor) -> Ages:
    return simplified(ages[rows]) if isinstance(ages, Tensor) else ages


def joined(ages: Ages, rows: int, other: Ages, other_rows: int, device: torch.device) -> Ages:
    """The ages of these rows, then those of the others."""
    if not isinstance(ages, Tensor) and not isinstance(other, Tensor) and ages == other:
        return ages
    return torch.cat((each(ages, rows, device), each(other, other_rows, device)))


def each(ages: Ages, rows: int, device: torch.device) -> Tensor:
    """ages_B, written out."""
    return ages if isinstance(ages, Tensor) else torch.full((rows,), ages, device=device)


def oldest(ages: Ages) -> int:
    """How many positions the oldest row has seen."""
    return int(ages.max()) if isinstance(ages, Tensor) else ages


def simplified(ages_B: Tensor) -> Ages:
    """One number again where all rows have come to agree."""
    first = int(ages_B[0])
    return first if bool((ages_B == first).all()) else ages_B

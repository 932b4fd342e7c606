"""What a mechanism remembers while a text grows: by default the keys and values of every position so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.attention.places import Ages, advanced, each, joined, reordered


class AttentionCache(Protocol):
    """The memory of one mechanism, row by row; what is in it is the mechanism's own affair.

    Law: rows know nothing of one another. ``reorder`` keeps the given rows, in that order; ``join`` sets the rows of
    another cache behind these. The old cache is consumed.
    """

    @property
    def ages(self) -> Ages:
        """How many positions each row has seen."""
        ...

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Takes in new positions, of each row the first so many, and gives all that may be read."""
        ...

    def reorder(self, rows: Tensor) -> AttentionCache: ...

    def join(self, other: Any) -> AttentionCache: ...


@dataclass(slots=True)
class Cache:
    """Keys and values of the positions seen so far, in room that grows by doubling.

    Where rows differ in age, ``lengths_B`` tells how much each has seen. What lies behind a row's own positions is
    finite, and no query of that row looks there, since none stands so far.
    """

    k_BGSK: Tensor
    v_BGSV: Tensor
    length: int = 0  # of the oldest row
    lengths_B: Tensor | None = None

    @classmethod
    def empty(cls, rows: int, heads: int, key_width: int, value_width: int, like: Tensor, room: int = 0) -> Cache:
        """With room for so many positions, nothing is moved until they are full."""
        return cls(like.new_empty(rows, heads, room, key_width), like.new_empty(rows, heads, room, value_width))

    @property
    def ages(self) -> Ages:
        return self.length if self.lengths_B is None else self.lengths_B

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Appends new positions and returns everything so far."""
        if self.lengths_B is not None or lengths_B is not None:
            return self._extend_each(k_BGTK, v_BGTV, lengths_B)
        new = self.length + k_BGTK.shape[2]
        self._make_room(new, finite=False)
        self.k_BGSK[:, :, self.length : new] = k_BGTK
        self.v_BGSV[:, :, self.length : new] = v_BGTV
        self.length = new
        return self.k_BGSK[:, :, :new], self.v_BGSV[:, :, :new]

    def _extend_each(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same where each row goes on from its own age; padding is written too, and later written over."""
        rows, count = len(k_BGTK), k_BGTK.shape[2]
        if self.lengths_B is None:
            self._clear_unused()
        ages_B = each(self.ages, rows, k_BGTK.device)
        self._make_room(self.length + count, finite=True)
        row_B1 = torch.arange(rows, device=ages_B.device)[:, None]
        place_BT = ages_B[:, None] + torch.arange(count, device=ages_B.device)
        self.k_BGSK[row_B1, :, place_BT] = k_BGTK.transpose(1, 2)
        self.v_BGSV[row_B1, :, place_BT] = v_BGTV.transpose(1, 2)
        if lengths_B is None:
            self.length, self.lengths_B = self.length + count, ages_B + count
        else:
            self._set_ages(advanced(ages_B, count, lengths_B))
        return self.k_BGSK[:, :, : self.length], self.v_BGSV[:, :, : self.length]

    def reorder(self, rows: Tensor) -> Cache:
        moved = Cache(self.k_BGSK.index_select(0, rows), self.v_BGSV.index_select(0, rows), self.length)
        if self.lengths_B is not None:
            moved._set_ages(reordered(self.lengths_B, rows))
        return moved

    def join(self, other: Cache) -> Cache:
        length = max(self.length, other.length)
        k_BGSK, v_BGSV = (
            torch.cat((_padded(ours[:, :, : self.length], length), _padded(theirs[:, :, : other.length], length)))
            for ours, theirs in ((self.k_BGSK, other.k_BGSK), (self.v_BGSV, other.v_BGSV))
        )
        both = Cache(k_BGSK, v_BGSV)
        both._set_ages(joined(self.ages, len(self.k_BGSK), other.ages, len(other.k_BGSK), k_BGSK.device))
        return both

    def _set_ages(self, ages: Ages) -> None:
        self.lengths_B = ages if isinstance(ages, Tensor) else None
        self.length = int(ages.max()) if isinstance(ages, Tensor) else ages

    def _make_room(self, positions: int, *, finite: bool) -> None:
        if positions > self.k_BGSK.shape[2]:
            room = max(2 * self.length, positions, 16)
            self.k_BGSK = _with_room(self.k_BGSK, self.length, room, finite)
            self.v_BGSV = _with_room(self.v_BGSV, self.length, room, finite)

    def _clear_unused(self) -> None:
        """Fresh memory may hold anything, and 0 times not-a-number is not a number."""
        self.k_BGSK[:, :, self.length :] = 0
        self.v_BGSV[:, :, self.length :] = 0


def _with_room(held: Tensor, length: int, room: int, finite: bool) -> Tensor:
    shape = (held.shape[0], held.shape[1], room, held.shape[3])
    larger = held.new_zeros(shape) if finite else held.new_empty(shape)
    larger[:, :, :length] = held[:, :, :length]
    return larger


def _padded(held_BGSK: Tensor, positions: int) -> Tensor:
    return torch.nn.functional.pad(held_BGSK, (0, 0, 0, positions - held_BGSK.shape[2]))

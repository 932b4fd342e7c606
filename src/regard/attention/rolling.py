"""A cache that forgets: of each row it keeps the first positions and the last ones, however long the text grows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.places import Ages, advanced, joined, reordered

SPARE = 16  # positions that are at least free where room is made


@dataclass(frozen=True, slots=True)
class Remembers:
    """How many of the first positions are kept for good, and how many of the last ones, the newest among them."""

    first: int
    last: int


@dataclass(slots=True)
class RollingCache:
    """Keys and values of the first and the last positions of each row.

    The last ones stand at the right end of their room, the newest of every row in the same column, so that distances
    are the same for all rows; a younger row has meaningless, finite numbers to the left, where no query looks.
    """

    remembers: Remembers
    first_BGFK: Tensor
    first_BGFV: Tensor
    k_BGSK: Tensor  # room; the last positions stand in its columns from ``begin`` to ``end``
    v_BGSV: Tensor
    ages: Ages = 0
    begin: int = 0
    end: int = 0

    @classmethod
    def empty(
        cls, remembers: Remembers, rows: int, heads: int, key_width: int, value_width: int, like: Tensor
    ) -> RollingCache:
        return cls(
            remembers,
            like.new_zeros(rows, heads, remembers.first, key_width),
            like.new_zeros(rows, heads, remembers.first, value_width),
            like.new_zeros(rows, heads, 0, key_width),
            like.new_zeros(rows, heads, 0, value_width),
        )

    @property
    def last(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the last positions."""
        return self.k_BGSK[:, :, self.begin : self.end], self.v_BGSV[:, :, self.begin : self.end]

    def everything(self) -> tuple[Tensor, Tensor]:
        """Keys and values of all positions that are kept, each once, where all rows are of one age."""
        assert not isinstance(self.ages, Tensor)
        (k_last, v_last), begin = self.last, self.ages - (self.end - self.begin)
        apart = min(self.remembers.first, begin)  # first positions that are not among the last
        if not apart:
            return k_last, v_last
        k_first, v_first = self.first_BGFK[:, :, :apart], self.first_BGFV[:, :, :apart]
        return torch.cat((k_first, k_last), dim=2), torch.cat((v_first, v_last), dim=2)

    def extend(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Takes in new positions (of each row the first so many), and gives the last ones."""
        count = k_BGTK.shape[2]
        if self.remembers.first:
            self._keep_first(k_BGTK, v_BGTV, lengths_B)
        if lengths_B is None:
            self._append(k_BGTK, v_BGTV)
        else:
            self._append_each(k_BGTK, v_BGTV, lengths_B)
        self.ages = advanced(self.ages, count, lengths_B)
        return self.last

    def seen_with(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, ...]:
        """Keys and values of all that is kept, then the new ones, and their places_BS (-1: nothing is there)."""
        count, (k_last, v_last) = k_BGTK.shape[2], self.last
        device, held = k_BGTK.device, k_last.shape[2]
        ages_B1 = self.ages[:, None] if isinstance(self.ages, Tensor) else torch.tensor([[self.ages]], device=device)
        first_BF = torch.arange(self.remembers.first, device=device).expand(len(ages_B1), -1)
        last_BS = ages_B1 - held + torch.arange(held, device=device)
        new_T = torch.arange(count, device=device)
        new_BT = ages_B1 + new_T
        if lengths_B is not None:
            new_BT = torch.where(new_T < lengths_B[:, None], new_BT, -1)
        parts_BS = [
            torch.where(first_BF < ages_B1, first_BF, -1),
            torch.where(last_BS >= self.remembers.first, last_BS, -1),  # the first ones stand there already
            new_BT,
        ]
        rows = max(len(part_BS) for part_BS in parts_BS)
        places_BS = torch.cat([part_BS.expand(rows, -1) for part_BS in parts_BS], dim=1)
        return (
            torch.cat((self.first_BGFK, k_last, k_BGTK), dim=2),
            torch.cat((self.first_BGFV, v_last, v_BGTV), dim=2),
            places_BS,
        )

    def reorder(self, rows: Tensor) -> RollingCache:
        (k_last, v_last), held = self.last, self.end - self.begin
        return RollingCache(
            self.remembers,
            self.first_BGFK.index_select(0, rows),
            self.first_BGFV.index_select(0, rows),
            k_last.index_select(0, rows),
            v_last.index_select(0, rows),
            reordered(self.ages, rows),
            end=held,
        )

    def join(self, other: RollingCache) -> RollingCache:
        held = max(self.end - self.begin, other.end - other.begin)
        k_BGSK, v_BGSV = (
            torch.cat((_right(ours, held), _right(theirs, held)))
            for ours, theirs in zip(self.last, other.last, strict=True)
        )
        rows, others = len(self.k_BGSK), len(other.k_BGSK)
        return RollingCache(
            self.remembers,
            torch.cat((self.first_BGFK, other.first_BGFK)),
            torch.cat((self.first_BGFV, other.first_BGFV)),
            k_BGSK,
            v_BGSV,
            joined(self.ages, rows, other.ages, others, k_BGSK.device),
            end=held,
        )

    def _keep_first(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor | None) -> None:
        count, wanted = k_BGTK.shape[2], self.remembers.first
        if not isinstance(self.ages, Tensor) and lengths_B is None:
            new = min(wanted - self.ages, count)
            if new > 0:
                self.first_BGFK[:, :, self.ages : self.ages + new] = k_BGTK[:, :, :new]
                self.first_BGFV[:, :, self.ages : self.ages + new] = v_BGTV[:, :, :new]
            return
        steps_T = torch.arange(min(count, wanted), device=k_BGTK.device)
        ages_B1 = self.ages[:, None] if isinstance(self.ages, Tensor) else self.ages
        places_BT = (ages_B1 + steps_T).expand(len(k_BGTK), -1)
        real_BT = places_BT < wanted
        if lengths_B is not None:
            real_BT = real_BT & (steps_T < lengths_B[:, None])
        rows_N, steps_N = real_BT.nonzero(as_tuple=True)
        places_N = places_BT[rows_N, steps_N]
        self.first_BGFK[rows_N, :, places_N] = k_BGTK[rows_N, :, steps_N]
        self.first_BGFV[rows_N, :, places_N] = v_BGTV[rows_N, :, steps_N]

    def _append(self, k_BGTK: Tensor, v_BGTV: Tensor) -> None:
        count, most = k_BGTK.shape[2], self.remembers.last
        if self.end + count > self.k_BGSK.shape[2]:
            kept = min(self.end - self.begin, max(most - count, 0))
            count = min(count, most)
            k_BGTK, v_BGTV = k_BGTK[:, :, -count:], v_BGTV[:, :, -count:]
            room = kept + count + min(max(kept + count, SPARE), most)
            (k_last, v_last), self.begin, self.end = self.last, 0, kept
            self.k_BGSK = _with_room(k_last, kept, room)
            self.v_BGSV = _with_room(v_last, kept, room)
        new = self.end + count
        self.k_BGSK[:, :, self.end : new] = k_BGTK
        self.v_BGSV[:, :, self.end : new] = v_BGTV
        self.begin, self.end = max(self.begin, new - most), new

    def _append_each(self, k_BGTK: Tensor, v_BGTV: Tensor, lengths_B: Tensor) -> None:
        """Of each row so many new ones, and before them what it had."""
        held = self.end - self.begin
        after = min(held + k_BGTK.shape[2], self.remembers.last)
        columns_BS = (held + lengths_B)[:, None] - after + torch.arange(after, device=lengths_B.device)
        rows_B1 = torch.arange(len(lengths_B), device=lengths_B.device)[:, None]
        columns_BS = columns_BS.clamp(min=0)
        k_last, v_last = self.last
        self.k_BGSK = torch.cat((k_last, k_BGTK), 2)[rows_B1, :, columns_BS].transpose(1, 2).contiguous()
        self.v_BGSV = torch.cat((v_last, v_BGTV), 2)[rows_B1, :, columns_BS].transpose(1, 2).contiguous()
        self.begin, self.end = 0, after


def _with_room(held_BGSK: Tensor, kept: int, room: int) -> Tensor:
    larger = held_BGSK.new_zeros(*held_BGSK.shape[:2], room, held_BGSK.shape[3])
    larger[:, :, :kept] = held_BGSK[:, :, held_BGSK.shape[2] - kept :]
    return larger


def _right(held_BGSK: Tensor, positions: int) -> Tensor:
    return functional.pad(held_BGSK, (0, 0, positions - held_BGSK.shape[2], 0))

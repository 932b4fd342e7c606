"""A projected source, which the rows that belong to one sentence share, and how it follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.masks import Mask


@dataclass(slots=True)
class Memory:
    """A projected source: one row of keys and values for each sentence, and who may look."""

    k_BGSK: Tensor
    v_BGSV: Tensor
    mask: Mask

    def select(self, sentences: Tensor) -> Memory:
        """Keeps the given sentences."""
        return Memory(self.k_BGSK[sentences], self.v_BGSV[sentences], self.mask.select(sentences))

    def join(self, other: Memory) -> Memory:
        """The sentences of both; what a shorter source lacks is padding, at which nobody looks."""
        keys = max(self.k_BGSK.shape[2], other.k_BGSK.shape[2])
        k_BGSK, v_BGSV = (
            torch.cat((_padded(ours, keys), _padded(theirs, keys)))
            for ours, theirs in ((self.k_BGSK, other.k_BGSK), (self.v_BGSV, other.v_BGSV))
        )
        lengths_B = torch.cat((self.lengths(), other.lengths()))
        return Memory(k_BGSK, v_BGSV, Mask(lengths_B=lengths_B))

    def lengths(self) -> Tensor:
        """lengths_B: how many keys each sentence has."""
        if not replace(self.mask, lengths_B=None).is_everything:
            raise ValueError("memories join where their masks speak of lengths alone; this one has further rules")
        if self.mask.lengths_B is not None:
            return self.mask.lengths_B
        return torch.full((len(self.k_BGSK),), self.k_BGSK.shape[2], device=self.k_BGSK.device)


def _padded(held_BGSK: Tensor, keys: int) -> Tensor:
    return functional.pad(held_BGSK, (0, 0, 0, keys - held_BGSK.shape[2]))


def kept_sentences(rows: Tensor, before: int, sentences: int) -> Tensor | None:
    """The sentences whose memories the kept ``rows`` (of ``before``) read, in order; None: all, as they stand.

    Rows of a sentence stand together, equally many for each; where that is lost, every row gets a memory of its own.
    """
    owners = rows // (before // sentences)
    kept, counts = torch.unique_consecutive(owners, return_counts=True)
    if bool((counts != counts[0]).any()):
        return owners
    same = len(kept) == sentences and bool((kept == torch.arange(sentences, device=kept.device)).all())
    return None if same else kept


def join_memories(
    ours: Sequence[Memory], rows: int, theirs: Sequence[Memory], other_rows: int
) -> list[Memory]:
    """Memory by memory; where the two have not equally many rows to a sentence, every row gets one of its own."""
    own, other = (rows // len(ours[0].k_BGSK), other_rows // len(theirs[0].k_BGSK))
    if own != other:
        ours, theirs = repeated(ours, own), repeated(theirs, other)
    return [one.join(another) for one, another in zip(ours, theirs, strict=True)]


def repeated(memories: Sequence[Memory], times: int) -> list[Memory]:
    """Each sentence so many times, one after the other."""
    owners = torch.arange(len(memories[0].k_BGSK), device=memories[0].k_BGSK.device).repeat_interleave(times)
    return [memory.select(owners) for memory in memories]

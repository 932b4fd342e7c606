"""Prefixes as a tree of back-pointers: a step writes a token and a parent per row; answers are read at the end."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

ROOT = -1


class Tree:
    """Every prefix that a search has met, as a node: its last token and the node before it."""

    def __init__(self) -> None:
        self._tokens: list[Tensor] = []
        self._parents: list[Tensor] = []
        self._size = 0

    def grow(self, parents: Tensor, tokens: Tensor) -> Tensor:
        """New nodes, one for each token, in the shape of ``tokens``."""
        self._tokens.append(tokens.flatten())
        self._parents.append(parents.flatten())
        first, self._size = self._size, self._size + tokens.numel()
        return torch.arange(first, self._size, device=tokens.device).view_as(tokens)

    def reader(self) -> Callable[[int], tuple[int, ...]]:
        """From a node to its tokens from the root on; for when the search is over."""
        tokens = torch.cat(self._tokens).tolist() if self._tokens else []
        parents = torch.cat(self._parents).tolist() if self._parents else []

        def path(node: int) -> tuple[int, ...]:
            backwards = []
            while node != ROOT:
                backwards.append(tokens[node])
                node = parents[node]
            return tuple(reversed(backwards))

        return path

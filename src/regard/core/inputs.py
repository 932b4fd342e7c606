"""Data that flows through a model: inputs, embedded inputs, and states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Inputs:
    """One collated side of a batch.

    ``values`` are tokens_BN, arrays_BC… (pictures_BCHW, whole: a front cuts them) or features_BNC of nodes.
    ``lengths_B`` says how many of the N positions are real, or is None where a row has no padding. ``segments_BN``
    tells apart what is read together; ``places_BNA`` where a position stands (None: 0, 1, 2 …). Of a graph, a row of
    ``edges_M3`` says that in this row of the batch one node sees another (both ways, so every edge is there twice), and
    ``pairs_BNNC`` what else is known of two of them. ``scale_B2C`` are mean and spread by which the values of each row
    were normalised, for answers in the user's units.
    """

    values: Tensor
    lengths_B: Tensor | None = None
    segments_BN: Tensor | None = None
    places_BNA: Tensor | None = None
    edges_M3: Tensor | None = None
    pairs_BNNC: Tensor | None = None
    scale_B2C: Tensor | None = None

    @property
    def real_lengths_B(self) -> Tensor:
        """``lengths_B``, also where every row is full."""
        if self.lengths_B is not None:
            return self.lengths_B
        return torch.full((len(self.values),), self.values.shape[1], device=self.values.device)

    @property
    def edges_BNN(self) -> Tensor | None:
        """Which nodes are joined, as a matrix; None of what is no graph."""
        if self.edges_M3 is None:
            return None
        rows, nodes = self.values.shape[:2]
        edges_BNN = torch.zeros(rows, nodes, nodes, dtype=torch.bool, device=self.values.device)
        edges_BNN[self.edges_M3.unbind(1)] = True
        return edges_BNN


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a front makes of inputs: as many positions as the layers see (a class token among them).

    ``places_BNA`` says where each stands; for a picture its row and column. ``grid`` is how many there are along each
    axis, where they fill one after the class token.
    """

    x_BND: Tensor
    lengths_B: Tensor | None = None
    places_BNA: Tensor | None = None
    grid: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class States:
    """What a body makes of inputs: a state for every position, and what it adds to the loss (``regard.core.penalties``
    says in which unit; None: nothing)."""

    x_BND: Tensor
    lengths_B: Tensor | None = None
    penalty: Tensor | None = None


class Drawing(NamedTuple):
    """A graph as it is drawn: where each node stands, from 0 to 1 along the longer side, and which are joined."""

    places_N2: np.ndarray
    edges_E2: np.ndarray


class Axis(NamedTuple):
    """What stands beside the rows or columns of a matrix of weights: a label each, and the grid that they fill, if any.

    ``shape`` is (rows, columns) for the patches of a picture, () for a line; ``extra`` positions (a class token) come
    before the grid. ``separators`` are the places of symbols that close a text or stand between two.
    """

    labels: tuple[str, ...]
    shape: tuple[int, ...] = ()
    extra: int = 0
    separators: tuple[int, ...] = ()

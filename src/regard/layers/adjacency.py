"""What the edges of a graph do to attention: a mask, a bias on the scores, or nothing at all."""

from __future__ import annotations

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention.edges import Edges
from regard.attention.masks import EVERYTHING, Mask
from regard.attention.places import Places
from regard.core.config import Choices, Part
from regard.core.errors import RecipeError
from regard.core.inputs import Inputs
from regard.core.ports import Nodes
from regard.layers.positions import NoPosition

SPREAD = 0.02
"""Of weights of pairs at the start."""


class Seen(NamedTuple):
    """Who may look at whom, and what is added to the scores of each head, if anything."""

    mask: Mask
    bias_BHNN: Tensor | None = None


class Adjacency(nn.Module):
    """The edges are not read; the base of those that read them. ``reach``: how many edges away a node sees; 0: all."""

    reach = 0

    def forward(self, inputs: Inputs) -> Seen:
        return Seen(EVERYTHING)


class AdjacencyPart(Part):
    """Settings of what edges do; here nothing: a graph is read as a bag of nodes."""

    kind: str = "none"

    def build(self, port: Nodes, heads: int) -> Adjacency:
        if port.distances:
            raise RecipeError(
                'input.structure.distance has no effect where model.adjacency.kind = "none": how far two nodes are '
                "apart is read by mask and bias; leave it out, or choose one of these"
            )
        return Adjacency()


class BiasConfig(AdjacencyPart):
    """Every node sees every other; whether two are joined, and what else is known of them, is added to the scores."""

    kind: str = "bias"

    def build(self, port: Nodes, heads: int) -> Adjacency:
        return EdgeBias(port.pairs, heads, joined=True)


class MaskConfig(AdjacencyPart):
    """A node sees itself and those that it is joined to; what else is known of two nodes is added to the scores."""

    kind: str = "mask"
    hops: int = Field(1, ge=1)  # over so many edges a node sees
    heads: int = Field(0, ge=0)  # so many heads are masked, the others see every node; 0: all are

    def build(self, port: Nodes, heads: int) -> Adjacency:
        if self.heads > heads:
            raise RecipeError(f"model.adjacency.heads = {self.heads} is more than the {heads} heads that there are")
        masked = self.heads or heads
        return EdgeMask(self.hops, masked, heads - masked, EdgeBias(port.pairs, heads) if port.pairs else None)


ADJACENCIES = Choices(
    "adjacency",
    AdjacencyPart,
    "bias",
    {
        "bias": "regard.layers.adjacency:BiasConfig",
        "mask": "regard.layers.adjacency:MaskConfig",
        "none": "regard.layers.adjacency:AdjacencyPart",
    },
)


class EdgeBias(Adjacency):
    """b_ij = w_joined [i, j are joined] + W p_ij for each head, p_ij being what is known of the two: features of their
    edge, one place for each distance (Ying et al. 2021, eq. 6 and 7, but the edges on the way are not averaged).

    All layers share it.
    """

    def __init__(self, pairs: int, heads: int, *, joined: bool = False) -> None:
        super().__init__()
        self.joined_H = nn.Parameter(torch.randn(heads) * SPREAD) if joined else None
        self.pairs_HC = nn.Parameter(torch.randn(heads, pairs) * SPREAD) if pairs else None

    def forward(self, inputs: Inputs) -> Seen:
        edges_BNN, bias_BHNN = edges_of(inputs), None
        if self.pairs_HC is not None:
            assert inputs.pairs_BNNC is not None, "the port announces pairs"
            bias_BHNN = torch.einsum("bnmc,hc->bhnm", inputs.pairs_BNNC, self.pairs_HC)
        if self.joined_H is not None:
            joined_BHNN = self.joined_H[:, None, None] * edges_BNN[:, None]
            bias_BHNN = joined_BHNN if bias_BHNN is None else bias_BHNN + joined_BHNN
        return Seen(EVERYTHING, bias_BHNN)


class EdgeMask(Adjacency):
    """A node sees those that it reaches over ``hops`` edges, itself among them; with ``free`` heads it sees all."""

    def __init__(self, hops: int, masked: int, free: int, bias: EdgeBias | None) -> None:
        super().__init__()
        self.hops, self.bias, self.reach = hops, bias, 0 if free else hops
        self.masked = (*(True,) * masked, *(False,) * free) if free else ()

    def forward(self, inputs: Inputs) -> Seen:
        rows, nodes = inputs.values.shape[:2]
        edges = Edges(reached(list_of(inputs), rows, nodes, self.hops), rows, nodes, self.masked)
        return Seen(Mask(edges=edges), None if self.bias is None else self.bias(inputs).bias_BHNN)


class GivenBias(NoPosition):
    """A bias on scores that is known already, where blocks ask a position for one."""

    def __init__(self, bias_BHNN: Tensor) -> None:
        super().__init__()
        self.bias_BHNN = bias_BHNN

    def bias(self, queries: int, keys: int, places: Places = 0) -> Tensor | None:
        return self.bias_BHNN


def reached(list_M3: Tensor, rows: int, nodes: int, hops: int) -> Tensor:
    """Who comes to whom over at most so many edges, in every graph of a batch, sorted; everybody to itself."""
    size = rows * nodes
    row_M, first_M, second_M = list_M3.unbind(1)
    itself_N = torch.arange(size, device=list_M3.device)
    near_M = torch.cat(((row_M * nodes + first_M) * size + row_M * nodes + second_M, itself_N * (size + 1))).unique()
    counts_N, next_M, found_M = torch.bincount(near_M // size, minlength=size), near_M % size, near_M
    starts_N = counts_N.cumsum(0) - counts_N
    for _ in range(hops - 1):  # from where a way has come, along every edge that begins there
        ends_M = found_M % size
        ways_M = counts_N[ends_M]
        before_M = (ways_M.cumsum(0) - ways_M - starts_N[ends_M]).repeat_interleave(ways_M)
        further_M = next_M[torch.arange(len(before_M), device=before_M.device) - before_M]
        found_M = ((found_M // size).repeat_interleave(ways_M) * size + further_M).unique()
    first_M, second_M = found_M // size, found_M % size
    return torch.stack((first_M // nodes, first_M % nodes, second_M % nodes), dim=1)


def list_of(inputs: Inputs) -> Tensor:
    assert inputs.edges_M3 is not None, "a graph's inputs have edges"
    return inputs.edges_M3


def edges_of(inputs: Inputs) -> Tensor:
    edges_BNN = inputs.edges_BNN
    assert edges_BNN is not None, "a graph's inputs have edges"
    return edges_BNN

"""Graph Transformer: an encoder that reads the nodes of a graph (Dwivedi & Bresson 2021; Ying et al. 2021).

A front makes a vector of what is known of each node, pre-norm blocks let nodes look at one another, and the edges say
who may look at whom, or how much. Nodes have no order, so there are no positions: permuting the nodes permutes the
states. Read it top to bottom: configuration, sizes, model.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializeAsAny
from torch import nn

from regard.attention.masks import padding
from regard.core.inputs import Inputs, States
from regard.core.ports import INPUT, Nodes, Ports, nodes_at
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers.adjacency import ADJACENCIES, AdjacencyPart, GivenBias
from regard.layers.blocks import run_layer
from regard.layers.dropout import Dropout
from regard.layers.fronts import NODE_FRONTS, NodeFrontPart
from regard.layers.stacks import StackPart
from regard.models import ModelPart

PRESETS: dict[str, dict[str, Any]] = {
    "graphormer-slim": {"layers": 12, "width": 80, "heads": 8, "feed_forward": {"width": 80}},
    "graphormer-base": {"layers": 12, "width": 768, "heads": 32, "feed_forward": {"width": 768}},
}
"""The ``[model]`` table of the sizes of Ying et al. 2021, of the encoder alone."""


class GraphTransformerConfig(StackPart, ModelPart):
    """A Transformer over the nodes of a graph."""

    presets = PRESETS

    roles = frozenset({Role.READS})

    kind: str = "graph-transformer"
    front: Annotated[SerializeAsAny[NodeFrontPart], NODE_FRONTS] = Field(default_factory=NODE_FRONTS.make)
    adjacency: Annotated[SerializeAsAny[AdjacencyPart], ADJACENCIES] = Field(default_factory=ADJACENCIES.make)

    def build(self, ports: Ports) -> GraphTransformer:
        return GraphTransformer(self.settled(), nodes_at(ports, INPUT, self.kind))

    def block(self, layer: int) -> nn.Module:
        return self.encoder_layer(self.dropout, layer, 0)


class GraphTransformer(nn.Module):
    """Nodes become states that know the nodes around them, or all."""

    anatomy = Anatomy(depth_path="layers.*", reading=("front", "adjacency", "dropout", "layers", "norm"))
    causal = False
    max_length = 0  # graphs of any size

    def __init__(self, config: GraphTransformerConfig, port: Nodes) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        self.front = config.front.build(port, config.width)
        self.adjacency = config.adjacency.build(port, config.heads)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(config.block(layer) for layer in range(config.layers))
        self.norm = config.norm.build(config.width)
        self.recompute = False  # activation checkpointing, set by the training loop

    @property
    def reach(self) -> int:
        """Over how many edges something has influence on a node; 0 where every node sees all."""
        return len(self.layers) * self.adjacency.reach

    def represent(self, inputs: Inputs) -> States:
        return self(inputs)

    def forward(self, inputs: Inputs) -> States:
        embedded, seen = self.front(inputs), self.adjacency(inputs)
        lengths_B, mask = embedded.lengths_B, seen.mask
        if lengths_B is not None:
            mask = mask & padding(lengths_B, embedded.x_BND.shape[1])
        position = None if seen.bias_BHNN is None else GivenBias(seen.bias_BHNN)
        x_BND = self.dropout(embedded.x_BND)
        for layer in self.layers:
            x_BND = run_layer(layer, self.recompute, x_BND, mask, position)
        return States(self.norm(x_BND), lengths_B)

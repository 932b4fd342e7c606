"""Nodes as tokens: what is known of each node of a graph is projected to a vector."""

from __future__ import annotations

from pydantic import Field
from torch import nn

from regard.core.inputs import Embedded, Inputs
from regard.core.ports import Nodes
from regard.layers.dropout import Dropout
from regard.layers.feed_forward import ACTIVATIONS, Activation
from regard.layers.fronts import NodeFrontPart


class NodesConfig(NodeFrontPart):
    """One matrix, or two with an activation between them."""

    kind: str = "nodes"
    hidden: int = Field(0, ge=0)  # the width between two matrices; 0: there is one
    activation: Activation = "relu"  # between two matrices
    dropout: float = Field(0.0, ge=0, lt=1)  # of what is known of nodes, number by number

    def unused(self) -> dict[str, str]:
        return {} if self.hidden else {"activation": "with hidden = 0 there is one matrix, and nothing between two"}

    def build(self, port: Nodes, width: int) -> NodeEmbedding:
        return NodeEmbedding(self, port.features, width)


class NodeEmbedding(nn.Module):
    """x = W v + b of the numbers v that are known of a node, or W f(U v + c) + b."""

    def __init__(self, config: NodesConfig, features: int, width: int) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.inner = nn.Linear(features, config.hidden) if config.hidden else None
        self.activation = ACTIVATIONS[config.activation]
        self.projection = nn.Linear(config.hidden or features, width)
        for layer in (self.inner, self.projection):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, inputs: Inputs) -> Embedded:
        values_BNC = self.dropout(inputs.values)
        if self.inner is not None:
            values_BNC = self.activation(self.inner(values_BNC))
        return Embedded(self.projection(values_BNC), inputs.lengths_B)

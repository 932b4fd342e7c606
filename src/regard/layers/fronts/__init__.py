"""Fronts: what turns a modality's inputs into a sequence of vectors that a body reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from regard.core.config import Choices, Part
from regard.core.errors import RecipeError

if TYPE_CHECKING:
    from regard.core.inputs import Embedded, Inputs
    from regard.core.ports import Arrays, Nodes


class ArrayFront(Protocol):
    """An ``nn.Module`` that cuts arrays into positions.

    Law: padding beyond ``inputs.lengths_B`` has no influence; positions are read row by row after the class token, and
    ``places_BNA`` says where on ``grid`` each of them stands (the class token stands outside, at −1 on every axis).
    """

    @property
    def grid(self) -> tuple[int, ...]:
        """How many positions there are along each axis for an input as large as the port says."""
        ...

    @property
    def class_tokens(self) -> int:
        """How many positions come before those of the grid: a class token, perhaps a distillation token, or none."""
        ...

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The grid of an input of this shape."""
        ...

    def __call__(self, inputs: Inputs) -> Embedded: ...


class ArrayFrontPart(Part):
    """Settings of a front for arrays."""

    def build(self, port: Arrays, width: int) -> ArrayFront:
        raise NotImplementedError


ARRAY_FRONTS = Choices(
    "front",
    ArrayFrontPart,
    "patches",
    {
        "patches": "regard.layers.fronts.patches:PatchesConfig",
        "hierarchy": "regard.layers.fronts.hierarchy:HierarchyConfig",
        "convolution": "regard.layers.fronts.convolution:ConvolutionConfig",
    },
)


class TokensConfig(ArrayFrontPart):
    """No front: a source of tokens, which have an embedding."""

    kind: str = "tokens"

    def build(self, port: Arrays, width: int) -> ArrayFront:
        raise RecipeError(
            f'model.front.kind = "tokens" reads texts, and the input of this recipe is {port.what}; set '
            'model.front.kind to "patches" or "convolution"'
        )


SOURCE_FRONTS = Choices(
    "front", ArrayFrontPart, "tokens", {"tokens": "regard.layers.fronts:TokensConfig", **ARRAY_FRONTS.table}
)
"""Of a model that writes: its source may be a text, too."""


class NodeFront(Protocol):
    """An ``nn.Module`` that makes a vector of what is known of each node. Law: it looks at every node alone."""

    def __call__(self, inputs: Inputs) -> Embedded: ...


class NodeFrontPart(Part):
    """Settings of a front for nodes of a graph."""

    def build(self, port: Nodes, width: int) -> NodeFront:
        raise NotImplementedError


NODE_FRONTS = Choices("front", NodeFrontPart, "nodes", {"nodes": "regard.layers.fronts.nodes:NodesConfig"})

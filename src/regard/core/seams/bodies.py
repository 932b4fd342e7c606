"""The seams of bodies: models that give every position of an input a state, and what they may declare beyond that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.core.inputs import Inputs, States
    from regard.core.seams.anatomy import Anatomy


@runtime_checkable
class Body(Protocol):
    """A model that gives every position of an input a state; heads of tasks stand on it. Every family of the house is
    one.

    Law: what is padded has no influence on the states of what is there. With ``causal`` a state knows only what
    stood before its position, else both sides of it; ``max_length`` how many it can read (0: as many as one likes).
    Its anatomy names the modules that are needed for reading: the others write, and a head takes their place.
    """

    anatomy: Anatomy

    @property
    def causal(self) -> bool: ...

    @property
    def max_length(self) -> int: ...

    @property
    def width(self) -> int: ...

    def represent(self, inputs: Inputs) -> States: ...


@runtime_checkable
class HasGrid(Protocol):
    """A body whose positions fill a grid (the patches of a picture), row by row after its class token."""

    @property
    def grid(self) -> tuple[int, ...]: ...

    @property
    def class_tokens(self) -> int:
        """How many positions come before those of the grid."""
        ...

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The grid of an input of this shape, which may be shorter than that of the port."""
        ...


@runtime_checkable
class ReadsAgain(Protocol):
    """A body, or its front, that reads an input several times over, one reading after the other in one sequence."""

    def readings(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many positions each reading of an input of this shape has; () where it is read once."""
        ...


@runtime_checkable
class HasReach(Protocol):
    """A body of nodes that knows how many edges away something can have influence on a node; 0: anything has.

    Law: what stands further away has none.
    """

    @property
    def reach(self) -> int: ...


@runtime_checkable
class Interpolates(HasGrid, Protocol):
    """A body that can go on from weights of its kind that were trained on another grid (pictures of another size)."""

    def interpolated(self, weights: Mapping[str, Tensor], grid: Sequence[int]) -> dict[str, Tensor]:
        """The same weights where nothing depends on the grid, the others as this body's grid needs them."""
        ...


@runtime_checkable
class HasSegments(Protocol):
    """A body that may have vectors for what is read together, such as a question and its context."""

    @property
    def segment_kinds(self) -> int:
        """How many kinds there are; below 2, segments are not read."""
        ...


@runtime_checkable
class ReadsAndWrites(Protocol):
    """A model with a source and an answer, which may have limits of their own."""

    @property
    def max_lengths(self) -> tuple[int, int]:
        """How many positions a source and an answer may have; 0: as many as one likes."""
        ...


@runtime_checkable
class ReadsArrays(Protocol):
    """A model whose source may be an array, which it cuts into positions; of a text it has one for each token."""

    def source_cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many positions there are along each axis of a source of this shape."""
        ...


def max_lengths_of(model: Any) -> tuple[int, int]:
    """The limits of source and answer; a model that states none has none."""
    return model.max_lengths if isinstance(model, ReadsAndWrites) else (0, 0)


def max_length_of(model: Any) -> int:
    """How many positions a body reads at once; 0: as many as one likes."""
    return model.max_length if isinstance(model, Body) else 0


def reads_segments(model: Any) -> bool:
    """Whether it tells texts that are read together apart by their segments."""
    return isinstance(model, HasSegments) and model.segment_kinds > 1


@runtime_checkable
class GuessesWords(Protocol):
    """A head that says what is hidden: ``transform`` makes of states what is compared with every word."""

    words: Any

    def transform(self, states_ND: Tensor) -> Tensor: ...


@runtime_checkable
class HasPooler(Protocol):
    """A body that makes one vector of a text's states."""

    pooler: nn.Module


@runtime_checkable
class RelatesTexts(HasPooler, Protocol):
    """A body that can say whether two texts follow one another."""

    relation: nn.Module

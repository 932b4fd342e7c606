"""What a module may declare about itself, so that initialisation, optimisers and the loop ask and never guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.core.inputs import Inputs


@runtime_checkable
class WritesResidual(Protocol):
    """A sub-layer that says which layers write what it adds to the residual path.

    Initialisation makes those smaller, the deeper a stack is. A sub-layer that says nothing starts like any other.
    """

    def residual_outputs(self) -> tuple[nn.Linear, ...]: ...


@runtime_checkable
class StacksMatrices(Protocol):
    """A module in which several matrices stand on one another in one parameter (W_q, W_k, W_v).

    An optimiser that looks at whole matrices takes each by itself.
    """

    def stacked_matrices(self) -> dict[Tensor, tuple[int, ...]]:
        """The parameters, with the rows of the matrices in them."""
        ...


@runtime_checkable
class Recomputes(Protocol):
    """A module that can throw inner activations away and make them again in the backward pass, when ``recompute``."""

    recompute: bool


@runtime_checkable
class FitsInputs(Protocol):
    """A module that computes weights from training inputs, once, before the first step of a new model; they are saved
    with the others."""

    def fit_inputs(self, inputs: Inputs) -> None:
        """Some hundred of them, as they are without augmentation."""
        ...

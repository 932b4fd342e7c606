"""What a module may declare about itself, so that initialisation, optimisers and the loop ask and never guess."""

from __future__ import annotations

from collections.abc import Mapping
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
class CarriesStream(Protocol):
    """A layer whose output is the residual stream behind it, so that inspection may measure it there."""

    carries_stream: bool


@runtime_checkable
class HasActivations(Protocol):
    """A feed-forward network that names the module in it whose output are its inner activations, one a hidden unit."""

    activations: str


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
class ReadsLengths(Protocol):
    """A network over positions that is told which of them are there: ``network(x_BTD, lengths_B)``, None: all."""

    reads_lengths: bool

    def __call__(self, x_BTD: Tensor, lengths_B: Tensor | None = None) -> Tensor: ...


@runtime_checkable
class CountsSteps(Protocol):
    """A module that counts what it did in a training step, and changes by it once the step is over.

    Law: the counts of a step's parts, added over parts and processes, are those of the whole step; what changes is part
    of the module's state, so that a checkpoint holds it.
    """

    def step_counts(self) -> dict[str, float]:
        """What this process counted since the last step."""
        ...

    def end_step(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Takes the sum over all processes, changes by it, begins anew, and gives figures for the journal."""
        ...


@runtime_checkable
class FitsInputs(Protocol):
    """A module that computes weights from training inputs, once, before the first step of a new model; they are saved
    with the others."""

    def fit_inputs(self, inputs: Inputs) -> None:
        """Some hundred of them, as they are without augmentation."""
        ...

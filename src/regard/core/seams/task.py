"""The seam between a question and the training loop: Task, its sums, and the session in which it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from regard.core.answers import Answer
from regard.core.batch import AnyBatch, Batch, Examples, move

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from regard.core.ports import Ports
    from regard.core.seams import Engine
    from regard.decoding.options import Strategy

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


@dataclass(slots=True)
class Sums:
    """Named sums with their counts, so that means over batches, accumulation and ranks come out right.

    ``sums["loss"]`` is the differentiable total; ``counts`` divides it. To it the Learner adds ``sums["penalty"]``,
    divided by its own count, where layers add to the loss.
    """

    sums: dict[str, Tensor]
    counts: dict[str, int]

    def mean(self, name: str) -> float:
        return float(self.sums[name].detach()) / max(self.counts[name], 1)


@dataclass(frozen=True)
class Session:
    """One use of a model: where it runs, how answers are searched for, by whom, and who is told of the progress.

    ``engine`` searches in the model's place where it is given. ``numbers`` are those of the inputs among all that the
    user asks, of which these may be a part: random numbers follow them. Without, inputs are numbered from 0.
    """

    model: nn.Module
    device: torch.device
    options: Strategy
    engine: Engine | None = None
    progress: Progress | None = None
    numbers: Sequence[int] | None = None

    def move(self, batch: AnyBatch) -> AnyBatch:
        """A batch as the model wants it: on its device."""
        return move(batch, self.device)

    def with_options(self, options: Strategy) -> Session:
        return replace(self, options=options)

    def with_progress(self, progress: Progress | None) -> Session:
        return replace(self, progress=progress)


class Task(Protocol):
    """What is asked of a model and what counts as good; the training loop knows a task only through this.

    Law: ``sums(model, batch)`` adds over examples, i.e. the sums over the parts of a batch equal the sums over
    the whole, unless ``additive`` is False; then accumulation and several ranks are refused. ``static_shapes`` says
    that nearly all batches are equally wide and long. What else a task may do is declared in
    ``regard.core.seams.capabilities``.
    """

    additive: bool
    static_shapes: bool

    def ports(self) -> Ports:
        """What the data fixes about the model, by side."""
        ...

    def examples(self, split: str, epoch: int) -> Examples:
        """The encoded examples of a split, the same for the same (seed, epoch); none where there is no such split."""
        ...

    def collate(self, items: Sequence[Any]) -> Batch:
        """Examples become one batch of tensors, on the CPU."""
        ...

    def sums(self, model: nn.Module, batch: Any) -> Sums:
        """A batch becomes named sums; ``loss`` is the one that is trained on."""
        ...

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """For each input its answers, best first, in the order of the inputs. No text among them is empty."""
        ...

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Figures by name (rates are fractions of 1), and the notes that belong to them, such as signatures."""
        ...

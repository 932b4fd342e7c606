"""What each head is worth: how much the loss on a data set rises when that head is switched off (Michel et al. 2019).

One head at a time: two heads that can stand in for one another both look dispensable.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.core.seams.task import Progress
from regard.data.batching import in_length_order
from regard.data.corpus import Pair
from regard.inspection.editing import without_heads
from regard.inspection.figures.alignments import three_digits
from regard.inspection.heads.names import HeadAt, every_head
from regard.inspection.splits import GIVEN, places, task_over
from regard.runs.load import Run
from regard.tasks.scores import sum_over

AT_ONCE = 4096  # tokens of a batch
EXAMPLES = 500  # that are enough to tell heads apart
HARDLY = 0.01  # a rise of the loss below this share of it is told as none


@dataclass(frozen=True)
class HeadImportance:
    """The loss (nats a token) with all heads, and without this one."""

    name: str
    head: int
    loss: float
    without: float

    @property
    def rise(self) -> float:
        return self.without - self.loss

    @property
    def sentence(self) -> str:
        if abs(self.rise) < HARDLY * self.loss:
            worth = "it can be spared, as long as the others are there"
        elif self.rise < 0:
            worth = "the model does better without it on these texts"
        else:
            worth = f"that is {three_digits(100 * self.rise / self.loss)} % more"
        return (
            f"Without head {self.head} of {self.name} the loss goes from {three_digits(self.loss)} to "
            f"{three_digits(self.without)}: {worth}."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "rise": self.rise, "sentence": self.sentence}


def importance(
    run: Run,
    data: str | Sequence[str] | Sequence[Pair] = "validation",
    *,
    pattern: str = "*",
    examples: int = EXAMPLES,
    progress: Progress | None = None,
) -> list[HeadImportance]:
    """For every head that matches, in the order of the model; ``data`` is the name of a split, or texts.

    Texts are ``Pair``s for a translator and strings for others. At most ``examples`` of them are asked, evenly chosen.
    """
    heads = every_head(run.model, pattern)
    task = task_over(run, data)
    found = task.examples(data if isinstance(data, str) else GIVEN, 0)
    chosen = places(found, examples)
    batches = [np.array(chosen)[indices] for indices in in_length_order(found.lengths_NA[chosen], AT_ONCE)]

    def loss(off: Sequence[HeadAt]) -> float:
        with without_heads(run.model, off) if off else nullcontext():
            totals, count = sum_over(task, run.session(), found, batches)
        return totals["loss"] / max(count, 1)

    whole, table = loss(()), []
    for number, (name, head) in enumerate(heads, start=1):
        table.append(HeadImportance(name, head, whole, loss([(name, head)])))
        if progress is not None:
            progress(number, len(heads))
    return table

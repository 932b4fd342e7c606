"""What each head is worth: how much the loss on a data set rises when that head is switched off (Michel et al. 2019).

One head at a time: two heads that can stand in for one another both look dispensable.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.core.errors import OptionError
from regard.core.seams import Progress
from regard.data.batching import in_length_order
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.texts import HeldText, TextCorpus
from regard.inspection.alignment_figure import three_digits
from regard.inspection.editing import without_heads
from regard.inspection.head_names import HeadAt, every_head
from regard.runs.load import Run
from regard.runs.train import build_task, load_corpus
from regard.tasks.scores import summed

AT_ONCE = 4096  # tokens of a batch
EXAMPLES = 500  # that are enough to tell heads apart
GIVEN = "given"  # the split that texts of the user's become
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
    if not len(found):
        raise OptionError(f"there is nothing to ask about in {data!r}; name a split that has examples, or give texts")
    chosen = [found[int(place)] for place in np.unique(np.linspace(0, len(found) - 1, examples).astype(int))]
    batches = in_length_order(task.lengths(chosen), AT_ONCE)

    def loss(off: Sequence[HeadAt]) -> float:
        with without_heads(run.model, off) if off else nullcontext():
            totals, count = summed(task, run.model, chosen, batches, run.device)
        return totals["loss"] / max(count, 1)

    whole, table = loss(()), []
    for number, (name, head) in enumerate(heads, start=1):
        table.append(HeadImportance(name, head, whole, loss([(name, head)])))
        if progress is not None:
            progress(number, len(heads))
    return table


def task_over(run: Run, data: str | Sequence[str] | Sequence[Pair]) -> Any:
    """The run's task over one of its recipe's splits, or over given texts as the split ``given``."""
    if isinstance(data, str):
        corpus: Any = load_corpus(run.recipe).without_training()
        if data not in corpus.splits:
            raise OptionError(
                f"the recipe's data has no split {data!r} to ask about; there is: {', '.join(corpus.splits) or 'none'}"
            )
        return build_task(run.recipe, corpus, run.vocabularies)
    pairs = [one for one in data if isinstance(one, Pair)]
    translates = hasattr(run.task, "encode_pairs")
    if len(pairs) != (len(data) if translates else 0):
        wanted = "regard.data.corpus.Pair(source, target)" if translates else "strings"
        raise OptionError(f"{run.folder.path} ({run.recipe.task.kind}) is asked about {wanted}; give a list of them")
    if translates:
        return build_task(run.recipe, Corpus({GIVEN: tuple(pairs)}, Ledger()), run.vocabularies)
    texts = tuple(HeldText(f"text {number}", str(text)) for number, text in enumerate(data, start=1))
    return build_task(run.recipe, TextCorpus({GIVEN: texts}, Ledger()), run.vocabularies)  # type: ignore[arg-type]

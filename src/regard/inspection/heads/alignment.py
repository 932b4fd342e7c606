"""How well each head over the source aligns words, where gold alignments are known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regard.core.errors import OptionError
from regard.core.seams.anatomy import anatomy_of
from regard.core.seams.capabilities import Translates
from regard.core.taps import matching_attention
from regard.inspection.heads.importance import EXAMPLES
from regard.inspection.splits import task_over
from regard.runs.load import Run
from regard.tasks.metrics.alignment import head_error_rates
from regard.tasks.pairs.alignment import gold_words, links_by_head, word_weights


@dataclass(frozen=True)
class HeadAlignment:
    """The alignment error rate of one head (Och & Ney 2003), from 0 (all links right) to 1."""

    name: str
    head: int
    error_rate: float
    pairs: int

    @property
    def sentence(self) -> str:
        return (
            f"Linking each target word to the source word that head {self.head} of {self.name} reads most gives an "
            f"alignment error rate of {100 * self.error_rate:.1f} % over {self.pairs} pairs."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence}


def head_alignment(run: Run, split: str = "validation", *, pairs: int = EXAMPLES) -> list[HeadAlignment]:
    """For every head over the source, in the order of the model."""
    pattern = anatomy_of(run.model).source_attention
    if not pattern:
        raise OptionError(f"{type(run.model).__name__} has no attention over a source, so there is nothing to align")
    made = task_over(run, split)
    if not isinstance(made, Translates):
        raise OptionError(f"{run.folder.path} ({run.recipe.task.kind}) reads no source, so there is nothing to align")
    task = made.translation
    if split not in task.corpus.gold:
        raise OptionError(
            f"no gold alignments are known for the split {split!r}; there are for: "
            f"{', '.join(task.corpus.gold) or 'none'} (the small world has them)"
        )
    gold, chosen = task.corpus.gold[split][:pairs], task.corpus.splits[split][:pairs]
    found = word_weights(task, run.session(), chosen, gold_words(gold))
    names = list(matching_attention(run.model, pattern))
    rates = head_error_rates(links_by_head(found), gold)
    return [HeadAlignment(names[layer], head, rate, len(chosen)) for (layer, head), rate in rates.items()]

"""Two experiments that test whether attention explains the answers of a model.

First: does a head's weight on a token tell what happens to the answer when the token is taken away? Kendall's τ between
the two, row by row. Second: does the answer survive when a head reads with uniform or shuffled weights? Where it does,
its weights were not why the answer came out (Jain & Wallace 2019, sections 4.1 and 4.2). The reverse does not
hold either: a head whose weights matter has not been explained by them (Wiegreffe & Pinter 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.probe import Probe
from regard.core.seams.anatomy import anatomy_of
from regard.core.seams.task import Progress
from regard.core.taps import record
from regard.inspection.change import total_variation
from regard.inspection.editing import permuted, reweighted, uniform
from regard.inspection.heads.names import HeadAt, every_head, kind_of
from regard.inspection.probes import logits_of, probes
from regard.runs.load import Run

SHUFFLES = 5
FEWEST = 3  # tokens that a row must have to choose from: of two, any order is half right by chance


@dataclass(frozen=True)
class HeadEvidence:
    """One head. ``moved`` are total variations of the answers, ``kept`` the share of answers that stay the same.

    ``correlation`` is the mean of Kendall's τ over ``rows``, between −1 and 1; nan where no row could be compared.
    """

    name: str
    head: int
    correlation: float
    rows: int
    uniform_moved: float
    uniform_kept: float
    shuffled_moved: float
    shuffled_kept: float


@dataclass(frozen=True)
class NotExplanation:
    """The evidence by head, and what happens when all of them read uniformly at once.

    ``points`` are, for the head with the highest correlation, each weight and the effect of taking the token away.
    """

    heads: tuple[HeadEvidence, ...]
    all_uniform_moved: float
    all_uniform_kept: float
    points: tuple[tuple[float, float], ...]
    answers: int

    @property
    def best(self) -> HeadEvidence:
        """The head whose weights tell most about the effects."""
        return max(self.heads, key=lambda one: -2.0 if np.isnan(one.correlation) else one.correlation)

    @property
    def unmoved(self) -> int:
        """Heads that may read uniformly and every answer stays the same; the more texts, the fewer."""
        return sum(one.uniform_kept == 1.0 for one in self.heads)

    @property
    def sentence(self) -> str:
        best = self.best
        found = [one.correlation for one in self.heads if not np.isnan(one.correlation)]
        told = (
            f"Kendall's τ between weights and effects is {mean(found):.2f} on average over heads, at best "
            f"{best.correlation:.2f} (head {best.head} of {best.name})"
            if found
            else "no row was long enough to compare weights with effects"
        )
        kept = mean(one.uniform_kept for one in self.heads)
        return (
            f"Over {self.answers} answers {told}. With one head reading uniformly, {100 * kept:.1f} % of the answers "
            f"stay on average, and {self.unmoved} of {len(self.heads)} heads may do so without changing a single one; "
            f"with all of them uniform at once, {100 * self.all_uniform_kept:.1f} % stay. A weight shows where a head "
            "looked, not why the model answered as it did."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which knows no nan: a correlation that could not be taken is null."""
        plain = asdict(self)
        for one in plain["heads"]:
            one["correlation"] = None if np.isnan(one["correlation"]) else one["correlation"]
        return {**plain, "unmoved": self.unmoved, "sentence": self.sentence}


def not_explanation(
    run: Run, texts: Sequence[str | Probe], targets: Sequence[str] = (), *, pattern: str = "",
    progress: Progress | None = None,
) -> NotExplanation:  # fmt: skip
    """Both experiments over the heads that match; by default of a translator those over its source, of others all."""
    pattern = pattern or anatomy_of(run.model).source_attention or "*"
    heads = every_head(run.model, pattern)
    asked = probes(run, texts, targets)
    found = []
    for number, one in enumerate(asked, start=1):
        found.append(_one_text(run, one, pattern, heads))
        if progress is not None:
            progress(number, len(asked))
    evidence = tuple(_evidence(place, [text[place] for text, _ in found]) for place in heads)
    everywhere = [all_heads for _, all_heads in found]
    made = NotExplanation(
        evidence,
        all_uniform_moved=mean(moved for moved, _ in everywhere),
        all_uniform_kept=mean(kept for _, kept in everywhere),
        points=(),
        answers=sum(len(one.asked) for one in asked),
    )
    best = made.best
    points = tuple(point for text, _ in found for point in text[best.name, best.head].points)
    return NotExplanation(evidence, made.all_uniform_moved, made.all_uniform_kept, points, made.answers)


@dataclass(frozen=True)
class _Found:
    """One head on one text."""

    correlations: tuple[float, ...]
    points: tuple[tuple[float, float], ...]
    uniform: tuple[float, float]  # moved, kept
    shuffled: tuple[float, float]


def _one_text(
    run: Run, asked: Probe, pattern: str, heads: Sequence[HeadAt]
) -> tuple[dict[HeadAt, _Found], tuple[float, float]]:
    model: Any = run.model
    with torch.inference_mode(), record(model, pattern) as seen:
        before_TW = logits_of(model, asked)
    effects_TS = effects(model, asked, before_TW)
    weights = {name: attention.weights[0].cpu().double().numpy() for name, attention in seen.items()}
    rows = list(asked.asked)
    found = {}
    for name, head in heads:
        # Only where the columns are what can be taken away: the source, or the text itself.
        readable = kind_of(model, name) in ("cross", "text")
        pairs = list(correlations(weights[name][head], effects_TS, rows)) if readable else []
        shuffles = [_after(model, asked, before_TW, [(name, head)], permuted(seed)) for seed in range(SHUFFLES)]
        found[name, head] = _Found(
            tuple(tau for tau, _ in pairs),
            tuple(point for _, points in pairs for point in points),
            _after(model, asked, before_TW, [(name, head)], uniform),
            (median(moved for moved, _ in shuffles), median(kept for _, kept in shuffles)),
        )
    return found, _after(model, asked, before_TW, heads, uniform)


def effects(model: Any, asked: Probe, before_TW: Tensor) -> np.ndarray:
    """effects_TS: how far the answer at t moves when token s is taken away; a last token that is alone stays."""
    found = []
    for position in range(asked.removable):
        after_TW = logits_of(model, asked.without(position)) if asked.removable > 1 else before_TW
        found.append(total_variation(before_TW, after_TW).cpu().double().numpy())
    return np.stack(found, axis=1)


def correlations(weights_TS: np.ndarray, effects_TS: np.ndarray, rows: Sequence[int]) -> Any:
    """τ and the points, for every row that has enough tokens to choose from; what has no weight cannot be seen."""
    for row in rows:
        seen_S = weights_TS[row] > 0
        if seen_S.sum() >= FEWEST:
            weights, moved = weights_TS[row][seen_S], effects_TS[row][seen_S]
            tau = kendall(weights, moved)
            if not np.isnan(tau):
                yield tau, tuple(zip(weights.tolist(), moved.tolist()))


def kendall(one: np.ndarray, other: np.ndarray) -> float:
    """τ-b: how far two rankings agree, from −1 to 1, ties discounted; nan where one of them ranks nothing."""
    upper = np.triu_indices(len(one), 1)
    first, second = (np.sign(x[:, None] - x[None, :])[upper] for x in (one, other))
    ranked = np.sqrt(float((first != 0).sum()) * float((second != 0).sum()))
    return float((first * second).sum() / ranked) if ranked else float("nan")


def _after(
    model: Any, asked: Probe, before_TW: Tensor, heads: Sequence[HeadAt], change: Any
) -> tuple[float, float]:
    """How far the answers move with other weights, and which share of them stays."""
    with reweighted(model, heads, change):
        after_TW = logits_of(model, asked)
    rows = list(asked.asked)
    moved = total_variation(before_TW[rows], after_TW[rows]).mean()
    return float(moved), float((before_TW[rows].argmax(-1) == after_TW[rows].argmax(-1)).cpu().double().mean())


def _evidence(place: HeadAt, found: Sequence[_Found]) -> HeadEvidence:
    taus = [tau for one in found for tau in one.correlations]
    columns = zip(*((*one.uniform, *one.shuffled) for one in found))
    return HeadEvidence(*place, mean(taus) if taus else float("nan"), len(taus), *map(mean, columns))

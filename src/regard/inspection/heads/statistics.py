"""What kind of head each one is, over several texts: how sharp, how far, where to, by position or by content.

A row counts where its query has at least two keys to choose from. Distances are between places; in attention over the
source, the same place is the source token with the number of the token that is being chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.probe import Probe
from regard.core.seams.task import Progress
from regard.core.taps import Attention, record
from regard.inspection.heads.names import HeadAt, Kind, every_head, kind_of
from regard.inspection.probes import axes, probes
from regard.runs.load import Run

EVEN = 0.95  # of the entropy that a row could have at most
RESTING = 0.9  # a share of the weight on first token and separators from which on a head does nothing else
CLEAR = 0.4  # a share of the weight that names the head
POSITIONAL = 0.5  # a share of the variance from which on position says more than content
MEANS = ("entropy", "evenness", "distance", "first", "previous", "same", "next", "separator", "resting")


@dataclass(frozen=True)
class HeadStatistics:
    """Means over all rows of all texts. Shares are of the weight, ``by_…`` shares of the weights' variance.

    ``by_distance`` is what the distance s − t alone explains of the variance over all weights of all texts, and
    ``by_place`` what the key's place s alone does (adjusted R²): a head that always looks as far, or at the same place,
    has 1 there; one that looks for words, wherever they stand, has about 0 in both.
    """

    name: str
    head: int
    kind: Kind
    entropy: float  # bits
    evenness: float  # of the most that it could be; 1: every token read alike
    distance: float  # tokens, to either side
    first: float
    previous: float
    same: float
    next: float
    separator: float
    resting: float  # on the first token or a separator
    by_distance: float
    by_place: float
    rows: int

    @property
    def positional(self) -> bool:
        return max(self.by_distance, self.by_place) >= POSITIONAL

    @property
    def no_op(self) -> bool:
        """Whether it rests: nearly all weight where there is nothing to read (Clark et al. 2019, section 3.2)."""
        return self.resting >= RESTING

    @property
    def sentence(self) -> str:
        return f"Head {self.head} of {self.name} {self._doing}."

    @property
    def _doing(self) -> str:
        if not self.rows:
            return "never had two tokens to choose from in these texts"
        if self.no_op:
            return f"rests: {percent(self.resting)} of its weight lie on the first token or a separator"
        if self.evenness > EVEN:
            return f"spreads evenly over all it may see ({percent(self.evenness)} of the highest entropy)"
        named = {"before": self.previous, "after": self.next, "in the same place": self.same}
        best = max(named, key=named.__getitem__)
        if named[best] >= CLEAR:
            return f"reads the token {best}, with {percent(named[best])} of its weight"
        explained = percent(max(self.by_distance, self.by_place))
        if self.positional:
            what = "distance alone" if self.by_distance >= self.by_place else "the position in the text alone"
            return f"goes by position: {what} explains {explained} of where its weight lies"
        far = f"{self.distance:.1f} tokens away on average"
        return f"goes by content: position explains {explained} of where its weight lies, {far}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "positional": self.positional, "no_op": self.no_op, "sentence": self.sentence}


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def head_statistics(
    run: Run, texts: Sequence[str | Probe], targets: Sequence[str] = (), *, pattern: str = "*",
    progress: Progress | None = None,
) -> list[HeadStatistics]:  # fmt: skip
    """One for each head that matches, in the order of the model. Position and content need several texts to differ."""
    asked, model = probes(run, texts, targets), run.model.eval()
    found = HeadTable(model, asked, pattern)
    for number, one in enumerate(asked, start=1):
        with torch.inference_mode(), record(model, pattern) as seen:
            one.run(model)
        found.add(one, seen)
        if progress is not None:
            progress(number, len(asked))
    return found.statistics()


class HeadTable:
    """The statistics of all heads, added up probe by probe as their passes are recorded."""

    def __init__(self, model: nn.Module, asked: Sequence[Probe], pattern: str = "*") -> None:
        longest = max(max(len(one.axis.labels), len(one.source_axis.labels)) for one in asked)
        self.model = model
        self.sums = {place: HeadSums(longest) for place in every_head(model, pattern)}

    @torch.inference_mode()
    def add(self, asked: Probe, seen: Mapping[str, Attention]) -> None:
        """What never forms weights has no statistics."""
        for name, attention in seen.items():
            if not attention.mechanism.has_matrix:
                continue
            columns = axes(asked, kind_of(self.model, name))[1]
            separators_S = np.isin(np.arange(len(columns.labels)), columns.separators)
            for head, weights_TS in enumerate(attention.weights[0].cpu().double().numpy()):
                self.sums[name, head].add(weights_TS, separators_S)

    def statistics(self) -> list[HeadStatistics]:
        return [own.statistics(place, kind_of(self.model, place[0])) for place, own in self.sums.items()]


class HeadSums:
    """What the statistics of one head are made from, added up text by text."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.rows = 0
        self.totals: dict[str, float] = {}
        self.distances = np.zeros((2, 2 * longest + 1))  # how many weights, and their sum
        self.places = np.zeros((2, longest))
        self.squares = 0.0

    def add(self, weights_TS: np.ndarray, separators_S: np.ndarray) -> None:
        queries, keys = weights_TS.shape
        causal = queries == keys and not np.triu(weights_TS, 1).any()
        visible_TS = np.tril(np.ones((queries, keys), bool)) if causal else np.ones((queries, keys), bool)
        sums_T1 = weights_TS.sum(1, keepdims=True)
        kept_T = (visible_TS.sum(1) > 1) & (sums_T1[:, 0] > 0)
        away_TS = (np.arange(keys) - np.arange(queries)[:, None])[kept_T]
        visible_TS, weights_TS = visible_TS[kept_T], (weights_TS / np.maximum(sums_T1, 1e-30))[kept_T]
        if not len(weights_TS):
            return
        entropy_T = -(weights_TS * np.log2(np.maximum(weights_TS, 1e-30))).sum(1)
        found = {
            "entropy": entropy_T.sum(),
            "evenness": (entropy_T / np.log2(visible_TS.sum(1))).sum(),
            "distance": (weights_TS * np.abs(away_TS)).sum(),
            "first": weights_TS[:, 0].sum(),
            "previous": weights_TS[away_TS == -1].sum(),
            "same": weights_TS[away_TS == 0].sum(),
            "next": weights_TS[away_TS == 1].sum(),
            "separator": weights_TS[:, separators_S].sum(),
            "resting": weights_TS[:, separators_S | (np.arange(keys) == 0)].sum(),
        }
        self.rows += len(weights_TS)
        self.totals = {name: self.totals.get(name, 0.0) + float(value) for name, value in found.items()}
        place_TS = np.broadcast_to(np.arange(keys), weights_TS.shape)
        for held, groups_TS in ((self.distances, away_TS + self.longest), (self.places, place_TS)):
            held[0] += np.bincount(groups_TS[visible_TS], minlength=held.shape[1])
            held[1] += np.bincount(groups_TS[visible_TS], weights_TS[visible_TS], minlength=held.shape[1])
        self.squares += float((weights_TS[visible_TS] ** 2).sum())

    def statistics(self, place: HeadAt, kind: Kind) -> HeadStatistics:
        means: dict[str, Any] = {name: self.totals.get(name, 0.0) / max(self.rows, 1) for name in MEANS}
        return HeadStatistics(
            *place,
            kind,
            **means,
            by_distance=explained_variance(self.distances, self.squares),
            by_place=explained_variance(self.places, self.squares),
            rows=self.rows,
        )


def explained_variance(groups_2G: np.ndarray, squares: float) -> float:
    """Adjusted R² of the group means, from the counts and sums by group and the sum of all squares."""
    counts, sums = groups_2G[:, groups_2G[0] > 0]
    number, groups = counts.sum(), len(counts)
    if number <= groups:
        return 0.0
    total = squares - sums.sum() ** 2 / number
    within = squares - float((sums**2 / counts).sum())
    if total <= 1e-12 * max(squares, 1e-30):
        return 0.0
    return float(min(max(1 - within / (number - groups) * (number - 1) / total, 0.0), 1.0))

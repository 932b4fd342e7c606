"""The results of a comparison, put together: one row a recipe, what they have in common, and when each got how far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.core.metrics import Metric

Result = Mapping[str, Any]
LEVELS = tuple(level / 100 for level in range(30, 100, 5))  # of the accuracy on validation data


@dataclass(frozen=True)
class Row:
    """One recipe, over its seeds: every figure is a mean; with one seed the scores keep their bootstrap interval."""

    name: str
    description: str
    seeds: tuple[int, ...]
    results: tuple[Result, ...]
    metrics: tuple[Metric, ...]  # by which the task's runs are compared
    accuracy: str = ""  # the rate in its learning curve

    def mean(self, *path: str) -> float | None:
        """The mean of a figure over the seeds, None where some run has none."""
        return mean_of([_at(result, path) for result in self.results])

    def interval(self, score: str) -> tuple[float, float] | None:
        """The bootstrap interval of a single run; the smallest and largest of several."""
        if self.mean("scores", score) is None:
            return None
        if len(self.results) > 1:
            found = [result["scores"][score] for result in self.results]
            return min(found), max(found)
        scores = self.results[0]["scores"]
        return (scores[f"{score}_low"], scores[f"{score}_high"]) if f"{score}_low" in scores else None

    def time_to(self, level: float) -> float | None:
        """Training seconds until a validation first saw this accuracy, the mean over the seeds."""
        return mean_of(
            [
                next((one["seconds"] for one in result["curve"] if one.get(self.accuracy, -1.0) >= level), None)
                for result in self.results
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        scores = [metric.name for metric in self.metrics]
        if self.accuracy not in scores and self.mean("scores", self.accuracy) is not None:
            scores.append(self.accuracy)
        return {
            "name": self.name,
            "description": self.description,
            "seeds": list(self.seeds),
            **{score: self.mean("scores", score) for score in scores},
            **{f"{metric.name}_interval": self.interval(metric.name) for metric in self.metrics},
            "parameters": self.results[0]["parameters"],
            "steps": self.results[0]["training"]["steps"],
            "train_seconds": self.mean("training", "seconds"),
            "tokens_per_second": self.mean("training", "tokens_per_second"),
            "examples_per_second": self.mean("examples_per_second"),
            "validation_loss": self.mean("training", "validation_loss"),
            "time_to": {f"{level:.2f}": self.time_to(level) for level in LEVELS},
            "curve": [list(result["curve"]) for result in self.results],
            "by_length": [list(result["by_length"]) for result in self.results],
        }


@dataclass(frozen=True)
class Report:
    """All rows in the order they were asked for, and the words around them."""

    title: str
    rows: tuple[Row, ...]
    facts: Mapping[str, str]
    measures: Mapping[str, Any]
    unit: str = "tokens"  # of which training reads so many a second

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.rows[0].metrics

    @property
    def accuracy(self) -> str:
        """In words."""
        return self.rows[0].accuracy.replace("_", " ")

    @property
    def levels(self) -> list[float]:
        """The highest accuracies that at least one row has reached."""
        return [level for level in LEVELS if any(row.time_to(level) is not None for row in self.rows)][-6:]

    @property
    def signature(self) -> str:
        return str(self.rows[0].results[0]["scores"].get("bleu_signature", ""))

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "signature": self.signature,
            "metrics": [asdict(metric) for metric in self.metrics],
            "unit": self.unit,
            "rows": [row.as_dict() for row in self.rows],
            "measures": dict(self.measures),
            "examples": examples(self.rows),
        }


def _at(result: Result, path: Sequence[str]) -> float | None:
    value: Any = result
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mean_of(figures: Sequence[float | None]) -> float | None:
    """None where one of them is."""
    there = [figure for figure in figures if figure is not None]
    return statistics.fmean(there) if there and len(there) == len(figures) else None


def rows_of(
    results: Sequence[Result], descriptions: Mapping[str, str], metrics: tuple[Metric, ...], accuracy: str
) -> tuple[Row, ...]:
    """Results by recipe, in the order in which recipes first appear."""
    names = list(dict.fromkeys(str(result["name"]) for result in results))
    rows = []
    for name in names:
        own = tuple(result for result in results if result["name"] == name)
        seeds = tuple(result["seed"] for result in own)
        rows.append(Row(name, descriptions.get(name, ""), seeds, own, metrics, accuracy))
    return tuple(rows)


def examples(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same inputs through every model, the first seed's; none where a task has no single right answer."""
    first = rows[0].results[0]["examples"]
    return [
        {
            "source": example["source"],
            "reference": example["reference"],
            "answers": {row.name: row.results[0]["examples"][place]["answer"] for row in rows},
        }
        for place, example in enumerate(first)
    ]


def findings(rows: Sequence[Row]) -> list[str]:
    """What the figures say, in sentences; nothing that they do not say."""
    found = ranking(rows)
    for row in rows:
        lengths = row.results[0]["by_length"]
        if len(lengths) > 1 and lengths[0]["bleu"] > 0:
            short, long = lengths[0], lengths[-1]
            found.append(
                f"{row.name}: {short['bleu']:.1f} BLEU on sentences of {short['words']:.0f} words on average, "
                f"{long['bleu']:.1f} on those of {long['words']:.0f}."
            )
    return found


def ranking(rows: Sequence[Row]) -> list[str]:
    """Which recipe is best and which worst by the first of the task's figures that all of them have."""
    for metric in rows[0].metrics:
        means = [row.mean("scores", metric.name) for row in rows]
        scored = [(mean, row.name) for mean, row in zip(means, rows, strict=True) if mean is not None]
        if len(scored) == len(rows):
            ordered = sorted(scored, key=lambda one: one[0], reverse=metric.higher_is_better)
            best, worst = ordered[0], ordered[-1]
            if best[0] == worst[0]:
                return []
            return [
                f"By {metric.title} {best[1]} is best, {metric.formatted(best[0])}; "
                f"{worst[1]} comes last, {metric.formatted(worst[0])}."
            ]
    return []

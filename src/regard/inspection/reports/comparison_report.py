"""The results of a comparison, put together: one row a recipe, what they have in common, and when each got how far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Result = Mapping[str, Any]
LEVELS = tuple(level / 100 for level in range(30, 100, 5))  # token accuracies on validation data
INTERVALS = ("bleu", "chrf", "exact_match")


@dataclass(frozen=True)
class Row:
    """One recipe, over its seeds: every figure is a mean; with one seed the scores keep their bootstrap interval."""

    name: str
    description: str
    seeds: tuple[int, ...]
    results: tuple[Result, ...]

    def mean(self, *path: str) -> float | None:
        """The mean of a figure over the seeds, None where some run has none."""
        found = [_at(result, path) for result in self.results]
        return None if None in found else statistics.fmean(found)  # type: ignore[arg-type]

    def interval(self, score: str) -> tuple[float, float] | None:
        """The bootstrap interval of a single run; the smallest and largest of several."""
        if len(self.results) > 1:
            found = [result["scores"][score] for result in self.results]
            return min(found), max(found)
        scores = self.results[0]["scores"]
        return (scores[f"{score}_low"], scores[f"{score}_high"]) if f"{score}_low" in scores else None

    def time_to(self, level: float) -> float | None:
        """Training seconds until a validation first saw this token accuracy, the mean over the seeds."""
        times = [
            next((one["seconds"] for one in result["curve"] if one["token_accuracy"] >= level), None)
            for result in self.results
        ]
        return None if None in times else statistics.fmean(times)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, Any]:
        scores = ("bleu", "chrf", "exact_match", "token_accuracy", "alignment_error_rate")
        return {
            "name": self.name,
            "description": self.description,
            "seeds": list(self.seeds),
            **{score: self.mean("scores", score) for score in scores},
            **{f"{score}_interval": self.interval(score) for score in INTERVALS},
            "parameters": self.results[0]["parameters"],
            "steps": self.results[0]["training"]["steps"],
            "train_seconds": self.mean("training", "seconds"),
            "tokens_per_second": self.mean("training", "tokens_per_second"),
            "sentences_per_second": self.mean("sentences_per_second"),
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

    @property
    def levels(self) -> list[float]:
        """The highest token accuracies that at least one row has reached."""
        return [level for level in LEVELS if any(row.time_to(level) is not None for row in self.rows)][-6:]

    @property
    def signature(self) -> str:
        return str(self.rows[0].results[0]["scores"].get("bleu_signature", ""))

    def as_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "signature": self.signature,
            "rows": [row.as_dict() for row in self.rows],
            "measures": dict(self.measures),
            "examples": examples(self.rows),
        }


def _at(result: Result, path: Sequence[str]) -> float | None:
    value: Any = result
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def rows_of(results: Sequence[Result], descriptions: Mapping[str, str]) -> tuple[Row, ...]:
    """Results by recipe, in the order in which recipes first appear."""
    names = list(dict.fromkeys(str(result["name"]) for result in results))
    rows = []
    for name in names:
        own = tuple(result for result in results if result["name"] == name)
        rows.append(Row(name, descriptions.get(name, ""), tuple(result["seed"] for result in own), own))
    return tuple(rows)


def examples(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The same sentences through every model, the first seed's."""
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
    found = []
    scored = [(row.mean("scores", "bleu") or 0.0, row) for row in rows]
    best, worst = max(scored, key=lambda one: one[0]), min(scored, key=lambda one: one[0])
    if best[1] is not worst[1]:
        found.append(
            f"{best[1].name} scores highest, {best[0]:.1f} BLEU; {worst[1].name} lowest, {worst[0]:.1f}."
        )
    for row in rows:
        lengths = row.results[0]["by_length"]
        if len(lengths) > 1 and lengths[0]["bleu"] > 0:
            short, long = lengths[0], lengths[-1]
            found.append(
                f"{row.name}: {short['bleu']:.1f} BLEU on sentences of {short['words']:.0f} words on average, "
                f"{long['bleu']:.1f} on those of {long['words']:.0f}."
            )
    return found

"""Figures of what heads do: weights between tokens, a number for every head, heads compared, answers by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from regard.core.errors import OptionError
from regard.inspection.figures.figure import MARKS, PLAIN, RISES, Figure, fitting, matrix, printable
from regard.inspection.flow.depths import Depths
from regard.inspection.flow.stream import Stream
from regard.inspection.heads.alignment import HeadAlignment
from regard.inspection.heads.importance import HeadImportance
from regard.inspection.heads.names import HeadAt
from regard.inspection.heads.not_explanation import NotExplanation
from regard.inspection.heads.reading import HeadReading
from regard.inspection.heads.rollout import Rollout
from regard.inspection.heads.similarity import HeadSimilarity
from regard.inspection.heads.statistics import MEANS, HeadStatistics

SHARES = ("evenness", "first", "previous", "same", "next", "separator", "resting", "by_distance", "by_place")
"""Statistics between 0 and 1."""


def weights_figure(one: HeadReading) -> Figure:
    """One head: who looks in rows, what is looked at in columns."""

    def paint(canvas: Any) -> None:
        axes = canvas.subplots()
        matrix(axes, one.weights_TS, one.labels, one.columns, scale="weight", low=0.0, high=1.0)
        axes.set_xlabel("what is looked at")
        axes.set_ylabel("the token to come" if one.kind == "cross" else "who looks")

    strongest = [
        f"{label} at {one.columns[max(range(len(row)), key=row.__getitem__)]}"
        for label, row in zip(one.labels, one.weights_TS)
    ]
    size = fitting(len(one.labels), len(one.columns))
    title = f"Head {one.head} of {one.name}"
    return Figure(title, f"{title} looks most from {', '.join(strongest)}.", one.as_dict(), paint, size)


def grid_figure(
    values: Mapping[HeadAt, float], title: str, words: str, scale: str, limits: tuple[float, float], colours: str = ""
) -> Figure:
    """A number for every head: attentions in rows, heads in columns."""
    names = list(dict.fromkeys(name for name, _ in values))
    width = max((head for _, head in values), default=0) + 1
    missing = float("nan")
    rows = [[values.get((name, head), missing) for head in range(width)] for name in names]

    def paint(canvas: Any) -> None:
        written = [[f"{value:.3g}" if value == value else "" for value in row] for row in rows]
        heads = [str(head) for head in range(width)]
        axes = canvas.subplots()
        low, high = limits
        how = {"colours": colours} if colours else {}
        matrix(axes, rows, names, heads, scale=scale, low=low, high=high, written=written, **how)
        axes.set_xlabel("head")

    data = {"values": [{"name": name, "head": head, "value": value} for (name, head), value in values.items()]}
    wide, high = fitting(len(names), width)
    return Figure(title, words, data, paint, (wide + 1.6, high))


def statistics_figure(table: Sequence[HeadStatistics], what: str = "entropy") -> Figure:
    """One of the statistics over all heads."""
    if what not in (known := (*MEANS, "by_distance", "by_place")):
        raise OptionError(f"no statistic is called {what!r}; available: {', '.join(known)}")
    values = {(one.name, one.head): float(asdict(one)[what]) for one in table}
    high = 1.0 if what in SHARES else max(values.values(), default=1.0) or 1.0
    words, called = " ".join(one.sentence for one in table), what.replace("_", " ")
    scale = {"entropy": "entropy (bits)", "distance": "distance (tokens)"}.get(what, called)
    return grid_figure(values, f"Heads by {called}", words, scale, (0.0, high))


def importance_figure(table: Sequence[HeadImportance]) -> Figure:
    """By how much the loss rises without each head."""
    values = {(one.name, one.head): one.rise for one in table}
    most = max((abs(value) for value in values.values()), default=1.0) or 1.0
    words = " ".join(one.sentence for one in table)
    return grid_figure(values, "What each head is worth", words, "rise of the loss without it", (-most, most), RISES)


def alignment_figure(table: Sequence[HeadAlignment]) -> Figure:
    """The alignment error rate of each head."""
    values = {(one.name, one.head): one.error_rate for one in table}
    words = " ".join(one.sentence for one in table)
    return grid_figure(values, "How well each head aligns", words, "alignment error rate", (0.0, 1.0))


def similarity_figure(one: HeadSimilarity) -> Figure:
    """Heads against heads."""
    labels = [f"{name} {head}" for name, head in one.heads]

    def paint(canvas: Any) -> None:
        axes = canvas.subplots()
        matrix(axes, one.divergence, labels, labels, scale="Jensen–Shannon divergence (bits)", low=0.0, high=1.0)

    wide, high = fitting(len(labels), len(labels))
    return Figure(f"Which heads read alike ({one.kind})", one.sentence, one.as_dict(), paint, (wide + 1.6, high + 1.2))


def rollout_figure(one: Rollout, layer: int = -1) -> Figure:
    """Of which tokens each state is made after a layer."""

    def paint(canvas: Any) -> None:
        axes = canvas.subplots()
        matrix(axes, one.weights_LTS[layer], one.tokens, one.tokens, scale="share", low=0.0, high=1.0)
        axes.set_xlabel("input token")
        axes.set_ylabel("state")

    words = " ".join(one.sentence(position) for position in range(len(one.tokens)))
    size = fitting(len(one.tokens), len(one.tokens))
    return Figure(f"Attention rollout up to {one.names[layer]}", words, one.as_dict(), paint, size)


def depths_figure(one: Depths) -> Figure:
    """The best token at every depth, coloured by its probability; the last depth on top."""
    names = [*one.names][::-1]

    def paint(canvas: Any) -> None:
        axes = canvas.subplots()
        chances, words = list(one.probability[::-1]), list(one.best[::-1])
        matrix(axes, chances, names, one.tokens, scale="probability", low=0.0, high=1.0, written=words)
        axes.set_xlabel("token read")

    wide, high = fitting(len(names), 2 * len(one.tokens))
    told = " ".join(one.sentence(position) for position in range(len(one.tokens)))
    return Figure("The answer at every depth", told, one.as_dict(), paint, (wide + 1.0, high))


def stream_figure(one: Stream) -> Figure:
    """The length of the states after each layer, by position; the layers of each text in a plot of their own."""
    texts = list(dict.fromkeys(layer.tokens for layer in one.layers))
    if not texts:
        raise OptionError("this model has no layers whose states follow one another: there is no stream to draw")

    def paint(canvas: Any) -> None:
        for axes, tokens in zip(canvas.subplots(1, len(texts), squeeze=False)[0], texts):
            for number, layer in enumerate(layer for layer in one.layers if layer.tokens == tokens):
                look = {"color": MARKS[number % len(MARKS)], "linestyle": ("-", "--", ":")[number // len(MARKS) % 3]}
                axes.plot(range(len(tokens)), layer.norms, marker="o", markersize=3, label=layer.name, **look)
            labels = [printable(token) for token in tokens]
            axes.set_xticks(range(len(tokens)), labels=labels, fontsize=8, rotation=60, ha="right", **PLAIN)
            axes.set_ylabel("length of the state")
            axes.legend(fontsize=7)

    words = " ".join(f"{layer.name}: {layer.mean:.3g} on average." for layer in one.layers)
    return Figure("The residual stream", words, one.as_dict(), paint, (1.0 + 5.0 * len(texts), 4.0))


def evidence_figure(one: NotExplanation) -> Figure:
    """Left: weights against what taking the token away does. Right: answers that survive other weights, by head."""

    def paint(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        left.scatter([x for x, _ in one.points], [y for _, y in one.points], s=8, color=MARKS[0], alpha=0.6)
        left.set_xlabel(f"weight (head {one.best.head} of {one.best.name})", fontsize=8, **PLAIN)
        left.set_ylabel("the answer moves without the token", fontsize=8)
        places = range(len(one.heads))
        right.barh([p - 0.2 for p in places], [h.uniform_kept for h in one.heads], 0.4, label="uniform", color=MARKS[0])
        right.barh(
            [p + 0.2 for p in places], [h.shuffled_kept for h in one.heads], 0.4, label="shuffled", color=MARKS[1],
            hatch="//", edgecolor="white",
        )  # fmt: skip
        right.set_yticks(places, labels=[f"{h.name} {h.head}" for h in one.heads], fontsize=7, **PLAIN)
        right.set_xlabel("share of answers that stay", fontsize=8)
        right.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    size = 9.0, max(3.2, 1.5 + 0.3 * len(one.heads))
    return Figure("Weights and what they do not explain", one.sentence, one.as_dict(), paint, size)

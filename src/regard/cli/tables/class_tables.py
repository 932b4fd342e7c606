"""Tables of ``regard evaluate`` for classes: figures by class and by group, the confusion matrix, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from regard.cli.console import console, escape_markup, say

MOST_CLASSES = 12
"""With more classes than this, only the most frequent ones and the pairs most often confused are shown."""
MOST_PAIRS = 10
ERRORS = 3
LONGEST = 100
"""Characters of a text that are shown."""


def show_classes(scores: Mapping[str, Any]) -> None:
    """What belongs to the first split; a score that is not there is not shown."""
    if "classes" in scores:
        console.print()
        console.print(_by_class(scores["classes"]))
        if len(scores["classes"]) > MOST_CLASSES:
            say(f"the {MOST_CLASSES} most frequent of {len(scores['classes']):,} classes; --json has all", style="dim")
    if "groups" in scores:
        console.print()
        console.print(_by_group(scores["groups"]))
    if "confusion" in scores:
        _show_confusion(scores["labels"], scores["confusion"])
    if scores.get("texts_cut"):
        say(f"{scores['texts_cut']:,} texts were longer than the window and were cut", style="dim")
    errors = scores.get("errors", ())
    if errors:
        say("\nErrors, most confident first (more with --json):", style="dim")
        for one in errors[:ERRORS]:
            say(f"  {escape_markup(mistake(one))}")


def mistake(error: Mapping[str, Any]) -> str:
    """What it was, what it was taken for, how surely, and where it stood."""
    if "question" in error:
        expected = " or ".join(map(repr, error["answers"])) or "no answer"
        said, text = f"{expected}, answered {error['predicted']!r}", f"{error['question']} — {error['context']}"
    elif "word" in error:
        said, text = f"{error['word']} is {error['tag']}, predicted as {error['predicted']}", error["text"]
    else:
        said, text = f"{error['label']}, predicted as {error['predicted']}", error["text"]
    line = " ".join(str(text).split())
    short = line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
    return f"{said} ({error['probability']:.2f}): {short}"


def table_of(*columns: str) -> Table:
    """The first column from the left, the others, which are numbers, from the right."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(escape_markup(column), justify="left" if place == 0 else "right")
    return table


def _by_class(classes: Mapping[str, Any]) -> Table:
    """All of them in their order, or the most frequent ones."""
    shown = list(classes)
    if len(shown) > MOST_CLASSES:
        shown = sorted(shown, key=lambda label: -classes[label]["examples"])[:MOST_CLASSES]
    table = table_of("class", "precision", "recall", "F1", "examples")
    for label in shown:
        own = classes[label]
        figures = (f"{own[name]:.4f}" for name in ("precision", "recall", "f1"))
        table.add_row(escape_markup(label), *figures, f"{own['examples']:,}")
    return table


def _by_group(groups: Mapping[str, Any]) -> Table:
    table = table_of("group", "accuracy", "macro F1", "examples")
    for group, own in groups.items():
        table.add_row(escape_markup(group), f"{own['accuracy']:.4f}", f"{own['macro_f1']:.4f}", f"{own['examples']:,}")
    return table


def _show_confusion(labels: list[str], counts: list[list[int]]) -> None:
    """The whole matrix of a few classes, of many those pairs that are confused most often."""
    if len(labels) <= MOST_CLASSES:
        console.print()
        console.print(_confusion(labels, counts))
        return
    pairs = [
        (count, labels[row], labels[column])
        for row, own in enumerate(counts)
        for column, count in enumerate(own)
        if count and row != column
    ]
    if pairs:
        table = table_of("true", "predicted", "times")
        for count, label, other in sorted(pairs, key=lambda pair: -pair[0])[:MOST_PAIRS]:
            table.add_row(escape_markup(label), escape_markup(other), f"{count:,}")
        console.print()
        console.print(table)


def _confusion(labels: list[str], counts: list[list[int]]) -> Table:
    table = table_of("true ↓ predicted →", *labels)
    for place, (label, row) in enumerate(zip(labels, counts, strict=True)):
        cells = (f"[bold]{count:,}[/bold]" if other == place else f"{count:,}" for other, count in enumerate(row))
        table.add_row(escape_markup(label), *cells)
    return table

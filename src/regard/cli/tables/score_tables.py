"""Tables of ``regard evaluate``: the scores of each split with their intervals, and simple methods beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.cli.console import console, escape_markup, say
from regard.cli.tables.class_tables import show_classes, table_of

OF_TEXT = ("loss", "perplexity", "bits_per_character", "masked_perplexity", "pseudo_perplexity")
SHOWN = (
    "accuracy", "macro_f1", "entity_f1", "entity_precision", "entity_recall",
    "always_the_most_frequent", "calibration_error", "brier", "masked_accuracy", "next_accuracy",
    "bracket_f1", "bracket_precision", "bracket_recall", "unlabelled_f1", "tag_accuracy", "bleu",
    "chrf", "exact_match", "f1", "no_answer_accuracy", "token_accuracy", "word_error_rate", "character_error_rate",
    "alignment_error_rate", "repaired", "retrieval_accuracy", "mean_reciprocal_rank",
)  # fmt: skip
OF_WHOLE_TEXTS = ("chrf", "bleu")
BESIDE = 3
"""Figures that a table of simple methods has room for."""
LISTED = 10
"""Lines that are named before they are only counted."""


def show_scores(scores: Mapping[str, Any]) -> None:
    """A table of the figures with their intervals, simple methods and classes; signatures and notes below."""
    splits = ["", *(f"{split}_" for split in scores.get("splits", ())[1:])]
    table = table_of("score", *(split.rstrip("_") or str(scores.get("split", "given")) for split in splits))
    for name in order_of(scores):
        if any(f"{split}{name}" in scores for split in splits):
            table.add_row(name.replace("_", " "), *(_with_interval(scores, f"{split}{name}") for split in splits))
    console.print(table)
    for split in splits:
        show_yardsticks(scores, split)
    show_classes(scores)
    show_notes(scores)


def order_of(scores: Mapping[str, Any]) -> list[str]:
    """The figures that fit the data come first; where BLEU does not, it comes after those that do."""
    leading = [str(name) for name in scores.get("leading", ())]
    names = [*leading, *(OF_TEXT if {"perplexity", "masked_perplexity"} & scores.keys() else ()), *SHOWN]
    if "bleu" not in leading and "leading" in scores:
        names = [name for name in names if name not in OF_WHOLE_TEXTS] + [*OF_WHOLE_TEXTS]
    if "yardsticks" in scores:  # among them is the most frequent class of the training split
        names = [name for name in names if name != "always_the_most_frequent"]
    return list(dict.fromkeys(names))


def show_yardsticks(scores: Mapping[str, Any], split: str) -> None:
    """The figures that simple methods have, beside the model's; and whether it is better than they are."""
    held: Mapping[str, Mapping[str, Any]] = scores.get(f"{split}yardsticks", {})
    columns = [name for name in order_of(scores) if any(name in own for own in held.values())][:BESIDE]
    if not columns:
        return
    title = f"on {split.rstrip('_')}" if split else "simple methods"
    table = table_of(title, *(name.replace("_", " ") for name in columns), "fitted on")
    table.add_row("[bold]this run[/bold]", *(_figure(scores, f"{split}{name}", name) for name in columns), "")
    for method, own in held.items():
        fitted = f"[dim]{escape_markup(own['fitted_on'])}[/dim]"
        table.add_row(escape_markup(method), *(_figure(own, name, name) for name in columns), fitted)
    console.print()
    console.print(table)
    if scores.get(f"{split}verdict"):
        say(f"[yellow]{escape_markup(scores[f'{split}verdict'])}[/yellow]")


def show_notes(scores: Mapping[str, Any]) -> None:
    """What belongs to the scores in words."""
    if "engine" in scores:
        say(f"answers by {escape_markup(scores['engine'])}; scores.json is left as it was", style="dim")
    if "bleu_signature" in scores:
        say(f"BLEU {escape_markup(scores['bleu_signature'])}", style="dim")
    for reason, lines in _by_reason(scores.get("skipped", ())).items():
        more = f" and {len(lines) - LISTED:,} others" if len(lines) > LISTED else ""
        number = "1 line was" if len(lines) == 1 else f"{len(lines):,} lines were"
        say(f"{number} left out ({escape_markup(reason)}): {', '.join(lines[:LISTED])}{more}", style="dim")
    if "without_yardsticks" in scores:
        say(f"no simple methods to compare with: {escape_markup(scores['without_yardsticks'])}", style="dim")
    if "not_kept" in scores:
        say(f"[yellow]note:[/yellow] {escape_markup(scores['not_kept'])}")
    if "against" in scores:
        say(escape_markup(scores["against"]["sentence"]))


def _by_reason(skipped: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in skipped:
        found.setdefault(one["reason"], []).append(str(one["line"]))
    return found


def _figure(held: Mapping[str, Any], key: str, name: str) -> str:
    """A number with as many digits as figures of this name have."""
    if key not in held:
        return "–"
    return f"{held[key]:.{2 if name in OF_WHOLE_TEXTS else 4}f}"


def _with_interval(scores: Mapping[str, Any], key: str) -> str:
    name = "bleu" if key.endswith(OF_WHOLE_TEXTS) else key
    text = _figure(scores, key, name)
    if f"{key}_low" in scores:
        low, high = (_figure(scores, f"{key}_{end}", name) for end in ("low", "high"))
        text += f" [dim]({low}–{high})[/dim]"
    return text

"""Writes the page of a demonstration: scores, alignments, learning curve, in one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.inspection.figures.alignments import (
    FAINTEST,
    AlignedPair,
    alignment_text,
    drawn,
    escaped,
    heat_map,
    joined,
    links_figure,
    three_digits,
)
from regard.inspection.figures.curves import curve_figure, finite
from regard.inspection.figures.page_style import SCRIPT, STYLE
from regard.inspection.figures.standalone import save_link, standalone, with_save_links

__all__ = ["AlignedPair", "DemoReport", "alignment_text", "demo_page"]

SCORE_LABELS = {
    "compositional_exact_match": "Exact match on new combinations",
    "bleu": "BLEU",
    "chrf": "chrF",
}
OF_A_HUNDRED = ("bleu", "chrf")
OF_ONE = ("match", "accuracy", "rate", "precision", "recall", "f1")  # a score's last word


@dataclass(frozen=True)
class DemoReport:
    """What a demonstration has to show: rates are fractions of 1, BLEU and chrF of 100; curves are (step, loss)."""

    title: str
    pairs: Sequence[AlignedPair]
    scores: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    curve: Sequence[tuple[int, float]] = ()
    validation_curve: Sequence[tuple[int, float]] = ()


def demo_page(report: DemoReport) -> str:
    """The whole page, complete in itself."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<header>\n<h1>{escaped(report.title)}</h1>\n<p class="lead">{lead(report)}</p>\n</header>\n'
        f"{scores_section(report.scores)}{pairs_section(report.pairs)}{curve_section(report)}{facts_section(report.facts)}"
        f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def lead(report: DemoReport) -> str:
    if not report.pairs:
        return "What a small model of our own learned, and how."
    return "Every word of a translation, joined to the source words that the model was looking at when it chose it."


def words_of(name: str) -> str:
    """A key as a label: `token_accuracy` becomes Token accuracy."""
    plain = name.replace("_", " ")
    return plain[:1].upper() + plain[1:]


def score_text(name: str, value: float) -> str:
    """A rate in per cent, a score out of a hundred with one decimal, anything else with three digits."""
    if name.startswith(OF_A_HUNDRED):
        return f"{value:.1f}"
    if name.rpartition("_")[2] in OF_ONE:
        return f"{100 * value:.1f}\u202f%"
    return three_digits(value)


def definitions(name: str, rows: Sequence[tuple[str, str]]) -> str:
    inside = "".join(f"<div><dt>{escaped(label)}</dt><dd>{escaped(value)}</dd></div>\n" for label, value in rows)
    return f'<dl class="{name}">\n{inside}</dl>\n'


def scores_section(scores: Mapping[str, float]) -> str:
    if not scores:
        return ""
    rows = [(SCORE_LABELS.get(name, words_of(name)), score_text(name, value)) for name, value in scores.items()]
    return f'<section aria-label="Scores">\n{definitions("scores", rows)}</section>\n'


def pairs_section(pairs: Sequence[AlignedPair]) -> str:
    if not pairs:
        return ""
    shades = "".join(f'<i style="opacity:{shade / 5:g}"></i>' for shade in range(1, 6))
    return (
        "<section>\n<h2>Where the model looks</h2>\n"
        '<p class="quiet">The thicker a line and the fuller a square '
        f'<span class="whole">(0<span class="scale">{shades}</span>1)</span>, '
        f"the greater the attention weight; lines below {FAINTEST:g} are left out. "
        "Point at a word, or reach it with the tab key, to see its numbers.</p>\n"
        f"{''.join(map(pair_article, pairs))}</section>\n"
    )


def reference_note(pair: AlignedPair) -> str:
    """The reference, or that it says the same: spaces around punctuation are not a difference."""
    if not pair.reference:
        return ""
    same = "".join(pair.reference.split()) == "".join("".join(pair.target_words).split())
    note = "As in the reference." if same else f'Reference: <span dir="auto">{escaped(pair.reference)}</span>'
    return f'<p class="quiet">{note}</p>\n'


def pair_article(pair: AlignedPair) -> str:
    """One sentence: both texts, the lines, the heat map."""
    weights = "[" + ",".join("[" + ",".join(f"{drawn(w):.4f}" for w in row) + "]" for row in pair.weights_TS) + "]"
    words = joined(pair.source_words)
    drawings = {f"links of {words}": links_figure(pair), f"weights of {words}": heat_map(pair)}
    figures = "".join(
        f'<figure><div class="box">{drawing}</div>{save_link(standalone(drawing), name)}</figure>\n'
        for name, drawing in drawings.items()
    )
    return (
        f'<article class="pair" data-weights="{weights}">\n<h3 dir="auto">{escaped(joined(pair.source_words))}</h3>\n'
        f'<p class="translation" dir="auto">{escaped(joined(pair.target_words))}</p>\n{reference_note(pair)}'
        f'<div class="figures">\n{figures}</div>\n</article>\n'
    )


def curve_section(report: DemoReport) -> str:
    drawing = with_save_links(curve_figure(report.curve, report.validation_curve), "how it learned")
    if not drawing:
        return ""
    lost = len(report.curve) + len(report.validation_curve)
    lost -= len(finite(report.curve)) + len(finite(report.validation_curve))
    note = f" Losses that are not finite numbers are left out: {lost}." if lost else ""
    return (
        f'<section>\n<h2>How it learned</h2>\n<figure>{drawing}\n<figcaption><span class="key">training</span>'
        f'<span class="key second">validation</span>{note}</figcaption></figure>\n</section>\n'
    )


def facts_section(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    rows = [(words_of(name), value) for name, value in facts.items()]
    return f"<section>\n<h2>The run</h2>\n{definitions('facts', rows)}</section>\n"

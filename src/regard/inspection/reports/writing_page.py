"""Writes the page of a language model: learning curve, samples, what context is worth, what the heads attend to."""

from __future__ import annotations

from collections.abc import Sequence

from regard.inspection.figures.alignments import escaped
from regard.inspection.figures.curves import curve_figure
from regard.inspection.figures.figure import printable
from regard.inspection.figures.lines import Series, line_figure
from regard.inspection.figures.page_style import STYLE
from regard.inspection.figures.pixels import picture
from regard.inspection.figures.standalone import matrix_svg, save_link, standalone, with_save_links
from regard.inspection.reports.demo_page import facts_section, scores_section
from regard.inspection.reports.writing import Analysis, HeadFacts, layers
from regard.runs.load import Run

WRITING_STYLE = """
.samples { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 2rem; }
.samples h3 { font: inherit; font-size: .875rem; color: var(--quiet); margin-bottom: .4rem; }
.samples pre { margin: 0; font: .8125rem/1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.layer { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1.5rem;
  margin: .75rem 0 2rem; }
.layer figcaption { margin-top: .35rem; }
.layer strong { display: block; color: var(--ink); font-weight: 500; }
.pixels { display: block; width: 100%; aspect-ratio: 1; image-rendering: pixelated; background: var(--ground);
  border-radius: 3px; }
"""


def writing_page(run: Run, analysis: Analysis) -> str:
    """The whole page, complete in itself."""
    title = f"{run.recipe.name or 'A language model'}: what it has learned"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}{WRITING_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{escaped(title)}</h1>\n"
        '<p class="lead">How it learned, how it writes, what the text before a word is worth to it, where its heads '
        f"look.</p>\n</header>\n{_scores(analysis)}{_curve(analysis)}{_samples(analysis)}{_positions(analysis)}"
        f"{_heads(analysis)}{facts_section(_facts(run))}</main>\n</body>\n</html>\n"
    )


def _scores(analysis: Analysis) -> str:
    if not analysis.validation_curve:
        return ""
    return scores_section({"validation_loss": analysis.validation_curve[-1][1]})


def _curve(analysis: Analysis) -> str:
    drawing = with_save_links(curve_figure(analysis.curve, analysis.validation_curve), "how it learned")
    if not drawing:
        return ""
    return (
        f'<section>\n<h2>How it learned</h2>\n<figure>{drawing}\n<figcaption><span class="key">training</span>'
        '<span class="key second">validation</span></figcaption></figure>\n</section>\n'
    )


def _samples(analysis: Analysis) -> str:
    parts = "".join(
        f'<div><h3>temperature {temperature:g}</h3><pre dir="auto">{escaped(text)}</pre></div>\n'
        for temperature, text in analysis.samples.items()
    )
    return f'<section>\n<h2>How it writes</h2>\n<div class="samples">\n{parts}</div>\n</section>\n'


def _positions(analysis: Analysis) -> str:
    if not analysis.losses:
        return ""
    points = [(float(place), loss) for place, loss in enumerate(analysis.losses, start=1)]
    drawing = line_figure(
        [Series("loss", points)], x_label="tokens of context", y_label="validation loss",
        title_for_screen_readers="Validation loss against tokens of context", log_x=True,
    )  # fmt: skip
    drawing = with_save_links(drawing, "what context is worth")
    return (
        f"<section>\n<h2>What context is worth</h2>\n<figure>{drawing}\n"
        f"<figcaption>{escaped(analysis.sentence)}</figcaption></figure>\n</section>\n"
    )


def _heads(analysis: Analysis) -> str:
    if not analysis.heads:
        return ""
    parts = "".join(
        f'<h3>{escaped(name)}</h3>\n<div class="layer">\n{"".join(drawn)}</div>\n'
        for name, heads in layers(analysis.heads).items()
        for drawn in [[_head(one, analysis.tokens) for one in heads]]
    )
    return (
        "<section>\n<h2>Where the heads look</h2>\n"
        '<p class="quiet">Each row of a picture is a token that reads, each column one that is read: '
        f"“{escaped(''.join(analysis.tokens).replace('▁', ' '))}”. The fuller a dot, the greater its weight's root. "
        f"The figures are means over several windows.</p>\n{parts}</section>\n"
    )


def _head(one: HeadFacts, tokens: Sequence[str]) -> str:
    words = f"head {one.head + 1} {one.sentence}"
    shown = [printable(token) for token in tokens[: len(one.weights_TS)]]
    link = save_link(standalone(matrix_svg(_visible(one), shown, shown, words)), f"{one.name} head {one.head + 1}")
    return (
        f"<figure>{picture(_visible(one), escaped(words))}{link}<figcaption><strong>{escaped(words)}</strong>"
        f"{one.entropy:.1f} bits, {one.distance:.0f} back on average; itself {one.same:.0%}, "
        f"before {one.previous:.0%}, first {one.first:.0%}</figcaption></figure>\n"
    )


def _visible(one: HeadFacts) -> list[list[float]]:
    """Roots of the weights: among fifty tokens an even share would hardly be seen."""
    return [[weight**0.5 for weight in row] for row in one.weights_TS]


def _facts(run: Run) -> dict[str, str]:
    parameters = sum(weight.numel() for weight in run.model.parameters())
    recipe = run.recipe
    return {
        "model": f"{recipe.model.kind}, {parameters:,} parameters",
        "text": str(recipe.data.model_dump(exclude_defaults=True) or recipe.data.kind),
        "tokenizer": f"{recipe.tokenizer.kind}, {run.vocabularies.target.size:,} symbols",
        "steps": f"{recipe.training.steps:,} of {recipe.training.batch_tokens:,} tokens",
        "optimizer": recipe.training.optimizer.kind,
    }

"""The report of a comparison as a page that needs no network, and as Markdown with the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.core.metrics import Metric
from regard.inspection.figures.alignments import escaped
from regard.inspection.figures.lines import Series, line_figure
from regard.inspection.figures.page_style import STYLE
from regard.inspection.figures.standalone import with_save_links
from regard.inspection.reports.comparison_report import Report, Row, examples, findings
from regard.inspection.reports.demo_page import facts_section
from regard.inspection.reports.page import TABLE_STYLE, table_of


def columns(report: Report) -> list[str]:
    scores = [metric.title for metric in report.metrics]
    return ["recipe", *scores, "parameters", "steps", "training", f"{report.unit}/s", "examples/s"]


def cells(row: Row) -> list[str]:
    """One row of the table, in words."""
    training = row.mean("training", "seconds") or 0.0
    return [
        row.name,
        *(_score(row, metric) for metric in row.metrics),
        f"{row.results[0]['parameters']:,}",
        f"{row.results[0]['training']['steps']:,}",
        f"{training / 60:.1f} min",
        _plain(row.mean("training", "tokens_per_second"), "{:,.0f}"),
        _plain(row.mean("examples_per_second"), "{:,.0f}"),
    ]


def filled_columns(report: Report) -> tuple[list[str], list[list[str]]]:
    """The table without columns in which no row has anything."""
    rows = [cells(row) for row in report.rows]
    names = columns(report)
    kept = [place for place in range(len(names)) if any(row[place] != "–" for row in rows)]
    return [names[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _plain(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _score(row: Row, metric: Metric) -> str:
    value, interval = row.mean("scores", metric.name), row.interval(metric.name)
    if value is None:
        return "–"
    return metric.formatted(value) + (f" ({'–'.join(map(metric.number, interval))})" if interval is not None else "")


def level_cells(report: Report, row: Row) -> list[str]:
    return [row.name, *(_plain(row.time_to(level), "{:.0f} s") for level in report.levels)]


def level_columns(report: Report) -> list[str]:
    return ["recipe", *(f"{level:.0%}" for level in report.levels)]


def comparison_markdown(report: Report) -> str:
    """The same numbers for a README or a mail."""
    parts = [f"# {report.title}", "", *(f"- {name}: {value}" for name, value in report.facts.items()), ""]
    parts += [_markdown_table(*filled_columns(report)), ""]
    parts += [report.signature, ""] if report.signature else []
    parts += ["## What it says", "", *(f"- {sentence}" for sentence in sentences(report)), ""]
    for measure in report.measures.values():
        if "table" in measure:
            parts += [f"## {measure['title']}", "", _markdown_table(measure["table"][0], measure["table"][1:]), ""]
    if report.levels:
        levels = [level_cells(report, row) for row in report.rows]
        title = f"## Training time to each {report.accuracy}"
        parts += [title, "", _markdown_table(level_columns(report), levels), ""]
    told = examples(report.rows)
    parts += ["## The same examples", ""] if told else []
    for example in told:
        parts += [f"**{example['source']}** (reference: {example['reference']})", ""]
        parts += [*(f"- {name}: {answer}" for name, answer in example["answers"].items()), ""]
    return "\n".join(parts)


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---", *("---:" for _ in columns[1:])], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def sentences(report: Report) -> list[str]:
    """What the page says below its figures stands here without them."""
    return [*findings(report.rows), *(f"{one['title']}: {one['sentence']}" for one in report.measures.values())]


def comparison_page(report: Report) -> str:
    """The whole page, complete in itself."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(report.title)}</title>\n<style>{STYLE}{TABLE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n<h1>{escaped(report.title)}</h1>\n"
        '<p class="lead">The same data, the same budget: what each model made of it.</p>\n'
        f"</header>\n{_table(*filled_columns(report))}"
        f'<p class="quiet">{escaped(_footnote(report))}</p>\n{_says(report)}'
        f"{_curves(report)}{_lengths(report)}{_levels(report)}{_measures(report)}{_examples(report)}"
        f"{facts_section(report.facts)}</main>\n</body>\n</html>\n"
    )


def _says(report: Report) -> str:
    said = "".join(f"<li>{escaped(sentence)}</li>\n" for sentence in findings(report.rows))
    return f"<section>\n<h2>What it says</h2>\n<ul>\n{said}</ul>\n</section>\n" if said else ""


def _footnote(report: Report) -> str:
    brackets = "in brackets the 95 % interval, or the range over several seeds."
    return f"{report.signature}; {brackets}" if report.signature else brackets.capitalize()


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], name: str = "") -> str:
    return table_of([columns, *rows], name)


def _section(title: str, drawing: str, note: str) -> str:
    figure = with_save_links(drawing, title)
    return (
        f"<section>\n<h2>{escaped(title)}</h2>\n<figure>{figure}\n<figcaption>{escaped(note)}</figcaption></figure>\n"
        "</section>\n"
        if drawing
        else ""
    )


def _curves(report: Report) -> str:
    series = [
        Series(row.name, [(one["seconds"], one["loss"]) for one in row.results[0]["curve"] if "seconds" in one])
        for row in report.rows
    ]
    if not any(one.points for one in series):
        return ""
    drawing = line_figure(
        series, x_label="training seconds", y_label="validation loss", title_for_screen_readers="Learning curves"
    )
    return _section("How they learned", drawing, "Validation loss against training time, the first seed of each.")


def _lengths(report: Report) -> str:
    series = [
        Series(row.name, [(group["words"], group["bleu"]) for group in row.results[0]["by_length"]])
        for row in report.rows
    ]
    if not any(one.points for one in series):
        return ""
    drawing = line_figure(
        series, x_label="source words", y_label="BLEU", title_for_screen_readers="BLEU against sentence length"
    )
    note = "BLEU of groups of test sentences against their mean length: a fixed vector has to hold ever more."
    return _section("The bottleneck", drawing, note)


def _levels(report: Report) -> str:
    if not report.levels:
        return ""
    rows = [level_cells(report, row) for row in report.rows]
    return (
        f"<section>\n<h2>Training time to each {escaped(report.accuracy)}</h2>\n"
        f"{_table(level_columns(report), rows)}</section>\n"
    )


def _measures(report: Report) -> str:
    return "".join(
        _section(measure["title"], _measured_table(measure) + measure["figure"], measure["sentence"])
        for measure in report.measures.values()
    )


def _measured_table(measure: Mapping[str, Any]) -> str:
    return _table(measure["table"][0], measure["table"][1:]) if "table" in measure else ""


def _examples(report: Report) -> str:
    parts = []
    for example in examples(report.rows):
        rows = [("reference", example["reference"]), *example["answers"].items()]
        parts.append(f"<h3 dir=\"auto\">{escaped(example['source'])}</h3>\n{_table(('', ''), rows, 'side')}")
    return f"<section>\n<h2>The same examples</h2>\n{''.join(parts)}</section>\n" if parts else ""

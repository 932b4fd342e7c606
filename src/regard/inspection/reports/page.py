"""A report as one page that needs no network: sections of tables and figures, and what machine it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.inspection.figures.alignments import escaped
from regard.inspection.figures.page_style import STYLE
from regard.inspection.figures.standalone import with_save_links
from regard.inspection.reports.demo_page import facts_section

TABLE_STYLE = """
.table { overflow-x: auto; margin-top: 2.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .45rem 1.4rem .45rem 0; text-align: right; border-bottom: 1px solid var(--rule); }
th { color: var(--quiet); font-weight: 500; font-size: .875rem; }
th:first-child, td:first-child { text-align: left; }
td small { color: var(--quiet); }
.side td { text-align: left; white-space: normal; vertical-align: top; max-width: 44rem; }
"""


@dataclass(frozen=True)
class Section:
    """A heading with a table or a drawing, and a sentence; left out where both are empty."""

    title: str
    drawing: str
    note: str

    def html(self) -> str:
        if not (self.drawing or self.note):
            return ""
        figure = with_save_links(self.drawing, self.title) if "<svg" in self.drawing else self.drawing
        return (
            f"<section>\n<h2>{escaped(self.title)}</h2>\n<figure>{figure}\n"
            f"<figcaption>{escaped(self.note)}</figcaption></figure>\n</section>\n"
        )


def table_of(rows: Sequence[Sequence[str]], name: str = "") -> str:
    """The first row names the columns."""
    head = "".join(f'<th scope="col">{escaped(column)}</th>' for column in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>\n" for row in rows[1:])
    return f'<div class="table {name}"><table>\n<tr>{head}</tr>\n{body}</table></div>\n'


def page_of(title: str, lead: str, sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    """The whole page, complete in itself."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}{TABLE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<header>\n<h1>{escaped(title)}</h1>\n<p class="lead">{escaped(lead)}</p>\n</header>\n'
        f"{''.join(section.html() for section in sections)}{facts_section(dict(facts))}</main>\n</body>\n</html>\n"
    )

"""Drawings of a page as files of their own: SVG with its style inside, and links that give it without a network."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from regard.inspection.figures.alignments import escaped
from regard.inspection.figures.pixels import png

LIGHT = {
    "paper": "#fdfcfa", "ink": "#1c1f23", "quiet": "#5f6771", "rule": "#e2e1dd", "ground": "#f1f0ec",
    "accent": "#0b4f94", "on-low": "#000", "on-middle": "#000", "on-high": "#fff",
}  # fmt: skip
"""The colours of pages on light ground, which a drawing has that leaves its page."""
DRAWING_STYLE = """
svg text { fill: var(--ink); }
.links path { fill: none; stroke: var(--accent); stroke-linecap: round; }
.links text { font-size: 17px; text-anchor: middle; }
.word rect { fill: transparent; }
.links .number { font-size: 11.5px; fill: var(--accent); font-variant-numeric: tabular-nums; }
.heat-map text { font-size: 14px; text-anchor: middle; }
.heat-map .row { text-anchor: end; }
.heat-map .slanted { text-anchor: start; }
.heat-map .cell text { font-size: 11.5px; font-variant-numeric: tabular-nums; }
.ground { fill: var(--ground); }
.heat { fill: var(--accent); }
.cell .low { fill: var(--on-low); }
.cell .middle { fill: var(--on-middle); }
.cell .high { fill: var(--on-high); }
.curve text { font-size: 13px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
.curve .loss { text-anchor: end; }
.curve .step { text-anchor: middle; }
.curve .rule { stroke: var(--rule); }
polyline { fill: none; stroke-linejoin: round; }
.training { stroke: var(--quiet); stroke-width: 1.25; stroke-opacity: .75; }
.validation { stroke: var(--accent); stroke-width: 2; }
circle { fill: var(--accent); }
"""
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
CELL, LETTERS = 13, 10  # pixels of a square of a matrix, and of the tokens beside it
FINE = 8  # pixels of a square inside: some programs blur what they enlarge


def standalone(svg: str) -> str:
    """The same drawing with its style and its size in it. Colours are written out: few programs but browsers know
    variables, or a colour that depends on the ground."""
    style = re.sub(r"var\(--([\w-]+)\)", lambda found: LIGHT[found[1]], DRAWING_STYLE).replace("\n", " ").strip()
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None, "drawings say how large they are"
    width, height = size.groups()
    root = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="{escaped(FONT)}"'
    whole = re.sub(r";[\w-]+:light-dark\([^)]*\)", "", svg.replace("<svg", root, 1).replace(' tabindex="0"', ""))
    return whole.replace(">", f"><style>{style}</style>", 1)


def save_link(svg: str, name: str) -> str:
    """A link that saves a drawing, which is in it."""
    file = re.sub(r"[^\w.-]+", "-", name.lower()).strip("-")
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    address = f"data:image/svg+xml;base64,{data}"
    told = escaped(f"Save “{name}” as an SVG file")
    return f'<a class="save" download="{escaped(file)}.svg" title="{told}" href="{address}">save as SVG</a>'


def with_save_links(drawings: str, name: str) -> str:
    """Every drawing of a part of a page with a link below; several of one name are numbered."""
    several = len(DRAWING.findall(drawings)) > 1
    numbers = iter(range(1, len(drawings)))

    def linked(found: re.Match[str]) -> str:
        number = f" {next(numbers)}" if several else ""
        return f"{found[0]}\n{save_link(standalone(found[0]), name + number)}"

    return DRAWING.sub(linked, drawings)


def matrix_svg(weights_TS: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], words: str) -> str:
    """A matrix as one picture inside, with the tokens of both axes as texts."""
    room = [6 + 0.62 * LETTERS * max(map(len, tokens), default=0) for tokens in (rows, columns)]
    left, top = room[0] + 4, room[1] + 4
    wide, high = CELL * len(columns), CELL * len(rows)
    data = base64.b64encode(png(weights_TS, fine=FINE)).decode("ascii")
    parts = [
        f'<image x="{left:.1f}" y="{top:.1f}" width="{wide}" height="{high}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    ]
    for place, token in enumerate(rows):
        y = top + (place + 0.5) * CELL + LETTERS / 3
        parts.append(f'<text x="{left - 4:.1f}" y="{y:.1f}" text-anchor="end">{escaped(token)}</text>')
    for place, token in enumerate(columns):
        x = left + (place + 0.5) * CELL + LETTERS / 3
        parts.append(f'<text transform="translate({x:.1f} {top - 4:.1f}) rotate(-90)">{escaped(token)}</text>')
    return (
        f'<svg role="img" aria-label="{escaped(words)}" font-size="{LETTERS}" '
        f'viewBox="0 0 {left + wide + 4:.0f} {top + high + 4:.0f}">{"".join(parts)}</svg>'
    )

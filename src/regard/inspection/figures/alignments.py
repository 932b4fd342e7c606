"""Draws one attention matrix between two sentences: words joined by lines, and a heat map, both as inline SVG."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FAINTEST = 0.02  # weights below are not drawn as lines: a hundred hairlines would hide the few that matter
WORD_SIZE = 17
NUMBER_ROOM = 30
ROW_HEIGHT = 30
MANY_COLUMNS = 16
UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML has no place for
APOSTROPHES = ("'", "’")
OPENING = frozenset("([“")
CLOSING = frozenset(".,;:!?)]”…") | {"..."}


@dataclass(frozen=True)
class AlignedPair:
    """One translated sentence and the head that aligns it: a row for a target word, a column for a source word."""

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights_TS: Sequence[Sequence[float]]
    reference: str = ""

    def __post_init__(self) -> None:
        found = [len(row) for row in self.weights_TS]
        expected = [len(self.source_words)] * len(self.target_words)
        assert found == expected, f"the weights have rows of {found}, the words need {expected}"


@dataclass(frozen=True)
class Place:
    """Where a word stands in its row: the middle, and half the room around it."""

    middle: float
    half: float


def alignment_text(pair: AlignedPair, threshold: float = 0.0) -> list[tuple[str, str, float]]:
    """For every target word, the source word it looks at most and the weight; no word, "", below the threshold."""
    lines = []
    for word, row in zip(pair.target_words, pair.weights_TS):
        weight = max(row, default=0.0)
        seen = len(row) > 0 and weight >= threshold
        lines.append((word, pair.source_words[list(row).index(weight)] if seen else "", float(weight)))
    return lines


def escaped(text: str) -> str:
    """Text that is safe inside an element or an attribute, in HTML and in XML alike."""
    return html.escape(UNPRINTABLE.sub("\ufffd", text))


def three_digits(value: float) -> str:
    """A number with three significant digits, zeros at the end included."""
    return "0" if value == 0 else format(value, "#.3g").rstrip(".")


def glued(left: str, right: str) -> bool:
    """Whether two neighbouring words are written without a space: s' + est, tapis + full stop."""
    elided = len(left) > 1 and left.endswith(APOSTROPHES)
    clitic = len(right) > 1 and right.startswith(APOSTROPHES)
    return elided or clitic or left in OPENING or right in CLOSING


def joined(words: Sequence[str]) -> str:
    """The words as a sentence."""
    parts = [("" if i == 0 or glued(words[i - 1], word) else " ") + word for i, word in enumerate(words)]
    return "".join(parts)


def drawn(weight: float) -> float:
    """The weight as ink, between 0 and 1: the drawing must stand what a broken model gives."""
    return min(max(weight, 0.0), 1.0) if math.isfinite(weight) else 0.0


def text_width(word: str, size: float = WORD_SIZE) -> float:
    """About how wide a word will be; nobody can ask the font before the page is opened."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in word)
    upper = sum(letter.isupper() or letter in "mwMW" for letter in word)
    joining = sum(unicodedata.combining(letter) > 0 for letter in word)
    return size * (0.56 * (len(word) - wide - joining) + 1.0 * wide + 0.16 * upper)


def places(words: Sequence[str]) -> list[Place]:
    """Words in a row from the left, glued words closer than others."""
    found: list[Place] = []
    edge = 0.0
    for position, word in enumerate(words):
        half = max(text_width(word) + 10, NUMBER_ROOM) / 2
        if position:
            edge += 1 if glued(words[position - 1], word) else 12
        found.append(Place(edge + half, half))
        edge += 2 * half
    return found


def centred(row: list[Place], width: float) -> list[Place]:
    shift = (width - row[-1].middle - row[-1].half) / 2 if row else 0.0
    return [Place(place.middle + shift, place.half) for place in row]


def looks(verb: str, word: str, others: Sequence[str], weights: Sequence[float]) -> str:
    """A sentence for a tooltip: the word and the five others that matter most to it."""
    strongest = sorted(zip(weights, others), key=lambda item: -drawn(item[0]))[:5]
    return f"{word} {verb} " + ", ".join(f"{other} {three_digits(weight)}" for weight, other in strongest)


def word_mark(word: str, place: Place, y: float, number_y: float, address: str, title: str) -> str:
    """A word that can be pointed at or reached by keyboard, with an empty place for its number."""
    return (
        f'<g class="word" tabindex="0" role="img" {address}><title>{escaped(title)}</title>'
        f'<rect x="{place.middle - place.half:.1f}" y="{y - 20:.1f}" width="{2 * place.half:.1f}" height="28" rx="6"/>'
        f'<text x="{place.middle:.1f}" y="{y:.1f}">{escaped(word)}</text>'
        f'<text class="number" x="{place.middle:.1f}" y="{number_y:.1f}"></text></g>'
    )


def link_marks(
    pair: AlignedPair, sources: list[Place], targets: list[Place], top: float, bottom: float
) -> Iterator[str]:
    """Curves from source to target, the weakest first so that the strongest lie on top."""
    middle = (top + bottom) / 2
    cells = [(drawn(weight), t, s) for t, row in enumerate(pair.weights_TS) for s, weight in enumerate(row)]
    for weight, t, s in sorted(cells):
        if weight < FAINTEST:
            continue
        start, end = sources[s].middle, targets[t].middle
        yield (
            f'<path data-s="{s}" data-t="{t}"'
            f' d="M{start:.1f} {top:g}C{start:.1f} {middle:g} {end:.1f} {middle:g} {end:.1f} {bottom:g}"'
            f' stroke-width="{0.5 + 5.5 * weight:.2f}" stroke-opacity="{0.12 + 0.78 * weight:.2f}">'
            f"<title>{escaped(meeting(pair, t, s))}</title></path>"
        )


def meeting(pair: AlignedPair, t: int, s: int) -> str:
    """One cell of the matrix in words."""
    return f"{pair.target_words[t]} → {pair.source_words[s]}: {three_digits(pair.weights_TS[t][s])}"


def links_figure(pair: AlignedPair) -> str:
    """Source words above, target words below, lines between them as thick as their weights."""
    sources, targets = places(pair.source_words), places(pair.target_words)
    width = max((row[-1].middle + row[-1].half for row in (sources, targets) if row), default=0.0) + 4
    sources, targets = centred(sources, width), centred(targets, width)
    marks = list(link_marks(pair, sources, targets, 50, 170))
    for s, (word, place) in enumerate(zip(pair.source_words, sources)):
        column = [row[s] for row in pair.weights_TS]
        marks.append(
            word_mark(word, place, 38, 12, f'data-s="{s}"', looks("is looked at by", word, pair.target_words, column))
        )
    for t, (word, place) in enumerate(zip(pair.target_words, targets)):
        row = pair.weights_TS[t]
        marks.append(word_mark(word, place, 194, 216, f'data-t="{t}"', looks("looks at", word, pair.source_words, row)))
    label = "Source words above, target words below, joined by lines as thick as the attention between them"
    return svg("links", width, 222, "group", label, "".join(marks))


def svg(name: str, width: float, height: float, role: str, label: str, inside: str) -> str:
    """A drawing that shrinks a little before its box begins to scroll."""
    return (
        f'<svg class="{name}" role="{role}" aria-label="{escaped(label)}" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' style="width:{width:.0f}px;min-width:{0.75 * width:.0f}px">{inside}</svg>'
    )


def cell_mark(pair: AlignedPair, t: int, s: int, x: float, y: float, width: float) -> str:
    """A square of the heat map; its number is written out where it matters and there is room."""
    weight = drawn(pair.weights_TS[t][s])
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{width - 2:.1f}" height="{ROW_HEIGHT - 2}" rx="3"'
    mark = (
        f'<g class="cell" data-s="{s}" data-t="{t}"><title>{escaped(meeting(pair, t, s))}</title>'
        f'<rect class="ground" {box}/><rect class="heat" {box} fill-opacity="{weight:.3f}"/>'
    )
    if weight >= 0.1 and width >= 40:
        shade = "low" if weight < 0.55 else "middle" if weight < 0.75 else "high"
        mark += f'<text class="{shade}" x="{x + width / 2:.1f}" y="{y + ROW_HEIGHT / 2 + 4:.1f}">{weight:.2f}</text>'
    return mark + "</g>"


def heat_map(pair: AlignedPair) -> str:
    """The matrix as squares: a row for a target word, a column for a source word, the weight as depth of colour."""
    longest = max((text_width(word, 14) for word in pair.source_words), default=0.0)
    left = max((text_width(word, 14) for word in pair.target_words), default=0.0) + 14
    column = 30.0 if len(pair.source_words) > MANY_COLUMNS else min(max(longest + 8, 44.0), 60.0)
    slanted = longest + 4 > column
    top = 0.72 * longest + 20 if slanted else 28.0
    marks = []
    for s, word in enumerate(pair.source_words):
        x = left + (s + 0.5) * column
        turn = f' class="slanted" transform="rotate(-45 {x:.1f} {top - 8:.1f})"' if slanted else ""
        marks.append(f'<text data-s="{s}" x="{x:.1f}" y="{top - 8:.1f}"{turn}>{escaped(word)}</text>')
    for t, word in enumerate(pair.target_words):
        y = top + t * ROW_HEIGHT
        marks.append(f'<text data-t="{t}" class="row" x="{left - 8:.1f}" y="{y + 20:.1f}">{escaped(word)}</text>')
        marks += [cell_mark(pair, t, s, left + s * column, y, column) for s in range(len(pair.source_words))]
    width = left + len(pair.source_words) * column + (0.72 * longest if slanted else 4)
    best = "; ".join(
        f"{target} looks most at {source}, {three_digits(w)}" for target, source, w in alignment_text(pair)
    )
    label = f"Heat map of the attention weights, target words in rows, source words in columns. {best}"
    return svg("heat-map", width, top + len(pair.target_words) * ROW_HEIGHT + 2, "img", label, "".join(marks))

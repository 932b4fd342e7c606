"""A drawing that knows its numbers: PNG, SVG, inline in a notebook, and the data behind it as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.core.errors import OptionError
from regard.core.files import write_atomically, write_text
from regard.core.packages import optional
from regard.inspection.figures.alignments import UNPRINTABLE

LONGEST = 32  # signs of a label
WEIGHTS = "Blues"  # one hue, light to dark: told apart by everybody, and in grey
RISES = "PuOr_r"  # around 0; orange and purple differ also for those who do not tell red from green
MARKS = ("#0072b2", "#d55e00", "#00805d", "#a84f80", "#8a6000")  # Okabe & Ito 2008, as in line_figure
DOTS_PER_INCH = 144
PLAIN: dict[str, Any] = {"parse_math": False}  # a "$" in a token is a "$"


@dataclass(frozen=True)
class Figure:
    """``paint`` draws on an empty figure of matplotlib; ``words`` say what it shows."""

    title: str
    words: str
    data: Mapping[str, Any]
    paint: Callable[[Any], None] = field(repr=False)
    size: tuple[float, float] = (6.0, 4.0)  # inches

    def as_dict(self) -> dict[str, Any]:
        return {"title": self.title, "words": self.words, **self.data}

    def as_json(self) -> str:
        """All that is drawn, as numbers and words."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def png(self) -> bytes:
        return self._drawn("png")

    def svg(self) -> str:
        """Texts stay texts: they can be searched, and the reader's fonts draw them."""
        return self._drawn("svg").decode("utf-8")

    def save(self, path: str | Path) -> Path:
        """As .png, .svg or .json, by its name."""
        path = Path(path)
        if path.suffix == ".png":
            data = self.png()
            write_atomically(path, lambda part: _write(part, data))
        elif path.suffix == ".svg":
            write_text(path, self.svg())
        elif path.suffix == ".json":
            write_text(path, self.as_json())
        else:
            raise OptionError(f"a figure is written as .png, .svg or .json; found {path.name!r}")
        return path

    def _repr_png_(self) -> bytes:
        return self.png()

    def _repr_svg_(self) -> str:
        return self.svg()

    def _drawn(self, kind: str) -> bytes:
        library = matplotlib()
        from matplotlib.figure import Figure as Canvas

        with library.rc_context({"svg.fonttype": "none", "svg.hashsalt": "regard"}):
            canvas = Canvas(figsize=self.size, layout="constrained")
            self.paint(canvas)
            canvas.suptitle(printable(self.title, 10 * LONGEST), fontsize=10, **PLAIN)
            held = io.BytesIO()
            about = {"Title": legible(self.title), "Description": legible(self.words)}
            dated = {"Date": None} if kind == "svg" else {}
            canvas.savefig(held, format=kind, dpi=DOTS_PER_INCH, metadata={**about, **dated})
        return held.getvalue()


def matplotlib() -> Any:
    """The library, which is not among those that every installation has."""
    return optional("matplotlib", "figures need matplotlib; install it with: pip install 'regard[figures]'")


def legible(text: str) -> str:
    """The text without signs that XML has no place for."""
    return UNPRINTABLE.sub("\ufffd", text)


def printable(token: str, longest: int = LONGEST) -> str:
    """A token as a label: one line, no signs that cannot be drawn, not too long."""
    spelled = legible(token.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
    return spelled if len(spelled) <= longest else spelled[: longest - 1] + "…"


def matrix(
    axes: Any,
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    scale: str,
    low: float,
    high: float,
    colours: str = WEIGHTS,
    written: Sequence[Sequence[str]] | None = None,
) -> None:
    """Squares with a label on either axis, a bar that tells the colours' numbers, and perhaps a text in each square."""
    drawn = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    slanted = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(columns)), labels=[printable(one) for one in columns], **slanted, **PLAIN)
    axes.set_yticks(range(len(rows)), labels=[printable(one) for one in rows], **PLAIN)
    axes.tick_params(labelsize=8, length=0)
    axes.figure.colorbar(drawn, ax=axes, label=scale)
    for row, texts in enumerate(written or ()):
        for column, text in enumerate(texts):
            red, green, blue, _ = drawn.to_rgba(values[row][column])
            ink = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
            axes.text(column, row, printable(text, 10), ha="center", va="center", fontsize=7, color=ink, **PLAIN)


def fitting(rows: int, columns: int) -> tuple[float, float]:
    """Inches for a matrix with labels."""
    return min(2.6 + 0.32 * columns, 24.0), min(1.8 + 0.28 * rows, 24.0)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)

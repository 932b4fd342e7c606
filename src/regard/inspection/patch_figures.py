"""Figures of what heads read of a picture: heat over its patches, and how far every head looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.inspection.figure import PLAIN, Figure, printable
from regard.inspection.head_figures import grid_figure
from regard.inspection.patches import PatchStatistics

COLUMNS = 6
INCHES = 1.9  # of one picture
PALE = 0.42  # of the picture's darkness that is left under heat
HEAT = ("#ffffff", "#ffd98a", "#f5793a", "#b3123f")  # as on the page


class Heat(NamedTuple):
    """How much of each patch is read by somebody."""

    name: str
    heat_RC: np.ndarray


def heats_figure(pixels_HWC: np.ndarray, words: str, title: str, heats: Sequence[Heat]) -> Figure:
    """The picture, then the same under each heat, which is told against its own strongest patch."""
    columns = min(COLUMNS, len(heats) + 1)
    rows = -(-(len(heats) + 1) // columns)

    def paint(canvas: Any) -> None:
        plots = canvas.subplots(rows, columns, squeeze=False).ravel()
        for plot in plots:
            plot.set_axis_off()
        plots[0].imshow(pixels_HWC.squeeze(), cmap="gray", vmin=0, vmax=255)
        plots[0].set_title(printable(words), fontsize=7, **PLAIN)
        for plot, one in zip(plots[1:], heats, strict=False):
            plot.imshow(heated(pixels_HWC, one.heat_RC))
            plot.set_title(f"{printable(one.name)}\nmost {one.heat_RC.max():.3g}", fontsize=7, **PLAIN)

    found = [{"name": one.name, "heat": one.heat_RC.tolist()} for one in heats]
    told = " ".join(f"{one.name} reads most of {strongest(one.heat_RC)}." for one in heats)
    size = (INCHES * columns, (INCHES + 0.4) * rows + 0.4)
    return Figure(title, f"{words}. {told}", {"picture": words, "heats": found}, paint, size)


def heated(pixels_HWC: np.ndarray, heat_RC: np.ndarray) -> np.ndarray:
    """rgb_HWC from 0 to 1: heat as ink over the picture's light and shade."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = pixels_HWC.shape[:2]
    down, across = (np.arange(size) * cells // size for size, cells in zip((rows, columns), heat_RC.shape))
    shares_HW = (heat_RC / max(float(heat_RC.max()), 1e-30))[down][:, across]
    light_HW = 1 - PALE * (1 - pixels_HWC.mean(-1) / 255)
    ink_HW3 = LinearSegmentedColormap.from_list("heat", list(HEAT))(shares_HW)[..., :3]
    return light_HW[..., None] * ink_HW3


def strongest(heat_RC: np.ndarray) -> str:
    row, column = np.unravel_index(int(heat_RC.argmax()), heat_RC.shape)
    return f"the patch in row {row + 1}, column {column + 1} ({heat_RC.max():.3g})"


def distance_figure(table: Sequence[PatchStatistics]) -> Figure:
    """How far every head looks."""
    values = {(one.name, one.head): one.distance for one in table}
    words = " ".join(one.sentence for one in table)
    most = max(max(values.values(), default=1.0), 1e-9)
    return grid_figure(values, "Heads by how far they look", words, "distance (patches)", (0.0, most))

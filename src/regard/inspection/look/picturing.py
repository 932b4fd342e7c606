"""Extra data of a page about pictures: the pixels, the grid of patches, and attention rollout."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from regard.inspection.heads.patches import heat
from regard.inspection.heads.rollout import rolled_out, stack_of
from regard.inspection.look.heads import Shown
from regard.inspection.look.packing import FLOOR, written
from regard.inspection.recording import Record

MOST = 512  # pixels to a side, as they are drawn


@torch.inference_mode()
def picture_of(seen: Record, shown: Shown, prefix: str) -> dict[str, Any] | None:
    """None where the input is no picture; the long numbers are kept with those of the heads."""
    pixels_HWC = seen.probe.pixels_HWC
    if pixels_HWC is None:
        return None
    pixels_HWC = thinned(np.broadcast_to(pixels_HWC, (*pixels_HWC.shape[:2], 3)))
    shown.numbers[f"{prefix}pixels"] = written(pixels_HWC)
    axis = seen.probe.axis
    sharpness = []
    for one in shown.heads:
        weights_TS = seen.attention[shown.attentions[one["attention"]]["name"]].weights[0, one["head"]]
        heat_RC = heat(weights_TS.float().cpu().numpy(), axis)
        most = max(float(heat_RC.max()), FLOOR)
        one["glance"] = written(np.round(255 * heat_RC / most).astype(np.uint8))
        sharpness.append(("key" in one, one["attention"], most / max(float(heat_RC.sum()), FLOOR)))
    return {
        "key": f"{prefix}pixels", "rows": pixels_HWC.shape[0], "columns": pixels_HWC.shape[1], "grid": axis.shape,
        "extra": axis.extra, "layers": _layers(seen, shown, prefix),
        "first": max(range(len(sharpness)), key=sharpness.__getitem__, default=0),  # the last layer's sharpest head
    }  # fmt: skip


def _layers(seen: Record, shown: Shown, prefix: str) -> list[dict[str, Any]]:
    """For each layer what its heads read on average, and what is left of the picture after all layers so far."""
    names = [name for name in stack_of(seen.model) if seen.attention[name].mechanism.has_matrix]
    means = [seen.attention[name].weights[0].mean(0).cpu().double() for name in names]
    return [
        {
            "name": name,
            "mean": shown.keep(f"{prefix}mean.{number}", mean_TS.numpy(), triangle=False),
            "rolled": shown.keep(f"{prefix}rolled.{number}", rolled_TS.numpy(), triangle=False),
        }
        for number, (name, mean_TS, rolled_TS) in enumerate(zip(names, means, rolled_out(means), strict=True))
    ]


def thinned(pixels_HWC: np.ndarray) -> np.ndarray:
    """At most so many pixels to a side, by leaving some out."""
    step = -(-max(pixels_HWC.shape[:2]) // MOST)
    return np.ascontiguousarray(pixels_HWC[::step, ::step])

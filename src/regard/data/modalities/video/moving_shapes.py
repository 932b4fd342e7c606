"""Clips of moving shapes, made here: one shape moves beside up to two that stay; a phrase says which one where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

SIDE, FRAMES = 32, 8  # pixels, and pictures of a clip
COLOURS = {
    "red": (220, 50, 47),
    "green": (60, 180, 75),
    "blue": (50, 90, 220),
    "yellow": (235, 210, 60),
    "white": (235, 235, 235),
}
SHAPES = ("circle", "cross", "square", "triangle")
DIRECTIONS = {"down": (1, 0), "left": (0, -1), "right": (0, 1), "up": (-1, 0)}
RADII, SPEEDS, STILL = (4.0, 6.0), (1.2, 2.2), (1, 2)  # pixels, pixels a frame, and how many shapes stay where they are
DARK, NOISE = 20, 8  # of the background
TRIES = 40


@dataclass(frozen=True, slots=True)
class MovingShapes:
    """A clip by its grammar (colour, shape and direction of what moves); the seed says everything else."""

    colour: str
    shape: str
    direction: str
    seed: int

    def __str__(self) -> str:
        return f"clip number {self.seed}"

    @property
    def count(self) -> int:
        return FRAMES

    @property
    def size(self) -> tuple[int, int]:
        return SIDE, SIDE

    @property
    def phrase(self) -> str:
        return f"the {self.colour} {self.shape} moves {self.direction}"

    def frames(self, places: Sequence[int]) -> list[np.ndarray]:
        pixels_THWC = drawn(self)
        return [pixels_THWC[place] for place in places]

    def record(self) -> dict[str, Any]:
        return asdict(self)


def is_held_out(colour: str, shape: str, direction: str) -> bool:
    """Of each shape and direction one colour is kept for the compositional split: a fifth of all combinations. Every
    colour, shape and direction is learned, and so is every pair of them but one of three."""
    places = list(COLOURS).index(colour), SHAPES.index(shape), list(DIRECTIONS).index(direction)
    return (places[1] + 2 * places[2]) % len(COLOURS) == places[0]


@lru_cache(maxsize=8_000)
def drawn(clip: MovingShapes) -> np.ndarray:
    """pixels_THWC, bytes."""
    generator = np.random.default_rng(clip.seed)
    speed, radius = generator.uniform(*SPEEDS), generator.uniform(*RADII)
    step = np.array(DIRECTIONS[clip.direction]) * speed
    path_T2 = np.arange(FRAMES)[:, None] * step
    low, high = radius - path_T2.min(axis=0), SIDE - 1 - radius - path_T2.max(axis=0)
    path_T2 = path_T2 + generator.uniform(low, high)
    still: list[Any] = []
    for _ in range(int(generator.integers(STILL[0], STILL[1] + 1))):
        shape, colour = str(generator.choice(SHAPES)), str(generator.choice(list(COLOURS)))
        own = generator.uniform(*RADII)
        place = free_place(generator, own, path_T2, radius, still)
        if place is not None:
            still.append((shape, colour, own, place[None]))
    noise_THWC = generator.standard_normal((FRAMES, SIDE, SIDE, 3), np.float32)
    pixels_THWC = np.clip(DARK + NOISE * noise_THWC, 0, 255)
    for shape, colour, own, places_T2 in [*still, (clip.shape, clip.colour, radius, path_T2)]:
        share_THW1 = covered(shape, own, places_T2)[..., None]
        pixels_THWC += share_THW1 * (np.array(COLOURS[colour], np.float32) - pixels_THWC)
    return pixels_THWC.astype(np.uint8)


def free_place(
    generator: np.random.Generator, radius: float, path_T2: np.ndarray, moving: float, still: Sequence[Any]
) -> np.ndarray | None:
    """Where a shape touches neither what moves nor what stands there already; None where there is no room."""
    for _ in range(TRIES):
        place = generator.uniform(radius, SIDE - 1 - radius, 2)
        near = np.abs(path_T2 - place).max(axis=1).min() < radius + moving + 1
        if not near and all(np.abs(other - place).max() > radius + own + 1 for _, _, own, other in still):
            return place
    return None


def covered(shape: str, radius: float, places_T2: np.ndarray) -> np.ndarray:
    """share_THW of each pixel that a shape covers."""
    side_S = np.arange(SIDE, dtype=np.float32)
    rows_THW = (side_S - places_T2[:, :1]).astype(np.float32)[:, :, None]
    columns_THW = (side_S - places_T2[:, 1:]).astype(np.float32)[:, None, :]
    high_THW, wide_THW = np.abs(rows_THW), np.abs(columns_THW)
    if shape == "circle":
        inside_THW = radius - np.hypot(high_THW, wide_THW)
    elif shape == "square":
        inside_THW = 0.85 * radius - np.maximum(high_THW, wide_THW)
    elif shape == "cross":
        beam_THW = radius / 3 - np.minimum(high_THW, wide_THW)
        inside_THW = np.minimum(radius - np.maximum(high_THW, wide_THW), beam_THW)
    else:
        inside_THW = np.minimum(0.8 * radius - rows_THW, (rows_THW + radius) / 2 - wide_THW)
    return np.clip(inside_THW + 0.5, 0, 1)

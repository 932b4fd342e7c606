"""Ports: what the data fixes about a model's front."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Port:
    """What the data fixes about a model."""


@dataclass(frozen=True, slots=True)
class Tokens(Port):
    """Numbers of a vocabulary."""

    size: int
    vocabulary: str = ""


@dataclass(frozen=True, slots=True)
class Arrays(Port):
    """Numbers on a grid: one axis for series, two for pictures (rows, columns), three for video."""

    channels: int
    shape: tuple[int, ...]

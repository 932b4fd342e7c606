"""Anatomy: what the parts of a family of models are called, declared once for all who look inside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Names of modules and patterns of names, as taps take them; an empty one: this family has no such part.

    ``source_attention`` is where the source is read, ``state_path`` the module along which the past travels,
    ``depth_path`` those that show the states on their way to an answer, layer by layer. ``reading`` names the
    attributes that are needed to read a text: the others write, and a head of a task takes their place.
    """

    source_attention: str = ""
    state_path: str = ""
    depth_path: str = ""
    reading: tuple[str, ...] = ()

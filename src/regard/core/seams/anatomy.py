"""Anatomy: what the parts of a family of models are called, declared once for all who look inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import nn


class Entrance(NamedTuple):
    """Where tokens enter: which side they are of, the module that embeds them, and the one that adds positions."""

    side: str  # "source": what is read beside; "tokens": where answers are given
    embedding: str
    position: str


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Names of modules and patterns of names, as taps take them; an empty one: this family has no such part.

    ``source_attention`` is where the source is read, ``state_path`` the module along which the past travels,
    ``depth_path`` those that show the states on their way to an answer, layer by layer. ``reading`` names the
    attributes that are needed to read a text: the others write, and a head of a task takes their place. ``entrances``
    are where tokens come in.
    """

    source_attention: str = ""
    state_path: str = ""
    depth_path: str = ""
    reading: tuple[str, ...] = ()
    entrances: tuple[Entrance, ...] = ()


@runtime_checkable
class HasAnatomy(Protocol):
    """A model that says what its parts are called."""

    anatomy: Anatomy


def anatomy_of(model: nn.Module) -> Anatomy:
    """What the model declares; a model that declares nothing (a body with a head among them) has no named parts."""
    return model.anatomy if isinstance(model, HasAnatomy) else Anatomy()

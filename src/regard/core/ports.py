"""Ports: what the data fixes about a model, one for each side that it reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from regard.core.errors import RecipeError

INPUT, OUTPUT = "input", "output"
CHOSEN_BY = {INPUT: "[input]", OUTPUT: "task.kind"}
"""The keys of a recipe that decide what a side is."""


@dataclass(frozen=True, slots=True)
class Port:
    """What goes in or comes out on one side."""

    @property
    def what(self) -> str:
        """In words, for messages."""
        return "something"


@dataclass(frozen=True, slots=True)
class Tokens(Port):
    """Symbols of a vocabulary. Ports that name the same vocabulary may share one embedding."""

    size: int
    vocabulary: str = "joint"

    @property
    def what(self) -> str:
        return f"tokens of a vocabulary of {self.size}"


@dataclass(frozen=True, slots=True)
class Arrays(Port):
    """Numbers on a grid: (28, 28) rows and columns of a picture; one axis for a series, three for video."""

    channels: int
    shape: tuple[int, ...]

    @property
    def what(self) -> str:
        return f"arrays of {' × '.join(map(str, self.shape))} with {self.channels} channels"


@dataclass(frozen=True, slots=True)
class Nodes(Port):
    """Nodes of a graph, in any order: so many numbers of each, and so many of each pair (features of edges, distances).

    ``pairs`` is 0 where nothing but the edges themselves is known of a pair.
    """

    features: int
    pairs: int = 0
    distances: bool = False  # whether how far two nodes stand apart is among what is known of a pair

    @property
    def what(self) -> str:
        return f"nodes of a graph with {self.features} features"


Ports = Mapping[str, Port]
AnyPort = TypeVar("AnyPort", bound=Port)


def text_ports(inputs: int, outputs: int, *, shared: bool = False) -> dict[str, Port]:
    """The ports of a model that reads one vocabulary and writes another, or one for both."""
    names = ("joint", "joint") if shared else ("source", "target")
    return {INPUT: Tokens(inputs, names[0]), OUTPUT: Tokens(outputs, names[1])}


def tokens_at(ports: Ports, side: str, family: str) -> Tokens:
    """The port of a side that must be tokens; the family that needs it is named where it is not."""
    return _port_at(ports, side, Tokens, f"{family!r} {'reads' if side == INPUT else 'writes'} tokens")


def arrays_at(ports: Ports, side: str, family: str) -> Arrays:
    """The port of a side that must be arrays."""
    return _port_at(ports, side, Arrays, f"{family!r} reads pictures and other arrays")


def nodes_at(ports: Ports, side: str, family: str) -> Nodes:
    """The port of a side that must be the nodes of a graph."""
    return _port_at(ports, side, Nodes, f"{family!r} reads graphs")


def _port_at(ports: Ports, side: str, wanted: type[AnyPort], needs: str) -> AnyPort:
    port = ports.get(side)
    if isinstance(port, wanted):
        return port
    found = "nothing" if port is None else port.what
    raise RecipeError(
        f"model.kind = {needs}, and the {side} of this recipe is {found}; choose another model.kind, or another "
        f"{CHOSEN_BY[side]}"
    )


def share_vocabulary(ports: Ports) -> bool:
    """Whether both sides may have one embedding."""
    one, other = ports.get(INPUT), ports.get(OUTPUT)
    return isinstance(one, Tokens) and isinstance(other, Tokens) and one.vocabulary == other.vocabulary

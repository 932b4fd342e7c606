"""What a user hints and what was found in files: hints, facts, and a discovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Hints:
    """What the user has said already; "" where nothing was said. Columns are names, or numbers counted from 1."""

    task: str = ""
    source_column: str = ""
    target_column: str = ""
    text_column: str = ""
    second_column: str = ""  # of a second text, where a label belongs to two
    label_column: str = ""

    def columns(self) -> dict[str, str]:
        """The columns that are named, by the name of the hint."""
        return {name: value for name, value in asdict(self).items() if value and name != "task"}


def option(name: str) -> str:
    """How a hint is written on the command line."""
    return f"--{name.replace('_', '-')}"


class LengthSummary(NamedTuple):
    """How a length is distributed."""

    median: int = 0
    mean: float = 0.0
    p95: int = 0  # 95 % are at most so long
    p99: int = 0
    longest: int = 0

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Self:
        if not len(lengths):
            return cls()
        held = np.asarray(lengths)
        median, p95, p99 = (int(one) for one in np.percentile(held, (50, 95, 99), method="inverted_cdf"))
        return cls(median, float(held.mean()), p95, p99, int(held.max()))


class Facts(Protocol):
    """What was measured of one side of the data, whatever it is made of."""

    @property
    def name(self) -> str:
        """The column or file."""
        ...

    @property
    def examples(self) -> int: ...

    def sentences(self) -> tuple[str, ...]:
        """The same for a reader."""
        ...


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Texts of one side, lengths, signs and words measured in evenly taken ones (``measured`` of them)."""

    name: str
    examples: int
    measured: int
    words: LengthSummary
    characters: LengthSummary
    distinct: int  # different texts, of all
    alphabet: int  # different characters
    characters_total: int  # of all, estimated where not all were measured
    scripts: Mapping[str, float] = field(default_factory=dict)  # shares of letters, largest first
    spaced: bool = True  # whether most texts consist of words or symbols with spaces between them
    word_length: float = 0.0  # characters of a word, on the average
    words_measured: int = 0
    distinct_words: int = 0  # of those
    samples: tuple[str, ...] = ()
    unit: str = "text"  # what counts as one: a line of running text, else a text

    def sentences(self) -> tuple[str, ...]:
        words, signs = self.words, self.characters
        length, unit = (words, "words") if self.spaced else (signs, "characters, without spaces")
        most = f"5 % have more than {length.p95:,}, longest {length.longest:,}"
        lengths = f"{self.name}: median {length.median:,} {unit}, {most}"
        shares = ", ".join(f"{script} {percent(share)}" for script, share in self.scripts.items())
        told = f"{self.name}: {self.alphabet:,} different characters; scripts: {shares or 'no letters'}"
        return lengths, told


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """Pictures, of which evenly taken ones (``measured`` of them) were opened."""

    name: str
    examples: int
    measured: int
    sizes: Mapping[tuple[int, int], int]  # rows and columns, the most frequent first
    modes: Mapping[str, int]  # grey, colour
    unreadable: tuple[str, ...] = ()  # paths, with what is wrong
    samples: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        shown = ", ".join(f"{columns} × {rows} ({count:,})" for (rows, columns), count in [*self.sizes.items()][:5])
        more = f" and {len(self.sizes) - 5:,} other sizes" if len(self.sizes) > 5 else ""
        modes = ", ".join(f"{mode} {count:,}" for mode, count in self.modes.items())
        told = [f"{self.name}: of {self.measured:,} that were opened, width × height {shown}{more}; {modes}"]
        if self.unreadable:
            listed = "; ".join(self.unreadable[:5])
            told.append(f"{len(self.unreadable):,} of {self.measured:,} cannot be read: {listed}")
        return tuple(told)


@dataclass(frozen=True, slots=True)
class SoundFacts:
    """Sounds, all of which were decoded."""

    name: str
    examples: int
    rates: Mapping[int, int]  # samples a second, the most frequent first
    milliseconds: LengthSummary

    def sentences(self) -> tuple[str, ...]:
        rates = ", ".join(f"{rate:,} Hz ({count:,})" for rate, count in self.rates.items())
        length = self.milliseconds
        median, p95, longest = (one / 1000 for one in (length.median, length.p95, length.longest))
        lengths = f"median {median:.2g} s, 5 % have more than {p95:.2g} s, longest {longest:.3g} s"
        return (f"{self.name}: {lengths}; {rates}",)


@dataclass(frozen=True, slots=True)
class SeriesFacts:
    """Series: whole ones that have a class each, or one that goes on."""

    name: str
    examples: int  # series with classes; steps that are learned from where one goes on
    channels: tuple[str, ...]
    steps: LengthSummary
    step: str = ""  # what lies between two values, in words; "": unknown
    season: int = 0  # steps after which things recur, as the times say; 0: unknown

    def sentences(self) -> tuple[str, ...]:
        channels = numbered(len(self.channels), "channel")
        if not self.step:
            longest = f"5 % have more than {self.steps.p95:,}, longest {self.steps.longest:,}"
            return (f"{self.name}: {channels}, median {self.steps.median:,} steps, {longest}",)
        shown = ", ".join(self.channels[:8]) + (" …" if len(self.channels) > 8 else "")
        return (f"{self.name}: {self.steps.longest:,} steps of {self.step}, {channels}: {shown}",)


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """Graphs, all of which were read."""

    name: str
    examples: int
    nodes: LengthSummary
    edges: LengthSummary

    def sentences(self) -> tuple[str, ...]:
        nodes, edges = self.nodes, self.edges
        return (
            f"{self.name}: median {nodes.median:,} nodes and {edges.median:,} edges, 5 % have more than {nodes.p95:,} "
            f"nodes, the largest {nodes.longest:,}",
        )


@dataclass(frozen=True, slots=True)
class Discovery:
    """What files hold, and how a recipe reads them. ``data`` is its whole table [data], with absolute paths."""

    task: str
    data: Mapping[str, Any]
    observations: tuple[str, ...]
    reasons: tuple[str, ...]
    inputs: Facts
    outputs: TextFacts | None = None
    labels: Mapping[str, int] = field(default_factory=dict)  # with counts, the most frequent first
    examples: Mapping[str, int] = field(default_factory=dict)  # by split, about so many of those set aside; else lines
    duplicates: int = 0  # training examples that are there earlier too
    skipped: int = 0  # that lack something
    warnings: tuple[str, ...] = ()


def percent(share: float) -> str:
    """A share in words that never rounds something to nothing."""
    if 0 < share < 0.01:
        return "under 1 %"
    return f"over {int(share * 100)} %" if 0.99 < share < 1 else f"{share * 100:.0f} %"


def numbered(count: int, thing: str, several: str = "") -> str:
    return f"{count:,} {thing if count == 1 else several or f'{thing}s'}"

"""Sounds by reference, opened only when they are needed; and what is to be said of them: a class, or a text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from regard.core.errors import DataError
from regard.data.examples import OneInput, OneLabelled


@runtime_checkable
class Sound(Protocol):
    """Something that can be heard: a file, samples at hand, or the recipe of a sound that is made when it is asked for.

    Law: ``samples()`` gives ``count`` numbers from −1 to 1, so many of them a second as ``rate`` says, always the same.
    """

    @property
    def rate(self) -> int: ...

    @property
    def count(self) -> int: ...

    def samples(self) -> np.ndarray: ...

    def record(self) -> dict[str, Any]:
        """As a run folder keeps it, where it can be kept."""
        ...


@dataclass(frozen=True, slots=True)
class SoundFile:
    """Where a sound is found, as it was when its file was looked at. Two with the same digest are the same sound."""

    path: str
    rate: int
    count: int
    digest: str = field(default="", compare=False)  # of the samples in one channel

    def __str__(self) -> str:
        return self.path

    def samples(self) -> np.ndarray:
        from regard.data.modalities.audio.decoding import read_sound

        return read_sound(self.path).samples_N

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Waveform:
    """Samples that are there already, in one channel."""

    samples_N: np.ndarray
    rate: int

    def __post_init__(self) -> None:
        if self.samples_N.ndim != 1 or not len(self.samples_N) or not np.isfinite(self.samples_N).all():
            raise DataError(
                f"an array of shape {self.samples_N.shape} is not a sound; finite samples of one channel are expected, "
                "as a line of numbers from −1 to 1"
            )

    def __str__(self) -> str:
        return "a sound"

    @property
    def count(self) -> int:
        return len(self.samples_N)

    def samples(self) -> np.ndarray:
        return self.samples_N.astype(np.float32)

    def record(self) -> dict[str, Any]:
        raise DataError("samples are not kept in a run folder; name files")


def key_of(sound: Any) -> Hashable:
    """By what two sounds are known to be the same."""
    return sound.digest or sound.path if isinstance(sound, SoundFile) else sound


SoundExample = TypeVar("SoundExample", bound="LabelledSound | SpokenText")


def from_record(kind: type[SoundExample], record: Mapping[str, Any]) -> SoundExample:
    """An example as a run folder keeps it."""
    fields = dict(record)
    return kind(SoundFile(**fields.pop("raw")), **fields)


@dataclass(frozen=True, slots=True)
class LabelledSound(OneLabelled[Any]):
    """A sound and the class that it belongs to."""

    def key(self) -> Hashable:
        return key_of(self.raw)

    def record(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("label", "group", "line", "origin")}
        return {"raw": self.raw.record(), **own}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return from_record(cls, record)


@dataclass(frozen=True, slots=True)
class SpokenText(OneInput[Any]):
    """A sound and the text that is heard in it."""

    raw: Any
    target: str
    line: int = 0
    origin: str = ""

    def key(self) -> Hashable:
        return key_of(self.raw)

    def answer(self) -> Hashable:
        return self.target

    def sides(self) -> tuple[Iterable[str], ...]:
        """A tokenizer learns from what is written alone."""
        return ((self.target,),)

    def record(self) -> dict[str, Any]:
        return {"raw": self.raw.record(), "target": self.target, "line": self.line, "origin": self.origin}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return from_record(cls, record)

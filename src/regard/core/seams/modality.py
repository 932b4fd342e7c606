"""Modality: how raw inputs of one kind become numbers and back, and what that fixes about a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from regard.core.inputs import Axis, Inputs
    from regard.core.ports import Port


@runtime_checkable
class Modality(Protocol):
    """One kind of input: texts, pictures. A raw input is what a data source gives, an item what a model is fed with.

    Laws: ``encode`` looks at one input alone; a modality that was saved and loaded does the same; padding that
    ``collate`` adds is invisible to a model. ``lazy`` says that encoding takes time and memory (pictures are decoded),
    so that it is done when an example is needed, ahead of the step, not once for all.
    """

    @property
    def lazy(self) -> bool: ...

    @property
    def max_length(self) -> int:
        """Positions that are read of an input; 0: all."""
        ...

    @property
    def at_once(self) -> int:
        """Positions of a batch when inputs are answered or scored."""
        ...

    @property
    def name(self) -> str:
        """What its inputs are called in messages: text, picture."""
        ...

    def port(self) -> Port:
        """What it fixes about a model."""
        ...

    def parse(self, argument: str) -> Any:
        """A word of the command line as a raw input: the text itself, or what stands behind a path."""
        ...

    def limited(self, max_length: int, keep: str) -> Modality:
        """The same, reading at most so many positions of an input (0: its usual limit)."""
        ...

    def encode(self, raws: Sequence[Any]) -> Sequence[Any]:
        """Items, one for each raw input, in order."""
        ...

    def augment(self, item: Any, generator: np.random.Generator) -> Any:
        """A training item changed by chance; the same generator gives the same item."""
        ...

    def size(self, item: Any) -> int:
        """How many positions it takes, for batches."""
        ...

    def cut(self, item: Any) -> int:
        """How many positions of the raw input found no room."""
        ...

    def collate(self, items: Sequence[Any]) -> Inputs: ...

    def axis(self, item: Any) -> Axis:
        """What is written beside its positions where attention is drawn."""
        ...

    def describe(self, item: Any) -> str:
        """The input in words: the text itself, or where the picture is found."""
        ...

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> Sequence[Any]:
        """Items of no meaning, for checks: at most so many positions long, of different sizes where they have some."""
        ...

    def save(self, folder: Path) -> None: ...


@runtime_checkable
class Corrects(Protocol):
    """A modality that reads some inputs not quite as they are (sounds of another rate)."""

    def correction(self, raw: Any) -> str:
        """What is different, in words; nothing where it is read as it is."""
        ...


@runtime_checkable
class Summarises(Protocol):
    """A modality that says of each input in equally many numbers what it is like, for simple methods to learn from."""

    @property
    def summary_name(self) -> str:
        """What the numbers are: spectrogram."""
        ...

    def summaries(self, raws: Sequence[Any]) -> np.ndarray:
        """features_NF."""
        ...


@runtime_checkable
class ShowsPixels(Protocol):
    """A modality whose inputs can be drawn."""

    def pixels(self, item: Any) -> np.ndarray:
        """pixels_HWC, bytes, as the model is shown them."""
        ...

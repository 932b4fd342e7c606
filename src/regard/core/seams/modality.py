"""Modality: how raw inputs of one kind become numbers and back, and what that fixes about a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from regard.core.inputs import Axis, Drawing, Inputs
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
    def batch_positions(self) -> int:
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
class CutsWindows(Modality, Protocol):
    """A modality of inputs that go on in time, of which windows are read and what comes next is asked.

    Law: of the steps that lie ahead of a window nothing but their times has influence on its item.
    """

    @property
    def channels(self) -> tuple[str, ...]:
        """What is measured at every step, by name; in the order of ``Inputs.scale_B2C``."""
        ...

    def windowed(self, length: int, season: int = 0) -> CutsWindows:
        """The same for windows of so many steps, those ahead among them, which are filled with what was a season ago
        (0: with the mean of what is read)."""
        ...

    def values(self, item: Any) -> np.ndarray:
        """values_NC of an item, as they are read: normalised, and filled where one is missing."""
        ...


@runtime_checkable
class MixesLengths(Protocol):
    """A modality whose training batches hold inputs of any size, if it ``mixes_lengths``. Others hold inputs that are
    alike in length, which costs less padding; where the size tells much of the answer, as of a molecule, such a batch
    would have one answer alone."""

    @property
    def mixes_lengths(self) -> bool: ...


@runtime_checkable
class ShowsPixels(Protocol):
    """A modality whose inputs can be drawn."""

    def pixels(self, item: Any) -> np.ndarray:
        """pixels_HWC, bytes, as the model is shown them."""
        ...


@runtime_checkable
class AugmentsEncoded(Protocol):
    """A modality that is not ``lazy``, and that changes encoded items by chance in every epoch, if it ``augments``."""

    @property
    def augments(self) -> bool: ...


@runtime_checkable
class CountsParts(Protocol):
    """A modality that can say what an input is made of, so that simple methods can learn from it."""

    def part_counts(self, raws: Sequence[Any]) -> Mapping[str, Sequence[Mapping[str, float]]]:
        """By the name of a way to count (atoms and bonds), how much of what there is in each input."""
        ...


@runtime_checkable
class DrawsNodes(Protocol):
    """A modality whose inputs are drawn as nodes with lines between them."""

    def drawing(self, item: Any) -> Drawing | None:
        """Where they stand; nothing where they are too many."""
        ...


@runtime_checkable
class DescribesNodes(Protocol):
    """A modality of inputs that have nodes, of each of which something is known by itself."""

    def node_values(self, raw: Any) -> np.ndarray:
        """values_NC."""
        ...


@runtime_checkable
class CutsParts(Protocol):
    """A modality of inputs so large that one looks at a part of them."""

    def part_around(self, item: Any, place: int, reach: int) -> tuple[Any, int]:
        """The item of what stands around a place, at most ``reach`` steps away (0: anything), as far as it can be
        drawn; and the place in it. Law: what is known of the places that stay does not change."""
        ...


@runtime_checkable
class HoldsSeveral(Protocol):
    """A modality some of whose files hold several inputs."""

    def members(self, argument: str) -> Sequence[str]:
        """The words that stand for each of the inputs behind a word of the command line; itself where it is one."""
        ...


@runtime_checkable
class Mixes(Protocol):
    """A modality that can make one training item of two.

    Law: both are drawn by the generator alone, so that a mixture belongs to its example and not to a batch.
    """

    @property
    def mixes(self) -> bool:
        """Whether it is to be done."""
        ...

    def mix(self, item: Any, other: Any, generator: np.random.Generator) -> tuple[Any, float]:
        """The mixture, and the share that the first has in it."""
        ...


@runtime_checkable
class Preprocesses(Protocol):
    """A modality whose inputs are prepared by a few settings, which others can follow without our code."""

    def preprocessing(self) -> dict[str, Any]: ...

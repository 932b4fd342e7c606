"""The image modality: pictures of one size, normalised by what training pictures are like on the average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field, model_validator

from regard.core.config import parse
from regard.core.errors import DataError, RunError
from regard.core.files import read_object, write_json
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Arrays
from regard.data import TokenizerPart
from regard.data.modalities import ModalityPart, check_not_cut, named_file
from regard.data.modalities.both import Modalities
from regard.data.modalities.image.augmenting import UNCHANGED, Augmentation, Change, apply_changes
from regard.data.modalities.image.decoding import Raw, picture_size, read_batch
from regard.data.modalities.image.mixing import Mixture, draw_mixture, mix
from regard.data.modalities.image.opening import opened
from regard.data.modalities.image.pictures import Picture
from regard.data.modalities.image.reading import picture_among
from regard.data.modalities.image.resizing import Frame, Resample, Resize, both_sides, rows_and_columns

FILE = "image.json"
MEASURED = 10_000  # pictures, from which means and standard deviations are taken
AT_ONCE = 500  # of them
BRIGHTEST = 255
LEAST = 1e-4  # of a standard deviation; below, it is rounding


class ImagePart(ModalityPart):
    """Pictures: their size and channels, how they are normalised, and what is done to them in training."""

    unit = "pictures"
    example = "picture.png"
    file = FILE

    kind: str = "image"
    size: int | tuple[int, ...] = 0  # rows and columns, or one number for both; 0: those of the first training picture
    channels: Literal[1, 3] = 3  # grey or colour, whatever the files have
    resize: Resize = "crop"  # crop: the shorter side fits, the middle is cut out; stretch: proportions are lost
    resized: int | tuple[int, ...] = 0  # size before the middle is cut out (of crop: of the shorter side); 0: none
    resample: Resample = "bilinear"  # how pixels are weighed in resizing
    decode: Literal["fast", "exact"] = "fast"  # fast: large JPEGs at a part of their size; exact: pixel by pixel
    mean: tuple[float, ...] = ()  # of each channel, from 0 (black) to 1; (): measured in training pictures
    std: tuple[float, ...] = ()
    augmentation: Augmentation = Field(default_factory=Augmentation)

    @model_validator(mode="after")
    def _fits(self) -> ImagePart:
        self._check_resized(rows_and_columns(self.size, "a picture size", "[28, 28]"))
        for name, given in (("mean", self.mean), ("std", self.std)):
            if given and len(given) != self.channels:
                raise ValueError(f"{name} has {len(given)} values for {self.channels} channels; give one for each")
        if self.std and min(self.std) <= 0:
            raise ValueError(f"std = {list(self.std)} divides pixels; give numbers above 0")
        if self.channels == 1 and self.augmentation.saturation:
            raise ValueError("augmentation.saturation has no effect on grey pictures; leave it out")
        return self

    def _check_resized(self, size: tuple[int, ...]) -> None:
        before = self.before
        if before and (len(before) != (1 if self.resize == "crop" else 2) or not self.size):
            needs = "one number, of the shorter side" if self.resize == "crop" else "rows and columns, or one for both"
            raise ValueError(f'resized = {self.resized!r} with resize = "{self.resize}": give {needs}, and a size')
        if before and any(own < wanted for own, wanted in zip(before * 2, size, strict=False)):
            raise ValueError(f"resized = {self.resized!r} leaves nothing to cut {written(size)} out of; make it larger")

    @property
    def before(self) -> tuple[int, ...]:
        """The size before the middle is cut out: the shorter side, or rows and columns."""
        if not self.resized:
            return ()
        if isinstance(self.resized, int):
            return (self.resized,) * (1 if self.resize == "crop" else 2)
        return self.resized

    def frame(self, rows: int, columns: int) -> Frame:
        return Frame(self.channels, rows, columns, self.resize, self.before, self.resample, self.decode)

    @property
    def mixes(self) -> bool:
        return self.augmentation.mixes

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        return Modalities(self.measured([example.raw for example in corpus.splits["train"]]))

    def measured(self, raws: Sequence[Raw]) -> ImageModality:
        """Measures in training pictures what is not given."""
        if not raws:
            raise DataError("there are no pictures to measure; check data.train")
        rows, columns = both_sides(self.size)
        if not rows:
            rows, columns = picture_size(raws[0])
        frame = self.frame(rows, columns)
        mean, std = self.mean, self.std
        if not (mean and std):
            measured_mean, measured_std = measure(raws, frame)
            mean, std = mean or measured_mean, std or measured_std
        return ImageModality(frame, mean, std, self.augmentation)

    def given(self) -> ImageModality:
        """Of settings that say everything, so that nothing is measured."""
        rows, columns = both_sides(self.size)
        return ImageModality(self.frame(rows, columns), self.mean, self.std, self.augmentation)

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        """What ``ImageModality.save`` wrote; the rest is configured."""
        held = read_object(folder / FILE)
        try:
            (rows, columns), mean, std = held["shape"], tuple(held["mean"]), tuple(held["std"])
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{folder / FILE} should hold shape, mean and std: {error!r}; put the file back") from error
        return Modalities(ImageModality(self.frame(rows, columns), mean, std, self.augmentation))


    def continued(self, before: ModalityPart) -> ModalityPart:
        """Pictures are normalised as they were; their size and what training does to them may differ."""
        if not isinstance(before, ImagePart):
            return before
        own = {"size", "augmentation"} & self.model_fields_set
        return before.model_copy(update={key: getattr(self, key) for key in own})

    def sized(self, size: int | tuple[int, ...]) -> ImagePart:
        return parse(ImagePart, {**self.model_dump(), "size": size}, "the size of pictures")

    def taken_over(self, theirs: Modalities) -> Modalities:
        rows, columns = both_sides(self.size)
        if not rows or not isinstance(theirs.input, ImageModality):
            return theirs
        frame = theirs.input.frame._replace(rows=rows, columns=columns)
        return Modalities(replace(theirs.input, frame=frame))


class ImageItem(NamedTuple):
    """A picture that is still to be decoded, what is then done to it, and what it is mixed with."""

    raw: Raw
    change: Change = UNCHANGED
    other: ImageItem | None = None
    mixture: Mixture | None = None


@dataclass(frozen=True)
class ImageModality:
    """Pictures become pictures_BCHW of one size, normalised.

    Law: ``encode`` looks at one picture alone; what is loaded equals what was saved. Decoding happens in ``collate``,
    so that items are small, and a data set may be larger than memory.
    """

    frame: Frame
    mean: tuple[float, ...]
    std: tuple[float, ...]
    augmentation: Augmentation

    lazy = True
    batch_positions = 512
    max_length = 0
    name = "picture"

    def port(self) -> Arrays:
        return Arrays(self.frame.channels, (self.frame.rows, self.frame.columns))

    def parse(self, argument: str) -> Picture:
        """A word of the command line is a path, or ``path[3311]`` for one of many in an idx file, as tables of errors
        name it; what is no picture is refused before anything else happens."""
        among = picture_among(argument)
        if among is not None:
            return among
        path = named_file(argument, "picture")
        with opened(str(path)) as image:
            image.load()
        return Picture(str(path))

    def limited(self, max_length: int, keep: str) -> ImageModality:
        check_not_cut("pictures", max_length, keep, ", and set input.size for smaller ones")
        return self

    def encode(self, raws: Sequence[Raw]) -> list[ImageItem]:
        return [ImageItem(raw) for raw in raws]

    def augment(self, item: ImageItem, generator: np.random.Generator) -> ImageItem:
        """For training only; the generator is seeded by seed, epoch and index."""
        return item._replace(change=self.augmentation.draw(generator))

    @property
    def mixes(self) -> bool:
        return self.augmentation.mixes

    def mix(self, item: ImageItem, other: ImageItem, generator: np.random.Generator) -> tuple[ImageItem, float]:
        """Both in one, and the share of the first; for training only."""
        shape = self.frame.rows, self.frame.columns
        mixture = draw_mixture(generator, self.augmentation.mixup, self.augmentation.cutmix, shape)
        return item._replace(other=other, mixture=mixture), mixture.share

    def size(self, item: ImageItem) -> int:
        """Batches count pictures, since all of them have one size."""
        return 1

    def collate(self, items: Sequence[ImageItem]) -> Inputs:
        """Decodes, changes, normalises and mixes, in NumPy alone: it may run in a thread beside a training step."""
        values_BCHW = self.normalise(self.decode_batch(items))
        mixed = [(row, item.other, item.mixture) for row, item in enumerate(items)]
        pairs = [(row, other, mixture) for row, other, mixture in mixed if other is not None and mixture is not None]
        if pairs:
            others_BCHW = self.normalise(self.decode_batch([other for _, other, _ in pairs]))
            for (row, _, mixture), other_CHW in zip(pairs, others_BCHW, strict=True):
                mix(values_BCHW[row], other_CHW, mixture)
        return Inputs(torch.from_numpy(values_BCHW))

    def cut(self, item: ImageItem) -> int:
        return 0

    def axis(self, item: ImageItem) -> Axis:
        """Its pixels; a front makes fewer positions of them."""
        return Axis((), (self.frame.rows, self.frame.columns))

    def describe(self, item: ImageItem) -> str:
        return str(item.raw) if isinstance(item.raw, Picture) else "a picture"

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[ImageItem]:
        shape = rows, self.frame.rows, self.frame.columns, self.frame.channels
        return [ImageItem(noise_HWC) for noise_HWC in generator.integers(0, 256, shape, np.uint8)]

    def decode_batch(self, items: Sequence[ImageItem]) -> np.ndarray:
        """pixels_BCHW, bytes, of the pictures as the model is shown them."""
        changes = [item.change for item in items]
        fill = [round(BRIGHTEST * mean) for mean in self.mean]
        return apply_changes(
            read_batch([item.raw for item in items], self.frame), changes, self.augmentation.padding, fill
        )

    def normalise(self, pixels_BCHW: np.ndarray) -> np.ndarray:
        """(pixel / 255 − mean) / std of each channel."""
        mean_C11, std_C11 = (np.array(own, np.float32)[:, None, None] for own in (self.mean, self.std))
        values = pixels_BCHW.astype(np.float32)
        values *= 1 / (BRIGHTEST * std_C11)
        values -= mean_C11 / std_C11
        return values

    def pixels(self, item: ImageItem) -> np.ndarray:
        """pixels_HWC, bytes: the picture as the model is shown it, for drawing."""
        return self.decode_batch([item])[0].transpose(1, 2, 0)

    def preprocessing(self) -> dict[str, Any]:
        """Size, channels, how a picture comes to them, and how pixels from 0 to 1 are normalised."""
        frame = self.frame
        sizes = {"channels": frame.channels, "shape": [frame.rows, frame.columns]}
        way = {"resize": frame.resize, "resized": list(frame.resized), "resample": frame.resample}
        return {**sizes, **way, "mean": list(self.mean), "std": list(self.std)}

    def save(self, folder: Path) -> None:
        shape = [self.frame.rows, self.frame.columns]
        write_json(folder / FILE, {"shape": shape, "mean": list(self.mean), "std": list(self.std)})


def written(size: Sequence[int]) -> str:
    return " × ".join(map(str, size))


def measure(raws: Sequence[Raw], frame: Frame) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel's pixels, from 0 to 1, over pictures that are evenly taken."""
    chosen = raws[:: -(-len(raws) // MEASURED)]
    counts, total_C, squares_C = 0, np.zeros(frame.channels), np.zeros(frame.channels)
    for start in range(0, len(chosen), AT_ONCE):
        pixels = read_batch(chosen[start : start + AT_ONCE], frame).astype(np.float64) / BRIGHTEST
        counts += pixels.size // frame.channels
        total_C += pixels.sum(axis=(0, 2, 3))
        squares_C += np.square(pixels).sum(axis=(0, 2, 3))
    mean_C = total_C / counts
    std_C = np.sqrt(np.maximum(squares_C / counts - mean_C**2, 0))
    std_C[std_C < LEAST] = 1.0  # all pixels alike: there is nothing to divide
    return tuple(mean_C.tolist()), tuple(std_C.tolist())

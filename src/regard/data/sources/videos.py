"""Clips with their classes: folders of numbered frames, and moving shapes that are made here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from regard.data import MOST_MADE, DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.sources.entries import ExampleEntry
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.splits import gathered

if TYPE_CHECKING:
    from regard.data.modalities.video.clips import LabelledClip

ORIGIN = "moving-shapes"


class VideoFiles(ExampleFiles[ExampleEntry, Any]):
    """A folder for each class, in it one for each clip; clips that cannot be read are skipped, counted and named."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    compressions: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "path/to/folder-of-class-folders"

    kind: str = "videos"

    def files_of(self, entry: ExampleEntry, key: str) -> Iterator[Found[ExampleEntry]]:
        yield Found(entry, (self.path(entry.file),))

    def read(self, found: Found[ExampleEntry], split: str, ledger: Ledger) -> list[LabelledClip]:
        from regard.data.modalities.video.reading import read_class_folders  # which needs Pillow

        return read_class_folders(found.paths[0], split, ledger)


class MovingShapesData(DataPart):
    """One shape moves beside up to two that stay. ``compositional`` has combinations of colour, shape and direction
    that training never shows, though it shows each of the three, and the answer does not name the colour."""

    files_kind: ClassVar[str] = "videos"

    kind: str = "moving-shapes"
    train_size: int = Field(default=6000, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=300, ge=0, le=MOST_MADE)
    test_size: int = Field(default=1000, ge=0, le=MOST_MADE)
    compositional_size: int = Field(default=1000, ge=0, le=MOST_MADE)
    asked: Literal["both", "shape", "direction"] = "both"  # what the label says of that which moves

    def load(self, seed: int, ledger: Ledger) -> Corpus[LabelledClip]:
        sizes = {
            "train": self.train_size, "validation": self.validation_size, "test": self.test_size,
            "compositional": self.compositional_size,
        }  # fmt: skip
        generator, splits, first = np.random.default_rng(seed), {}, 4 * seed * MOST_MADE
        for number, (split, size) in enumerate(sizes.items()):
            splits[split] = self.made(size, split == "compositional", first + number * MOST_MADE, generator)
        return Corpus(gathered(splits, ORIGIN, ledger), ledger)

    def made(self, size: int, held_out: bool, first: int, generator: np.random.Generator) -> list[LabelledClip]:
        from regard.data.modalities.video.clips import LabelledClip
        from regard.data.modalities.video.moving_shapes import (
            COLOURS,
            DIRECTIONS,
            SHAPES,
            MovingShapes,
            is_held_out,
        )

        there = [one for one in product(COLOURS, SHAPES, DIRECTIONS) if is_held_out(*one) == held_out]
        clips = [
            MovingShapes(colour, shape, direction, first + line)
            for line, (colour, shape, direction) in enumerate(
                (there[place] for place in generator.integers(len(there), size=size)), start=1
            )
        ]
        labels = {"both": "{0.shape} {0.direction}", "shape": "{0.shape}", "direction": "{0.direction}"}
        return [
            LabelledClip(clip, labels[self.asked].format(clip), line=clip.seed - first, origin=ORIGIN)
            for clip in clips
        ]

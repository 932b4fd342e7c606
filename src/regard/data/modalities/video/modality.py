"""The video modality: clips of any length become arrays of frames × rows × columns, normalised as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field, model_validator

from regard.core.errors import DataError, RunError
from regard.core.files import read_object, write_json
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Arrays
from regard.data import TokenizerPart
from regard.data.modalities import ModalityPart, check_not_cut
from regard.data.modalities.both import Modalities
from regard.data.modalities.image.decoding import in_frame, read_pixels
from regard.data.modalities.image.resizing import Frame, Resize, both_sides, rows_and_columns
from regard.data.modalities.video.clips import Clip, FrameFolder, Frames
from regard.data.modalities.video.reading import read_clip

FILE = "video.json"
MEASURED = 100  # clips, from which means and standard deviations are taken
WHOLE = 12  # frames, of which the longest clip has a multiple, so that blocks of usual lengths divide it
SUMMARY = 16  # rows and columns of the first frame, for simple methods
BRIGHTEST = 255
LEAST = 1e-4  # of a standard deviation; below, it is rounding


class VideoPart(ModalityPart):
    """Videos: how many frames are read of a clip, and how large they are."""

    unit = "frames"
    example = "folder-of-frames"
    file = FILE

    kind: str = "video"
    frames: int = Field(0, ge=0)  # of the longest; of longer clips so many are taken, evenly. 0: as training has them
    size: int | tuple[int, ...] = 0  # rows and columns, or one number for both; 0: those of the first training clip
    channels: Literal[1, 3] = 3  # grey or colour, whatever the files have
    resize: Resize = "crop"  # crop: the shorter side fits, the middle is cut out; stretch: proportions are lost

    @model_validator(mode="after")
    def _fits(self) -> VideoPart:
        rows_and_columns(self.size, "the size of a frame", "[32, 32]")
        return self

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        return Modalities(self.measured([example.input for example in corpus.splits["train"]]))

    def measured(self, clips: Sequence[Clip]) -> VideoModality:
        """Measures in training clips what is not given."""
        if not clips:
            raise DataError("there are no clips to measure; check data.train")
        rows, columns = both_sides(self.size)
        if not rows:
            rows, columns = clips[0].size
        frames = self.frames or -(-max(clip.count for clip in clips) // WHOLE) * WHOLE
        nothing = (0.0,) * self.channels
        unscaled = VideoModality(self, frames, (rows, columns), nothing, (1.0,) * self.channels)
        chosen = clips[:: -(-len(clips) // MEASURED)]
        pixels_NC = np.concatenate([
            unscaled.decoded(item).transpose(0, 2, 3, 1).reshape(-1, self.channels)
            for item in unscaled.encode(chosen)
        ]) / BRIGHTEST  # fmt: skip
        std_C = pixels_NC.std(axis=0)
        std_C[std_C < LEAST] = 1.0  # all pixels alike: there is nothing to divide
        mean = tuple(pixels_NC.mean(axis=0).tolist())
        return VideoModality(self, frames, (rows, columns), mean, tuple(std_C.tolist()))

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        """What ``VideoModality.save`` wrote; the rest is configured."""
        held = read_object(folder / FILE)
        try:
            rows, columns = held["size"]
            found = held["frames"], (rows, columns), tuple(held["mean"]), tuple(held["std"])
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{folder / FILE} should hold frames, size, mean and std: {error!r}; put it back") from error
        return Modalities(VideoModality(self, *found))


class VideoItem(NamedTuple):
    """A clip that is still to be decoded, and which of its frames are read."""

    raw: Clip
    places: tuple[int, ...]


@dataclass(frozen=True)
class VideoModality:
    """Clips become arrays_BCTHW, as long as the longest of a batch.

    Law: ``encode`` looks at one clip alone; what is loaded equals what was saved. Decoding happens in ``collate``, so
    that items are small.
    """

    config: VideoPart
    frames: int
    frame_size: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    lazy = True
    batch_positions = 512
    max_length = 0
    name = "video"

    @property
    def frame(self) -> Frame:
        return Frame(self.config.channels, *self.frame_size, self.config.resize)

    def port(self) -> Arrays:
        return Arrays(self.config.channels, (self.frames, *self.frame_size))

    def parse(self, argument: str) -> FrameFolder:
        """A word of the command line is a folder of numbered frames."""
        path = Path(argument).expanduser()
        if not path.is_dir():
            there = "is a file" if path.exists() else "does not exist"
            raise DataError(f"{argument} {there}, and a clip is a folder of numbered frames; name one")
        return read_clip(path)

    def limited(self, max_length: int, keep: str) -> VideoModality:
        check_not_cut("videos", max_length, keep, ", and set input.frames if fewer are to be read")
        return self

    def encode(self, raws: Sequence[Any]) -> list[VideoItem]:
        clips = [Frames(raw) if isinstance(raw, np.ndarray) else raw for raw in raws]
        return [VideoItem(clip, evenly(clip.count, self.frames)) for clip in clips]

    def augment(self, item: VideoItem, generator: np.random.Generator) -> VideoItem:
        return item

    def size(self, item: VideoItem) -> int:
        return len(item.places)

    def cut(self, item: VideoItem) -> int:
        return 0  # frames are taken evenly; ``correction`` says so

    def correction(self, raw: Any) -> str:
        """What is not as its files have it."""
        count = len(raw) if isinstance(raw, np.ndarray) else raw.count
        return "" if count <= self.frames else f"longer than {self.frames} frames: so many were taken, evenly"

    def decoded(self, item: VideoItem) -> np.ndarray:
        """pixels_TCHW, bytes, as the model is shown them."""
        frame = self.frame
        return np.stack([frame_pixels(one, frame) for one in item.raw.frames(item.places)])

    def collate(self, items: Sequence[VideoItem]) -> Inputs:
        """Decodes and normalises; shorter clips end in zeros."""
        lengths = [len(one.places) for one in items]
        values_BCTHW = np.zeros((len(items), self.config.channels, max(lengths), *self.frame_size), np.float32)
        mean_C11, std_C11 = (np.array(own, np.float32)[:, None, None] for own in (self.mean, self.std))
        for row, item in enumerate(items):
            values_TCHW = (self.decoded(item).astype(np.float32) / BRIGHTEST - mean_C11) / std_C11
            values_BCTHW[row, :, : lengths[row]] = values_TCHW.transpose(1, 0, 2, 3)
        return Inputs(torch.from_numpy(values_BCTHW), torch.tensor(lengths))

    def axis(self, item: VideoItem) -> Axis:
        """Its frames and pixels; a front makes fewer positions of them."""
        return Axis((), (len(item.places), *self.frame_size))

    def describe(self, item: VideoItem) -> str:
        return str(item.raw)

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[VideoItem]:
        counts = np.linspace(self.frames, max(self.frames // 2, 1), rows).astype(int)
        shape = (*self.frame_size, self.config.channels)
        return self.encode([Frames(generator.integers(0, 256, (count, *shape), np.uint8)) for count in counts])

    @property
    def summary_name(self) -> str:
        return "first frame"

    def summaries(self, raws: Sequence[Any]) -> np.ndarray:
        """features_NF: the first frame of each, small."""
        small = self.frame._replace(rows=min(SUMMARY, self.frame_size[0]), columns=min(SUMMARY, self.frame_size[1]))
        first = [read_pixels(item.raw.frames((0,))[0], small) for item in self.encode(raws)]
        return np.stack(first).reshape(len(first), -1).astype(np.float32) / BRIGHTEST

    def pixels(self, item: VideoItem) -> np.ndarray:
        """pixels_HWC, bytes: all frames, one below the other."""
        return self.decoded(item).transpose(0, 2, 3, 1).reshape(-1, self.frame_size[1], self.config.channels)

    def save(self, folder: Path) -> None:
        held = {"frames": self.frames, "size": list(self.frame_size), "mean": list(self.mean), "std": list(self.std)}
        write_json(folder / FILE, held)


def frame_pixels(raw: Any, frame: Frame) -> np.ndarray:
    """pixels_CHW; an array that has the frame's form already is taken as it is."""
    if isinstance(raw, np.ndarray) and raw.ndim == 3 and in_frame(raw[None], frame):
        return raw.transpose(2, 0, 1)
    return read_pixels(raw, frame)


def evenly(count: int, most: int) -> tuple[int, ...]:
    """At most so many places of a clip, from the first to the last."""
    if count <= most:
        return tuple(range(count))
    return tuple(np.linspace(0, count - 1, most).round().astype(int).tolist())

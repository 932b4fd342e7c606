"""The audio modality: sounds of one rate and any length, as spectrograms or waveforms, normalised as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor

from regard.core.errors import DataError, RunError
from regard.core.files import read_object, write_json
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Arrays
from regard.data import TokenizerPart
from regard.data.modalities import ModalityPart, check_not_cut, named_file
from regard.data.modalities.audio.augmenting import UNCHANGED, Augmentation, Change, changed_samples, hide
from regard.data.modalities.audio.decoding import Cache, is_silent, read_sound
from regard.data.modalities.audio.drawing import drawn, summary
from regard.data.modalities.audio.features import FEATURES, Features, FeaturesPart, frames_of, there_BT
from regard.data.modalities.audio.resampling import resampled_count
from regard.data.modalities.audio.sounds import Sound, SoundFile, Waveform
from regard.data.modalities.both import Modalities

FILE = "audio.json"
MEASURED = 500  # sounds, from which means and standard deviations are taken
AT_ONCE = 50  # of them
LEAST = 1e-4  # of a standard deviation; below, it is rounding
WHOLE = 240  # frames, of which the longest sound has a multiple, so that patches of usual sizes divide it


class AudioPart(ModalityPart):
    """Sounds: their rate, what a model is given of them, and what is done to them in training."""

    unit = "frames"
    example = "clip.wav"
    file = FILE

    kind: str = "audio"
    rate: int = Field(0, ge=0)  # samples a second, to which others are resampled; 0: that of the first training sound
    seconds: float = Field(0.0, ge=0)  # of the longest; what is longer is cut. 0: as training has them, nothing is cut
    features: Annotated[SerializeAsAny[FeaturesPart], FEATURES] = Field(default_factory=FEATURES.make)
    augmentation: Augmentation = Field(default_factory=Augmentation)

    @model_validator(mode="after")
    def _has_effect(self) -> AudioPart:
        if self.augmentation.pitch_masks and not self.features.has_pitches:
            raise ValueError(
                f"augmentation.pitch_masks hide bands of pitch, and features.kind = {self.features.kind!r} has none; "
                "leave them out, or choose log-mel"
            )
        return self

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        return Modalities(self.measured([example.input for example in corpus.splits["train"]]))

    def measured(self, sounds: Sequence[Sound]) -> AudioModality:
        """Measures in training sounds what is not given."""
        if not sounds:
            raise DataError("there are no sounds to measure; check data.train")
        rate = self.rate or sounds[0].rate
        features = self.features.build(rate)
        samples = round(self.seconds * rate)
        longest = samples or max(resampled_count(one.count, one.rate, rate) for one in sounds)
        frames = -(-frames_of(features, longest) // WHOLE) * WHOLE
        unscaled = AudioModality(self, rate, frames, (0.0,), (1.0,))
        return AudioModality(self, rate, frames, *measure(unscaled, sounds))

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        """What ``AudioModality.save`` wrote; the rest is configured."""
        held = read_object(folder / FILE)
        try:
            found = held["rate"], held["frames"], tuple(held["mean"]), tuple(held["std"])
        except (KeyError, TypeError) as error:
            raise RunError(f"{folder / FILE} should hold rate, frames, mean and std: {error!r}; put it back") from error
        return Modalities(AudioModality(self, *found))


class SoundItem(NamedTuple):
    """A sound that is still to be decoded, how many frames of it are read and how many not, and how it is changed."""

    raw: Sound
    frames: int
    beyond: int = 0
    change: Change = UNCHANGED


@dataclass(frozen=True)
class AudioModality:
    """Sounds become arrays_BCTF, as long as the longest of a batch.

    Law: ``encode`` looks at one sound alone; what is loaded equals what was saved. Decoding happens in ``collate``, so
    that items are small; the latest sounds are kept, decoded and resampled.
    """

    config: AudioPart
    rate: int
    frames: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    cache: Cache = field(default_factory=Cache, repr=False, compare=False)

    lazy = True
    batch_positions = 20_000
    max_length = 0
    name = "sound"

    @cached_property
    def features(self) -> Features:
        return self.config.features.build(self.rate)

    @property
    def most_samples(self) -> int:
        """That are read of a sound; 0: all."""
        return round(self.config.seconds * self.rate)

    def port(self) -> Arrays:
        return Arrays(self.features.channels, (self.frames, *self.features.bins))

    def parse(self, argument: str) -> SoundFile:
        """A word of the command line is a path; what is no sound is refused before anything else happens."""
        path = named_file(argument, "sound")
        found = read_sound(path)
        if is_silent(found.samples_N):
            raise DataError(f"{path} is silent; check how it was recorded")
        return SoundFile(str(path), found.rate, len(found.samples_N))

    def limited(self, max_length: int, keep: str) -> AudioModality:
        check_not_cut("sounds", max_length, keep, ", and set input.seconds if long ones are to be cut")
        return self

    def encode(self, raws: Sequence[Sound]) -> list[SoundItem]:
        found = []
        for raw in raws:
            samples = resampled_count(raw.count, raw.rate, self.rate)
            read = min(samples, self.most_samples or samples)
            frames = frames_of(self.features, read)
            found.append(SoundItem(raw, frames, frames_of(self.features, samples) - frames))
        return found

    def augment(self, item: SoundItem, generator: np.random.Generator) -> SoundItem:
        """For training only; the generator is seeded by seed, epoch and index."""
        bins = self.features.bins[0] if self.features.bins else 1
        return item._replace(change=self.config.augmentation.draw(item.frames, bins, generator))

    def size(self, item: SoundItem) -> int:
        return item.frames

    def cut(self, item: SoundItem) -> int:
        return item.beyond

    def correction(self, raw: Sound) -> str:
        """What is not as its file has it."""
        return "" if raw.rate == self.rate else f"resampled from {raw.rate:,} to {self.rate:,} Hz"

    def samples(self, item: SoundItem) -> np.ndarray:
        """As the model hears them."""
        samples_N = self.cache.samples(item.raw, self.rate)[: self.most_samples or None]
        return changed_samples(samples_N, self.rate, item.change)

    def collate(self, items: Sequence[SoundItem]) -> Inputs:
        """Decodes, changes, transforms and normalises."""
        lengths_B = torch.tensor([one.frames for one in items])
        values_BTF = (self.values(items) - torch.tensor(self.mean)) / torch.tensor(self.std)
        hidden_BTF = hide(values_BTF, [one.change for one in items])
        padded_BT1 = ~there_BT(lengths_B, values_BTF.shape[1])[..., None]
        return Inputs(self.features.arranged(hidden_BTF.masked_fill(padded_BT1, 0.0)), lengths_B)

    def values(self, items: Sequence[SoundItem]) -> Tensor:
        """values_BTF, not normalised."""
        samples = [self.samples(one) for one in items]
        padded_BN = np.zeros((len(items), max(map(len, samples))), np.float32)
        for row, own_N in enumerate(samples):
            padded_BN[row, : len(own_N)] = own_N
        return self.features.values(torch.from_numpy(padded_BN))

    def axis(self, item: SoundItem) -> Axis:
        """Its frames; a front makes fewer positions of them."""
        return Axis((), (item.frames, *self.features.bins))

    def describe(self, item: SoundItem) -> str:
        return str(item.raw)

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[SoundItem]:
        most = max(self.frames * self.features.hop // 2, 1)
        counts = np.linspace(most, max(most // 3, 1), rows).astype(int)
        return self.encode([
            Waveform(generator.uniform(-0.5, 0.5, count).astype(np.float32), self.rate) for count in counts
        ])

    @property
    def summary_name(self) -> str:
        return "spectrogram"

    def summaries(self, raws: Sequence[Sound]) -> np.ndarray:
        """features_NF: the log-mel spectrogram of each, brought to one length."""
        return np.stack([summary(self.samples(item), self.rate) for item in self.encode(raws)])

    def pixels(self, item: SoundItem) -> np.ndarray:
        """pixels_HWC, bytes: the spectrogram; time runs down where the model reads time × pitch, else to the right."""
        return drawn(self.samples(item), self.rate, down=bool(self.features.bins))

    def save(self, folder: Path) -> None:
        held = {"rate": self.rate, "frames": self.frames, "mean": list(self.mean), "std": list(self.std)}
        write_json(folder / FILE, held)


def measure(modality: AudioModality, sounds: Sequence[Sound]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of the features of sounds that are evenly taken."""
    chosen = modality.encode(sounds[:: -(-len(sounds) // MEASURED)])
    count, total_F, squares_F = 0, torch.zeros(()), torch.zeros(())
    for start in range(0, len(chosen), AT_ONCE):
        items = chosen[start : start + AT_ONCE]
        values_BTF = modality.values(items)
        there_NF = values_BTF[there_BT(torch.tensor([one.frames for one in items]), values_BTF.shape[1])].double()
        count += len(there_NF)
        total_F = total_F + there_NF.sum(dim=0)
        squares_F = squares_F + there_NF.square().sum(dim=0)
    mean_F = total_F / count
    spread_F = (squares_F / count - mean_F.square()).clamp_min(0).sqrt()
    mean_F, spread_F = modality.features.shared(mean_F, spread_F)
    spread_F[spread_F < LEAST] = 1.0  # always the same: there is nothing to divide
    return tuple(mean_F.tolist()), tuple(spread_F.tolist())

"""From a file to samples: WAV by hand, what else ``soundfile`` reads where it is installed; in one channel."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError, OptionError
from regard.core.packages import optional
from regard.data.modalities.audio.resampling import resample
from regard.data.modalities.audio.sounds import Sound, Waveform
from regard.data.modalities.audio.wav import NotWav, is_wav, read_header, read_samples

SUFFIXES = (".wav", ".wave", ".ogg", ".oga", ".opus", ".flac", ".mp3", ".aif", ".aiff", ".au", ".caf")
"""By which files are known as sounds; the first two are read without further packages."""
SILENT = 1e-4  # the loudest sample of a sound in which there is nothing to hear: 80 dB below the loudest possible
MISSING = 'is read with soundfile, which is not installed; pip install "regard[audio]", or convert it to WAV'
KEPT_BYTES = 256 * 2**20


class Truncated(DataError):
    """A file that ends before its samples do."""


class Decoded(NamedTuple):
    """The samples of a sound in one channel, and how many there are a second."""

    samples_N: np.ndarray
    rate: int


def read_sound(path: str | Path) -> Decoded:
    """A file's samples; what is wrong with it is told in words, its name first."""
    try:
        return decoded(Path(path))
    except FileNotFoundError:
        raise DataError(f"no file {path}; check the path") from None
    except OptionError as error:
        raise OptionError(f"{path} {error}") from error
    except (DataError, OSError) as error:
        kind = type(error) if isinstance(error, DataError) else DataError
        raise kind(f"{path} is not a readable sound: {error}; replace the file, or remove it") from error


def decoded(path: Path) -> Decoded:
    with path.open("rb") as file:
        beginning = file.read(12)
        file.seek(0)
        if not beginning:
            raise Truncated("it is empty")
        if is_wav(beginning):
            try:
                header = read_header(file)
            except NotWav:
                return read_with_soundfile(path)  # another way to code samples
            check_complete(header.frames, header.expected_frames)
            samples_NC, rate = read_samples(file, header), header.format.rate
        else:
            return read_with_soundfile(path)
    return in_one_channel(samples_NC, rate)


def read_with_soundfile(path: Path) -> Decoded:
    soundfile = optional("soundfile", MISSING)
    try:
        with soundfile.SoundFile(path) as file:
            samples_NC = file.read(dtype="float32", always_2d=True)
            check_complete(len(samples_NC), file.frames)
            return in_one_channel(samples_NC, file.samplerate)
    except soundfile.LibsndfileError as error:
        raise DataError(error.error_string.strip().rstrip(".")) from error


def check_complete(found: int, expected: int) -> None:
    if found < expected:
        raise Truncated(f"it is truncated: {found:,} of {expected:,} samples are there")


def in_one_channel(samples_NC: np.ndarray, rate: int) -> Decoded:
    """The mean of all channels."""
    if not len(samples_NC):
        raise Truncated("it has no samples")
    if not np.isfinite(samples_NC).all():
        raise DataError("some of its samples are not finite numbers")
    return Decoded(samples_NC.mean(axis=1, dtype=np.float32), rate)


def is_silent(samples_N: np.ndarray) -> bool:
    return float(np.abs(samples_N).max(initial=0)) < SILENT


def is_sound(path: Path) -> bool:
    """By its name."""
    return path.suffix.lower() in SUFFIXES and path.is_file()


class Cache:
    """Sounds that were decoded and resampled before, the latest ones, up to so many bytes.

    Files of other formats and rates take longer to read than to learn from; an epoch finds them here.
    """

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self.limit, self.size = limit, 0
        self.kept: OrderedDict[Sound, np.ndarray] = OrderedDict()
        self.lock = Lock()  # batches are made in a thread beside the step

    def samples(self, sound: Sound, rate: int) -> np.ndarray:
        """A sound at this rate, which must always be the same."""
        if isinstance(sound, Waveform):
            return resample(sound.samples(), sound.rate, rate)
        with self.lock:
            if sound in self.kept:
                self.kept.move_to_end(sound)
                return self.kept[sound]
        made = resample(sound.samples(), sound.rate, rate)
        with self.lock:
            if sound not in self.kept:
                self.kept[sound] = made
                self.size += made.nbytes
            while self.size > self.limit:
                self.size -= self.kept.popitem(last=False)[1].nbytes
        return made

"""Pipelines of sounds: paths, samples or both their names in; labels with their scores out, or what is heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import OptionError
from regard.core.seams.capabilities import Classifies, Transcribes
from regard.data.modalities.audio.modality import AudioModality
from regard.data.modalities.audio.sounds import Waveform
from regard.serving.calling import Pipeline
from regard.serving.pictures import ADDRESSES, figure_of

SAMPLES = ("array", "raw")
"""Under which of their names a dict has samples."""


class OfSounds(Pipeline):
    """A sound is a path, an array of samples at the run's own rate, or ``{"array": …, "sampling_rate": …}``."""

    modality = AudioModality
    ignored = Pipeline.ignored | {"feature_extractor", "timeout"}

    def is_one(self, inputs: Any) -> bool:
        return isinstance(inputs, str | Path | np.ndarray | Mapping)

    def raws(self, inputs: Sequence[Any]) -> list[Any]:
        return [self.raw(one, place) for place, one in enumerate(inputs, start=1)]

    def raw(self, given: Any, place: int) -> Any:
        """A path is read as on the command line."""
        if isinstance(given, Waveform):
            return given
        if isinstance(given, str | Path):
            if str(given).startswith(ADDRESSES):
                raise OptionError(f"{given} is an address, and nothing is fetched; save the sound and give its path")
            return self.run.modalities.input.parse(str(given))
        if isinstance(given, np.ndarray):
            return self.waveform(given, self.rate)
        names = [name for name in SAMPLES if isinstance(given, Mapping) and name in given]
        if not names or "sampling_rate" not in given:
            raise OptionError(
                f"the pipeline {self.task!r} takes a path, an array of samples, or a dict with array and "
                f"sampling_rate; input {place} is "
                f"{sorted(given) if isinstance(given, Mapping) else type(given).__name__}"
            )
        return self.waveform(np.asarray(given[names[0]]), int(given["sampling_rate"]))

    @property
    def rate(self) -> int:
        modality = self.run.modalities.input
        assert isinstance(modality, AudioModality)
        return modality.rate

    def waveform(self, samples: np.ndarray, rate: int) -> Waveform:
        """Of several channels the mean; what is no sound is refused by the waveform itself."""
        if samples.ndim == 2:
            samples = samples.mean(axis=int(samples.shape[0] > samples.shape[1]))
        return Waveform(samples.astype(np.float32), rate)


class AudioClassification(OfSounds):
    """``[{"score", "label"}]`` for each sound, the ``top_k`` best first; of several sounds a list of such lists."""

    task, needs, kind = "audio-classification", Classifies, "classification"
    known = {"top_k": 5, "function_to_apply": "default"}  # noqa: RUF012

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        raws = self.raws(inputs)
        found = self.task_as(Classifies).classify(self.run.session(), raws, figure_of(options["function_to_apply"]))
        return [[{"score": one.score, "label": one.label} for one in own[: options["top_k"]]] for own in found]


class SpeechRecognition(OfSounds):
    """``{"text"}`` for each sound: what is said in it."""

    task, needs, kind = "automatic-speech-recognition", Transcribes, "temporal-classification"
    known: dict[str, Any] = {}  # noqa: RUF012
    ignored = OfSounds.ignored | {"chunk_length_s", "stride_length_s", "ignore_warning", "decoder"}

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        found = self.task_as(Transcribes).transcribe(self.run.session(), self.raws(inputs))
        return [{"text": own[0].text if own else ""} for own in found]

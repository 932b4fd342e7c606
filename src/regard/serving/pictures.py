"""Pipelines of pictures: paths, Pillow's pictures or arrays in, labels with their scores out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.errors import OptionError
from regard.core.seams.capabilities import Classifies
from regard.core.seams.modality import ShowsPixels
from regard.serving.calling import Pipeline, check_value
from regard.tasks.classification import FIGURES

ADDRESSES = ("http://", "https://")


class ImageClassification(Pipeline):
    """``[{"label", "score"}]`` for each picture, the ``top_k`` best first; of several pictures a list of such lists.

    A picture is a path, one of Pillow's, or an array of rows × columns (× channels) of bytes.
    """

    task, needs, kind = "image-classification", Classifies, "classification"
    known = {"top_k": 5, "function_to_apply": "default"}  # noqa: RUF012
    ignored = Pipeline.ignored | {"timeout"}
    modality = ShowsPixels

    def is_one(self, inputs: Any) -> bool:
        return isinstance(inputs, str | Path | np.ndarray)

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        from PIL.Image import Image  # which a run of texts does not need

        known = (str, Path, np.ndarray, Image)
        kinds = ((place, type(one)) for place, one in enumerate(inputs, start=1))
        wrong = [f"{place} is {kind.__name__}" for place, kind in kinds if not issubclass(kind, known)]
        if wrong:
            told = f"input {', '.join(wrong[:10])}"
            raise OptionError(f"the pipeline {self.task!r} takes a path, a picture of Pillow's or an array; {told}")
        raws = [self.raw(one) for one in inputs]
        found = self.task_as(Classifies).classify(self.run.session(), raws, figure_of(options["function_to_apply"]))
        return [[{"label": one.label, "score": one.score} for one in own[: options["top_k"]]] for own in found]

    def raw(self, given: Any) -> Any:
        """A path is read as on the command line; arrays and pictures are taken as they are."""
        if not isinstance(given, str | Path):
            return given
        if str(given).startswith(ADDRESSES):
            raise OptionError(f"{given} is an address, and nothing is fetched; save the picture and give its path")
        return self.run.modalities.input.parse(str(given))


def figure_of(asked: str | None) -> str:
    """What is told of each class; theirs is the softmax where nobody says otherwise."""
    kind = asked or "default"
    check_value("function_to_apply", kind, ("default", *FIGURES))
    return "softmax" if kind == "default" else kind

"""Runs exported graphs under onnxruntime, by the names that the folder's JSON file gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.core.files import read_json
from regard.interop.onnx.graphs import PAST

ABOUT, ENCODER = "regard.json", "encoder.onnx"
Arrays = dict[str, np.ndarray]


class Exported:
    """An exported folder, open."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        self.graphs: dict[str, Any] = read_json(folder / ABOUT)["graphs"]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors; what it tidies away by itself is nobody's business
        self.sessions = {file: onnxruntime.InferenceSession(folder / file, options) for file in self.graphs}
        self.decoder = next(file for file in self.graphs if file != ENCODER)

    def start(self, rows: int, source: Arrays) -> Arrays:
        """What the decoder asks for beside tokens: what the encoder says of a source, and an empty past."""
        read = {**source, **self.call(ENCODER, source)} if source else {}
        wanted = self.graphs[self.decoder]["inputs"]
        free = {"batch": rows, "past": 0}
        empty = {
            name: np.zeros([free.get(axis, axis) for axis in values["shape"]], values["type"])
            for name, values in wanted.items()
            if name.startswith(PAST)
        }
        return {name: given for name, given in {**empty, **read}.items() if name in wanted}

    def step(self, tokens_BT: np.ndarray, held: Arrays) -> tuple[np.ndarray, Arrays]:
        """Logits for new tokens, and what the next call is given."""
        found = self.call(self.decoder, {"tokens": tokens_BT, **held})
        carried = {f"{PAST}{name}": array for name, array in found.items() if f"{PAST}{name}" in held}
        return found["logits"], {**held, **carried}

    def stretch(self, length: int) -> int:
        """How many of so many tokens a call is given: as many as it must be, else half where it carries a past."""
        inputs = self.graphs[self.decoder]["inputs"]
        only = inputs["tokens"]["shape"][1]
        if isinstance(only, int):
            return only
        return (length + 1) // 2 if any(name.startswith(PAST) for name in inputs) else length

    def call(self, file: str, inputs: Arrays) -> Arrays:
        return dict(zip(self.graphs[file]["outputs"], self.sessions[file].run(None, inputs), strict=True))


def logits(folder: Path, tokens_BT: Tensor, source: tuple[Tensor, Tensor] | None) -> Tensor:
    """For all tokens, in stretches that also try a past where the graph carries one."""
    exported = Exported(folder)
    given = {} if source is None else dict(zip(("source", "source_lengths"), (part.numpy() for part in source)))
    held = exported.start(len(tokens_BT), given)
    found = []
    for stretch in tokens_BT.split(exported.stretch(tokens_BT.shape[1]), dim=1):
        said, held = exported.step(stretch.numpy(), held)
        found.append(torch.from_numpy(said))
    return torch.cat(found, dim=1)

"""Shared code for the probes of tasks: how heads and vocabularies are read out, and length limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.inputs import Axis, Drawing
from regard.core.probe import Probe
from regard.core.seams import HasGrid, HasReach, ReadsAgain, max_length_of
from regard.core.seams.modality import DrawsNodes, Modality, ShowsPixels
from regard.data.modalities.text.enclosing import Enclosed, collate_texts
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.wording import spelled, token_axis
from regard.layers.headed import body_of


def forward_head(model: nn.Module, probe: Probe) -> Tensor:
    """A body with a head takes the inputs as they are."""
    return model(probe.inputs)


def head_logits(model: nn.Module, said: Tensor) -> Tensor:
    """logits_BTW of a head that answers for the whole input, or for each of its positions."""
    return (said[:, None] if said.dim() == 2 else said).float()


def vocabulary_logits(model: Any, states_BTD: Tensor) -> Tensor:
    """logits_BTW of a model that speaks in tokens."""
    return model.head(states_BTD).float()


def text_probe(texts: Sequence[Enclosed], tokenizer: Tokenizer, **more: Any) -> Probe:
    """Texts as a body with a head reads them; nothing is expected at their tokens unless ``more`` says so."""
    specials, first = tokenizer.specials, texts[0].tokens.tolist()
    parts = {
        "choice": str,
        "axis": token_axis(tokenizer, first),
        "blank": specials.mask if specials.mask >= 0 else specials.unk,
        "text": spelled(tokenizer, first),
    }
    return Probe(collate_texts(texts, specials.pad), forward_head, head_logits, **{**parts, **more})


def grid_axis(model: nn.Module, axis: Axis) -> Axis:
    """The axis of what the model makes of an input: patches in rows and columns, after the class token. A series has
    one row of them; the frames of a video lie below one another."""
    body = body_of(model)
    if not isinstance(body, HasGrid):
        return axis
    grid = body.cells(axis.shape) if len(axis.shape) == len(body.grid) else body.grid
    places = [",".join(str(one + 1) for one in cell) for cell in np.ndindex(*grid)]
    *rows, columns = grid
    if readings := readings_of(body, axis):
        places = [f"{reading}:{one}" for reading, count in enumerate(readings, 1) for one in range(1, count + 1)]
    first = ("class", "distillation")[: body.class_tokens]
    return Axis((*first, *places), (math.prod(rows), columns), body.class_tokens)


def drawing_of(modality: Modality, item: Any) -> Drawing | None:
    """How an input is drawn that has nodes."""
    return modality.drawing(item) if isinstance(modality, DrawsNodes) else None


def readings_of(body: nn.Module, axis: Axis) -> tuple[int, ...]:
    """How many positions each reading of an input has, where it is read several times."""
    return body.readings(axis.shape) if isinstance(body, ReadsAgain) and axis.shape else ()


def pixels_of(model: nn.Module, modality: Modality, item: Any) -> np.ndarray | None:
    """The picture of an input as a model reads it, where there is one: as often as it is read, each reading as long as
    its positions. Time is the picture's first axis where an input has two, else its second."""
    if not isinstance(modality, ShowsPixels):
        return None
    pixels_HWC, axis = modality.pixels(item), modality.axis(item)
    body = body_of(model)
    if isinstance(body, HasGrid) and len(axis.shape) == len(body.grid) == 3:
        return first_frames(pixels_HWC, axis.shape[0], body.cells(axis.shape)[0])
    readings = readings_of(body, axis)
    if not readings:
        return pixels_HWC
    time = 0 if len(axis.shape) > 1 else 1
    most = pixels_HWC.shape[time]
    shown = [
        pixels_HWC.take(np.arange(count * most // max(readings)) * max(readings) // count, axis=time)
        for count in readings
    ]
    return np.concatenate(shown, axis=time)


def first_frames(pixels_HWC: np.ndarray, frames: int, blocks: int) -> np.ndarray:
    """Of frames below one another the first of each block of time."""
    pixels_THWC = pixels_HWC.reshape(frames, -1, *pixels_HWC.shape[1:])
    return pixels_THWC[:: -(-frames // blocks)].reshape(-1, *pixels_HWC.shape[1:])


def reach_of(model: nn.Module) -> int:
    """How many edges away something can have influence on a node; 0: anything has."""
    body = body_of(model)
    return body.reach if isinstance(body, HasReach) else 0


def max_probe_length(model: nn.Module, *limits: int) -> int:
    """The least of the limits and of what the model's body can read, 0 being none."""
    return min(limit for limit in (max_length_of(body_of(model)), *limits) if limit)


def check_probe_length(length: int, most: int, what: str) -> None:
    """An input that is looked at is shown whole, or not at all."""
    if most and length > most:
        raise OptionError(f"the model reads at most {most} tokens, and {what} has {length}; shorten it or split it")


def check_enclosed(text: Enclosed, most: int) -> None:
    check_probe_length(len(text.tokens) + text.cut, most, "the text, including its special symbols,")


def check_no_target(target: str, name: str = "text") -> None:
    if target:
        raise OptionError(f"this run reads one {name}; leave the target out")

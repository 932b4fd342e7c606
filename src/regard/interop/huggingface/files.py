"""The weights in a Hugging Face folder: one file or shards, safetensors or, on request, pickles."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.core.errors import OptionError, RunError, enumerate_problems
from regard.core.files import read_json

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
FLOATING = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
"""Number types that are weights as they stand; others are quantised and need a scale beside them."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in a file: what is known of it before it is read, and how to read it."""

    shape: tuple[int, ...]
    number_type: str
    read: Callable[[], Tensor]


def open_weights(folder: Path, *, convert: bool = False) -> dict[str, Stored]:
    """All tensors of the folder by name; pickles only where the user wants them converted."""
    plain = next((name for name in (SINGLE, INDEX) if (folder / name).is_file()), "")
    if plain and convert:
        raise OptionError(f"{folder} holds {plain}, which can be read directly; leave out --convert")
    if plain == SINGLE:
        return _opened(folder, [SINGLE], _open_safetensors)
    if plain == INDEX:
        return _opened_shards(folder, INDEX, _open_safetensors)
    pickled = next((name for name in (PICKLED, PICKLED_INDEX) if (folder / name).is_file()), None)
    if pickled is None:
        raise RunError(f"{folder} holds no weights: expected {SINGLE} or {INDEX}")
    if not convert:
        raise RunError(
            f"{folder} holds its weights as a pickle ({pickled}), which can run anything when it is opened; to take "
            f"out nothing but the tensors: regard import {folder} --out RUN --convert"
        )
    if pickled == PICKLED:
        return _opened(folder, [PICKLED], _open_pickle)
    return _opened_shards(folder, PICKLED_INDEX, _open_pickle)


Open = Callable[[Path], dict[str, Stored]]


def _opened_shards(folder: Path, index: str, open_one: Open) -> dict[str, Stored]:
    """What the index lists, each in the shard where it should be."""
    held = read_json(folder / index)
    places = held.get("weight_map") if isinstance(held, dict) else None
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise RunError(f"{folder / index} has no weight_map from tensors to files; it is not the index of a folder")
    stored = _opened(folder, sorted(set(places.values())), open_one)
    lost = [
        f"{place} has no {name}, which {index} places there"
        for name, place in places.items()
        if name not in stored
    ]
    if lost:
        raise RunError(enumerate_problems(f"{folder} is not whole", lost))
    return stored


def _opened(folder: Path, names: Iterable[str], open_one: Open) -> dict[str, Stored]:
    """The tensors of all files; every file that is missing or damaged is named."""
    stored: dict[str, Stored] = {}
    problems = []
    for name in names:
        if not (folder / name).is_file():
            problems.append(f"{name} is missing")
            continue
        try:
            stored.update(open_one(folder / name))
        except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
            problems.append(f"{name} cannot be read: {_first_line(error)}")
    if problems:
        raise RunError(enumerate_problems(f"{folder} is not whole (download it again)", problems))
    return stored


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "it ends too early")


def _open_safetensors(path: Path) -> dict[str, Stored]:
    file = safe_open(path, framework="pt")
    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    return {
        name: Stored(tuple(one.get_shape()), one.get_dtype(), partial(file.get_tensor, name))
        for name, one in slices.items()
    }


def _open_pickle(path: Path) -> dict[str, Stored]:
    held = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(held, dict) or not all(isinstance(tensor, Tensor) for tensor in held.values()):
        raise ValueError("it holds something other than named tensors")
    names = {number_type: name for name, number_type in FLOATING.items()}
    return {
        name: Stored(tuple(tensor.shape), names.get(tensor.dtype, str(tensor.dtype)), partial(_itself, tensor))
        for name, tensor in held.items()
    }


def _itself(tensor: Tensor) -> Tensor:
    return tensor

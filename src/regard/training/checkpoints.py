"""Checkpoints: safetensors and JSON, written whole or not at all, verified before they are used."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.core.errors import RegardError, RunError
from regard.core.files import json_safe, read_object, sha256_of, sync_folder, write_json

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was read back: weights by name, optimiser tensors, and the loop's own figures."""

    folder: Path
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """All weights by name, each shared tensor once under its first name (safetensors refuses tied ones)."""
    seen: set[int] = set()
    result = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() in seen and tensor.numel():
            continue
        seen.add(tensor.data_ptr())
        result[name] = tensor.detach().cpu().contiguous()
    return result


def load_weights(model: nn.Module, weights: dict[str, Tensor], where: str) -> None:
    """Loads weights into a model of the same shape; every missing, unexpected or ill-shaped tensor is named."""
    wanted = weights_of(model)
    problems = [f"missing {name} {tuple(wanted[name].shape)}" for name in wanted.keys() - weights.keys()]
    problems += [f"unexpected {name} {tuple(weights[name].shape)}" for name in weights.keys() - wanted.keys()]
    problems += [
        f"{name} is {tuple(weights[name].shape)}, the model needs {tuple(wanted[name].shape)}"
        for name in wanted.keys() & weights.keys()
        if wanted[name].shape != weights[name].shape
    ]
    if problems:
        raise RunError(f"{where} does not fit the model of its recipe:\n  - " + "\n  - ".join(sorted(problems)))
    model.load_state_dict(weights, strict=False)


def weights_hash(weights: Mapping[str, Tensor]) -> str:
    """sha256 over sorted name, dtype, shape and bytes: equal exactly when the weights are."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].contiguous()
        digest.update(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}|".encode())
        digest.update(tensor.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save(folder: Path, weights: dict[str, Tensor], optimizer: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Fills a neighbouring folder, makes it durable, then moves it into place."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        save_tensors(part / WEIGHTS, weights)
        save_tensors(part / OPTIMIZER, optimizer)
        checksums = {name: sha256_of(part / name) for name in (WEIGHTS, OPTIMIZER)}
        held = {**json_safe(state), "checksums": checksums}
        write_json(part / STATE, {**held, "sha256": state_hash(held)})
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(part, folder)
        sync_folder(folder.parent)
    except (OSError, RunError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise RunError(
            f"checkpoint {folder} could not be written: {error}. {after_free_space(folder.parent)}"
        ) from error


def after_free_space(folder: Path) -> str:
    """What to do once a full disk has room again: there may be checkpoints to go on from, or none."""
    if folders(folder):
        return "What is in the checkpoints is safe: free some space, then continue with --resume"
    return "There is no checkpoint yet: free some space, then train again, with another --out if this one holds files"


def state_hash(state: dict[str, Any]) -> str:
    """sha256 of the loop's figures in one fixed spelling."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:  # the library's word for a full disk
        raise OSError(str(error)) from error
    with path.open("r+b") as handle:  # to flush a file Windows must be allowed to write it
        os.fsync(handle.fileno())


def load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} cannot be read as safetensors: {error}") from error


def load(folder: Path) -> Checkpoint:
    """Reads a checkpoint and believes it only if its checksums agree."""
    if not (folder / STATE).is_file():
        raise RunError(f"{folder} has no {STATE}: it is not a complete checkpoint")
    state = read_object(folder / STATE)
    if state_hash({key: value for key, value in state.items() if key != "sha256"}) != state.get("sha256"):
        raise RunError(f"{folder / STATE} is damaged: its checksum is not the one written in it")
    for name, expected in state.get("checksums", {}).items():
        if not (folder / name).is_file():
            raise RunError(f"{folder / name} is missing")
        if sha256_of(folder / name) != expected:
            raise RunError(f"{folder / name} is damaged: its checksum is not the one written beside it")
    return Checkpoint(folder, load_tensors(folder / WEIGHTS), load_tensors(folder / OPTIMIZER), state)


def folders(root: Path) -> list[Path]:
    """Complete checkpoint folders, oldest first; leftovers of a kill are hidden and not listed."""
    return sorted(path for path in root.glob("step-*") if path.is_dir())


def folder_for(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def latest(root: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that is whole, and a sentence about each newer one that is not."""
    complaints: list[str] = []
    for folder in reversed(folders(root)):
        try:
            return load(folder), complaints
        except RegardError as error:
            complaints.append(str(error))
    return None, complaints


@dataclass(frozen=True, slots=True)
class DamagedCheckpoint:
    """A checkpoint that cannot be believed, and why."""

    folder: Path
    complaint: str


def first_damaged_checkpoint(checkpoints: list[Path]) -> DamagedCheckpoint | None:
    for folder in checkpoints:
        try:
            load(folder)
        except RegardError as error:
            return DamagedCheckpoint(folder, str(error))
    return None


def prune(root: Path, newest: Path, keep: int, every: int = 1) -> None:
    """Removes all but the newest checkpoints, those that ``newest`` supersedes, and what a kill left behind.

    Superseded are damaged ones of later steps, and those out of turn (not ``every`` so many steps), which only
    an interruption makes: what is averaged at the end must not depend on one.
    """
    for folder in folders(root):
        out_of_turn = int(folder.name.removeprefix("step-")) % every != 0
        if folder > newest or (folder < newest and out_of_turn):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in folders(root)[:-keep]:
        shutil.rmtree(folder, ignore_errors=True)
    for leftover in root.glob(".*.part"):
        shutil.rmtree(leftover, ignore_errors=True)


def average(checkpoints: list[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights, summed in double precision in the order of their steps."""
    total: dict[str, Tensor] = {}
    for folder in checkpoints:
        weights = load(folder).weights
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(checkpoints)).to(weights[name].dtype) for name, tensor in total.items()}

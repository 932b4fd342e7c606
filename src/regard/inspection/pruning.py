"""Removes heads and layers that a model can spare, by the loss on validation data, and writes a smaller run."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.attention.heads import CrossAttention, SelfAttention
from regard.core.errors import OptionError, RecipeError
from regard.core.files import write_json, write_text
from regard.core.seams.task import Progress
from regard.core.taps import attention_points
from regard.data.batching import in_length_order
from regard.inspection.heads.importance import AT_ONCE, EXAMPLES, importance
from regard.inspection.splits import places, task_over
from regard.models import ModelPart
from regard.runs.folder import RunFolder
from regard.runs.integrity import write_summary
from regard.runs.load import Run, load
from regard.runs.recipe import Recipe
from regard.runs.train import Trained, headed
from regard.tasks.scores import sum_over
from regard.training import checkpoints

REPORT = "pruned.json"
Kept = dict[str, list[int]]
"""Of every stack of layers, or every attention, the numbers of those that stay, in order."""


@dataclass(frozen=True)
class Worth:
    """What one part is worth: how much the loss (nats a term) rises without it."""

    name: str
    number: int
    rise: float


@dataclass(frozen=True)
class Size:
    """A model's quality, size and speed, on the examples by which its parts were judged."""

    loss: float
    parameters: int
    seconds: float  # of one pass over them

    @classmethod
    def of(cls, run: Run, split: str) -> Size:
        began = time.perf_counter()
        loss = loss_of(run, split)
        parameters = sum(weight.numel() for weight in run.model.parameters())
        return cls(loss, parameters, time.perf_counter() - began)


@dataclass(frozen=True)
class Pruned:
    """What was removed, and what that did."""

    run: str
    removed: tuple[str, ...]
    worth: tuple[Worth, ...]
    before: Size
    after: Size

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def prune(
    run: Run, out: Path, heads: int = 0, layers: int = 0, split: str = "validation", progress: Progress | None = None
) -> Pruned:
    """A run without the ``heads`` of every attention, and the ``layers`` of all stacks, that are worth least.

    Parts are judged one at a time, with all others there (Michel et al. 2019): two that can stand in for one another
    both look dispensable. What is left can be trained on: ``regard train RECIPE --from OUT``.
    """
    model = run.recipe.model
    check_wish(model, run.model, heads, layers)
    if out.exists() and any(out.iterdir()):
        raise OptionError(f"{out} is not empty; choose another --out")
    before = Size.of(run, split)
    worth: list[Worth] = []
    stacks = layer_counts(model, run.model)
    kept_layers = {setting: list(range(count)) for setting, count in stacks.items()}
    if layers:
        judged = layer_worth(run, split, progress)
        worth += judged
        kept_layers = without_least(kept_layers, judged, layers)
    kept_heads: Kept = {}
    if heads:
        found = importance(run, split, progress=progress)
        own = [Worth(one.name, one.head, one.rise) for one in found]
        worth += own
        for name in dict.fromkeys(one.name for one in own):
            ranked = sorted((one for one in own if one.name == name), key=lambda one: one.rise)
            kept_heads[name] = sorted(one.number for one in ranked[heads:])
    smaller = write_smaller(run, out, kept_layers, kept_heads)
    removed = [
        f"{model.stacks[setting]}.{number}"
        for setting, own in kept_layers.items()
        for number in range(stacks[setting])
        if number not in own
    ]
    for name, stay in kept_heads.items():
        count = len(stay) + heads
        removed += [f"head {head} of {name}" for head in range(count) if head not in stay]
    pruned = Pruned(str(out), tuple(removed), tuple(worth), before, Size.of(smaller, split))
    write_json(out / REPORT, pruned.as_dict())
    return pruned


def layer_counts(config: ModelPart, model: nn.Module) -> dict[str, int]:
    """How many layers each stack has."""
    return {setting: len(list(model.get_submodule(path).children())) for setting, path in config.stacks.items()}


def check_wish(config: ModelPart, model: nn.Module, heads: int, layers: int) -> None:
    """Refuses what this family cannot lose."""
    if not heads and not layers:
        raise OptionError("nothing is to be removed; give --heads N, --layers N or both")
    if not config.stacks:
        raise OptionError(f"model.kind = {config.kind!r} has no stacks of layers that could lose some")
    if layers:
        there = layer_counts(config, model)
        room = sum(max(count - 1, 0) for count in there.values())
        if layers > room:
            counts = ", ".join(f"{setting} = {count}" for setting, count in there.items())
            raise OptionError(
                f"--layers {layers} is too many: of {counts} at least one of each stays; give at most {room}"
            )
    if heads:
        check_heads_can_go(config, model, heads)


def check_heads_can_go(config: ModelPart, model: nn.Module, heads: int) -> None:
    if not config.head_widths:
        raise OptionError(
            f"model.kind = {config.kind!r} divides its width among its heads, so that with fewer of them each would be "
            "wider; remove layers, or take a transformer or llama, which say how wide a head is"
        )
    owners = {name: model.get_submodule(name) for name in attention_points(model)}
    other = [name for name, owner in owners.items() if not isinstance(owner, SelfAttention | CrossAttention)]
    if other:
        raise OptionError(
            f"{other[0]} has no heads with matrices of their own; heads go from multi-head attention alone"
        )
    shapes = [owner.shape for owner in owners.values() if isinstance(owner, SelfAttention | CrossAttention)]
    if any(shape.groups != shape.heads for shape in shapes):
        raise OptionError("heads that share keys (model.groups) cannot go one by one; remove layers")
    least = min(shape.heads for shape in shapes)
    if heads >= least:
        raise OptionError(f"--heads {heads} is too many: every attention has {least}, and at least one stays")


def without_least(kept: Kept, worth: Sequence[Worth], count: int) -> Kept:
    """So many fewer layers, those first whose absence hurts least; of each stack one stays."""
    left = {setting: list(own) for setting, own in kept.items()}
    for one in sorted(worth, key=lambda one: one.rise):
        if count and len(left[one.name]) > 1:
            left[one.name].remove(one.number)
            count -= 1
    return left


def loss_of(run: Run, split: str, examples: int = EXAMPLES) -> float:
    task = task_over(run, split)
    found = task.examples(split, 0)
    chosen = places(found, examples)
    batches = [np.array(chosen)[indices] for indices in in_length_order(found.lengths_NA[chosen], AT_ONCE)]
    with torch.inference_mode():
        totals, count = sum_over(task, run.session(), found, batches)
    return totals["loss"] / max(count, 1)


def layer_worth(run: Run, split: str, progress: Progress | None = None) -> list[Worth]:
    """How much the loss rises when a layer hands on what it was given, for each in the order of the model."""
    whole, found = loss_of(run, split), []
    every = [
        (setting, number, layer)
        for setting, path in run.recipe.model.stacks.items()
        for number, layer in enumerate(run.model.get_submodule(path).children())
    ]
    for done, (setting, number, layer) in enumerate(every, start=1):
        with skipped(layer):
            found.append(Worth(setting, number, loss_of(run, split) - whole))
        if progress is not None:
            progress(done, len(every))
    return found


@contextmanager
def skipped(layer: nn.Module) -> Iterator[None]:
    """A layer that hands on what it was given."""

    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        return inputs[0]

    handle = layer.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def write_smaller(run: Run, out: Path, layers: Kept, heads: Kept) -> Run:
    """The run folder of what is left, and the run in it."""
    config = smaller_config(run, layers, heads)
    recipe = run.recipe.model_copy(update={"model": config})
    made = headed(recipe, run.task)
    weights = smaller_weights(run, layers, heads)
    check_same_mechanisms(run, made, layers)
    wanted = checkpoints.weights_of(made)
    wrong = [name for name, one in wanted.items() if name not in weights or weights[name].shape != one.shape]
    if wrong:
        raise OptionError(
            f"{', '.join(wrong[:3])} cannot lose what is to be removed: something is held there for each head or layer"
        )
    kept = {name: weights[name].contiguous() for name in wanted}
    out.mkdir(parents=True, exist_ok=True)
    for file in run.folder.path.iterdir():
        if file.is_file() and file.name not in NOT_TAKEN:
            shutil.copy2(file, out / file.name)
    folder = RunFolder(out)
    folder.checkpoints.mkdir(exist_ok=True)
    checkpoints.save_tensors(folder.weights, kept)
    write_text(folder.recipe, recipe.to_toml())
    written = Trained(str(out), 0, 0.0, 0.0, math.nan, checkpoints.weights_hash(kept))
    write_summary(folder, asdict(written))
    return load(out)


NOT_TAKEN = ("model.safetensors", "recipe.toml", "summary.json", "scores.json", "metrics.jsonl", REPORT)


def smaller_config(run: Run, layers: Kept, heads: Kept) -> ModelPart:
    config = run.recipe.model
    changes: dict[str, Any] = {setting: len(own) for setting, own in layers.items()}
    if heads:
        shape = next(
            owner.shape for owner in run.model.modules() if isinstance(owner, SelfAttention | CrossAttention)
        )
        changes["heads"] = len(next(iter(heads.values())))
        if config.model_dump().get("groups"):  # said to be as many as heads
            changes["groups"] = changes["heads"]
        widths = {"key_width": shape.key_width, "value_width": shape.value_width}
        changes |= {setting: widths[setting] for setting in config.head_widths}
    try:
        tree = {**run.recipe.tables(), "model": {**config.model_dump(), **changes}}
        return Recipe.of(tree).model
    except RecipeError as error:
        raise OptionError(f"the smaller model would be refused: {error}") from error


def smaller_weights(run: Run, layers: Kept, heads: Kept) -> dict[str, Tensor]:
    """The weights of what stays, under the names that it will have."""
    weights = dict(checkpoints.weights_of(run.model))
    for name, stay in heads.items():
        owner = run.model.get_submodule(name)
        assert isinstance(owner, SelfAttention | CrossAttention)
        for part, own in head_rows(owner, stay).items():
            for kind in ("weight", "bias"):
                if (key := f"{name}.{part}.{kind}") in weights:
                    weights[key] = weights[key][own]
        key = f"{name}.output.weight"
        weights[key] = weights[key][:, columns_of(stay, owner.shape.value_width)]
    numbers = {
        f"{path}.{before}.": f"{path}.{after}."
        for setting, path in run.recipe.model.stacks.items()
        for after, before in enumerate(layers[setting])
    }
    found = {}
    for name, tensor in weights.items():
        stack = next((path for path in run.recipe.model.stacks.values() if name.startswith(f"{path}.")), None)
        if stack is None:
            found[name] = tensor
            continue
        old = next((prefix for prefix in numbers if name.startswith(prefix)), None)
        if old is not None:
            found[numbers[old] + name.removeprefix(old)] = tensor
        elif not name.removeprefix(f"{stack}.").split(".")[0].isdigit():
            found[name] = tensor
    return found


def head_rows(owner: SelfAttention | CrossAttention, stay: Sequence[int]) -> dict[str, Tensor]:
    """Of every matrix that makes queries, keys or values, the rows of the heads that stay."""
    shape = owner.shape
    keys, values = columns_of(stay, shape.key_width), columns_of(stay, shape.value_width)
    after_keys = shape.heads * shape.key_width
    if isinstance(owner, CrossAttention):
        return {"project_query": keys, "project_memory": torch.cat((keys, after_keys + values))}
    return {"project": torch.cat((keys, after_keys + keys, 2 * after_keys + values))}


def columns_of(stay: Sequence[int], width: int) -> Tensor:
    return torch.tensor([head * width + column for head in stay for column in range(width)])


def check_same_mechanisms(run: Run, made: nn.Module, layers: Kept) -> None:
    """Layers that take turns between mechanisms would swap them, were their numbers to change."""
    for setting, path in run.recipe.model.stacks.items():
        for after, before in enumerate(layers[setting]):
            pairs = zip(
                run.model.get_submodule(f"{path}.{before}").modules(), made.get_submodule(f"{path}.{after}").modules()
            )
            if any(type(one) is not type(other) for one, other in pairs):
                raise OptionError(
                    f"{path}.{before} would become layer {after}, which this recipe builds in another way (layers that "
                    "take turns, or first layers of their own); remove heads, or other layers"
                )


"""Probes of a run: one for each input, given by the user or taken from a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.inputs import Axis
from regard.core.probe import Probe
from regard.core.seams.capabilities import Probeable
from regard.core.seams.task import Task
from regard.inspection.heads.names import Kind
from regard.inspection.splits import places, task_over
from regard.runs.asking import parse_input
from regard.runs.load import Run


def probe(run: Run, raw: Any, target: str = "") -> Probe:
    """An input as the run's model sees it; of a translator together with the target, or with its own answer.

    What is a string is read as on the command line: the text itself, or the path of a picture.
    """
    parsed = parse_input(run.task, run.modalities.input, str(raw)) if isinstance(raw, str | Path) else raw
    made = probeable(run, run.task).probe(run.session(), parsed, target)
    return replace(made, text=str(raw)) if isinstance(raw, str | Path) else made


def probes(run: Run, inputs: Sequence[Any], targets: Sequence[str] = ()) -> list[Probe]:
    """One for each input; the targets, where given, in the same order. What is a probe already stays one."""
    inputs = [inputs] if isinstance(inputs, str | Path) else inputs
    if not inputs:
        raise OptionError(f"there is no {run.modalities.input.name} to look at; give at least one")
    if targets and len(targets) != len(inputs):
        raise OptionError(f"{len(inputs)} texts against {len(targets)} targets; give one for each, in order")
    return [
        one if isinstance(one, Probe) else probe(run, one, target)
        for one, target in zip(inputs, targets or [""] * len(inputs))
    ]


def split_probes(run: Run, split: str = "validation", examples: int = 50) -> list[Probe]:
    """Examples of one of the recipe's splits, evenly chosen, for all that takes inputs."""
    task = task_over(run, split)
    found, asked = task.examples(split, 0), probeable(run, task)
    return [asked.probe_examples(run.session(), [found[at]]) for at in places(found, examples)]


def probeable(run: Run, task: Task) -> Probeable:
    if not isinstance(task, Probeable):
        raise OptionError(
            f"{run.folder.path}: the task {run.recipe.task.kind!r} cannot be inspected (see Probeable in "
            "regard.core.seams.capabilities); use regard.record on the model itself"
        )
    return task


@torch.inference_mode()
def logits_of(model: nn.Module, asked: Probe) -> Tensor:
    """logits_TW at every position, for those who compare answers there."""
    if not asked.asked:
        raise OptionError(
            "this run answers for the whole input, or in vectors, not at each position of it; ask it with run.answers"
        )
    return asked.logits(model.eval())[0]


def axes(asked: Probe, kind: Kind) -> tuple[Axis, Axis]:
    """What stands beside the rows (who looks) and the columns (what is looked at)."""
    rows = asked.source_axis if kind == "encoder" else asked.axis
    return rows, asked.source_axis if kind in ("encoder", "cross") else asked.axis

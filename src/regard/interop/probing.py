"""The inputs of a check, the ways in which a checkpoint is run on them, and the comparison of two answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import softmax
from regard.core.errors import OptionError
from regard.core.probe import Probe
from regard.core.seams import reads_segments
from regard.core.seams.capabilities import Probeable
from regard.core.seams.task import Session
from regard.core.taps import arguments, attention_points
from regard.layers.headed import body_of
from regard.runs.load import Run

EXACT = 1e-4  # logits in float32: another order of summation, nothing more
NARROW = 0.05  # bfloat16: of the logits' spread
ROWS, LENGTH = 3, 24


@dataclass(frozen=True, slots=True)
class Check:
    """Two ways to the same logits. ``first`` is the position where they first choose another token, −1: nowhere."""

    name: str
    what: str
    difference: float
    tolerance: float
    first: int = -1
    token: str = ""  # what the first way chose there, and the second
    other: str = ""
    skipped: str = ""  # why it was not done, where it was not
    unit: str = "token"  # what is chosen; nothing where weights are compared

    @property
    def holds(self) -> bool:
        return bool(self.skipped) or self.difference <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}


@dataclass(frozen=True)
class ProbedModel:
    """One model and a few random examples, which are asked in several ways. ``probe`` has all of them side by side."""

    task: Probeable
    session: Session
    items: Sequence[Any]
    probe: Probe

    @classmethod
    def of(cls, run: Run, seed: int) -> ProbedModel:
        if not isinstance(run.task, Probeable):
            raise OptionError(
                f"{run.folder.path}: the task {run.recipe.task.kind!r} cannot be inspected (see Probeable in "
                "regard.core.seams.capabilities), so that its model cannot be checked"
            )
        run.model.cpu().float().eval()
        session = run.session()
        items = run.task.random_examples(session, np.random.default_rng(seed), ROWS, LENGTH)
        return cls(run.task, session, items, run.task.probe_examples(session, items))

    @property
    def model(self) -> nn.Module:
        return self.session.model

    def logits(self) -> Tensor:
        return self.probe.logits(self.model)

    def stepwise(self) -> Tensor:
        """Token by token, with what is remembered between."""
        model: Any = self.model
        assert self.probe.start is not None
        state = model.start(self.probe.start(self.probe))
        steps = []
        for tokens_B1 in self.probe.inputs.values.split(1, dim=1):
            logits_B1W, state = model.step(tokens_B1, state)
            steps.append(logits_B1W)
        return self.probe.visible(torch.cat(steps, dim=1))

    def alone(self) -> Tensor:
        """Each example without the others, and without the padding that they made it wear."""
        rows = [self.task.probe_examples(self.session, [item]).logits(self.model) for item in self.items]
        most = max(row.shape[1] for row in rows)
        return torch.cat([functional.pad(row, (0, 0, 0, most - row.shape[1])) for row in rows])

    def by_formula(self) -> Tensor:
        with by_formula(self.model):
            return self.logits()

    def fused(self) -> Tensor:
        with fused_always():
            return self.logits()

    def narrow(self) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.logits()

    # -- as others want to be asked ---------------------------------------------------------------------------

    @property
    def tokens_BT(self) -> Tensor:
        return self.probe.inputs.values

    @property
    def source(self) -> tuple[Tensor, Tensor] | None:
        """Padded sources and their lengths, where there are any."""
        return None if self.probe.source is None else (self.probe.source.values, self.probe.source.real_lengths_B)

    def sources(self) -> list[list[int]]:
        """As an engine takes them: without what closes and fills them."""
        assert self.source is not None
        return [row[: length - 1] for row, length in zip(self.source[0].tolist(), self.source[1].tolist())]

    def asked_of_transformers(self) -> dict[str, Tensor]:
        """As transformers want to be asked."""
        if self.source is not None:
            source_BS, lengths_B = self.source
            there_BS = real_positions(source_BS, lengths_B)
            return {"input_ids": source_BS, "attention_mask": there_BS, "decoder_input_ids": self.tokens_BT}
        if self.probe.start is not None:  # all of one length
            return {"input_ids": self.tokens_BT}
        inputs = self.probe.inputs
        if inputs.lengths_B is None:
            return {"pixel_values": inputs.values}
        asked = {"input_ids": inputs.values, "attention_mask": real_positions(inputs.values, inputs.lengths_B)}
        if inputs.segments_BN is not None and reads_segments(body_of(self.model)):
            asked["token_type_ids"] = inputs.segments_BN
        return asked


def real_positions(tokens_BT: Tensor, lengths_B: Tensor) -> Tensor:
    """1 where a token is, 0 where there is only padding."""
    return (torch.arange(tokens_BT.shape[1]) < lengths_B[:, None]).long()


@contextmanager
def by_formula(model: nn.Module) -> Iterator[None]:
    """While the block lasts, every mechanism that has a matrix answers with weights · values."""

    def hook(mechanism: Any, inputs: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> Tensor:
        asked = arguments(inputs, named)
        if asked.get("cache") is not None:  # its keys are in a memory of its own
            return output
        return mechanism.weights(asked["q"], asked["k"], asked["mask"], asked.get("bias")) @ asked["v"]

    points = [point for point in attention_points(model).values() if point.has_matrix]
    handles = [point.register_forward_hook(hook, with_kwargs=True) for point in points]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def fused_always() -> Iterator[None]:
    """While the block lasts, short texts take the fused kernel too."""
    before, softmax.PLAIN_UP_TO_SCORES = softmax.PLAIN_UP_TO_SCORES, 0
    try:
        yield
    finally:
        softmax.PLAIN_UP_TO_SCORES = before


def spread(logits_BTW: Tensor) -> float:
    return float(logits_BTW.max() - logits_BTW.min())


def largest_difference(difference: Tensor) -> float:
    return float(difference.abs().nan_to_num(nan=float("inf")).max())


def compared(name: str, what: str, plain: Tensor, other: Tensor, tolerance: float, probe: Probe) -> Check:
    """The largest difference, and where the two would first have chosen something else."""
    difference = largest_difference(plain - other)
    differs_T = (plain.argmax(-1) != other.argmax(-1)).any(0)
    if not differs_T.any():
        return Check(name, what, difference, tolerance, unit=probe.unit)
    first = int(differs_T.float().argmax())
    row = int((plain[:, first].argmax(-1) != other[:, first].argmax(-1)).float().argmax())
    token, instead = (probe.choice(int(logits[row, first].argmax())) for logits in (plain, other))
    return Check(name, what, difference, tolerance, first, token, instead, unit=probe.unit)

"""What a checkpoint is asked when it is checked, in how many ways, and how two answers are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import softmax
from regard.core.capabilities import Continues, Fills, HasLabels
from regard.core.inputs import Inputs
from regard.core.taps import attention_points
from regard.layers.headed import Headed
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

    @property
    def holds(self) -> bool:
        return bool(self.skipped) or self.difference <= self.tolerance

    def as_dict(self) -> dict[str, Any]:
        named = {name: getattr(self, name) for name in self.__slots__}
        return {**named, "holds": self.holds}


@dataclass(frozen=True)
class Probe:
    """What a model is asked: sources of different lengths where it reads some, and tokens.

    ``lengths_B`` says how many of them are there, where the model reads from both sides.
    """

    model: Any
    source: tuple[Tensor, Tensor] | None
    tokens_BT: Tensor
    lengths_B: Tensor | None = None

    @classmethod
    def of(cls, run: Run, seed: int) -> Probe:
        generator = torch.Generator().manual_seed(seed)
        inputs, outputs = run.vocabularies.source.size, run.vocabularies.target.size
        model: Any = run.model.cpu().float()
        if isinstance(run.task, Continues):
            length = min(LENGTH, model.max_length or LENGTH)
            return cls(model, None, torch.randint(4, outputs, (ROWS, length), generator=generator))
        specials = run.vocabularies.source.specials
        if isinstance(model, Headed):
            body: Any = model.body
            length = min(size for size in (body.max_length, getattr(run.recipe.task, "longest", 0), LENGTH) if size)
            lengths_B = torch.tensor([max(length - 5 * row, 1) for row in range(ROWS)])
            tokens_BS = torch.randint(4, inputs, (ROWS, length), generator=generator)
            tokens_BS[torch.arange(length) >= lengths_B[:, None]] = max(specials.pad, 0)
            return cls(model, None, tokens_BS, lengths_B)
        if isinstance(run.task, Fills):
            length = min(LENGTH, model.max_length or LENGTH)
            lengths_B = torch.tensor([max(length - 5 * row, 1) for row in range(ROWS)])
            tokens_BS = torch.randint(outputs, (ROWS, length), generator=generator)
            tokens_BS[tokens_BS == specials.pad] = specials.mask  # inside a text nothing is padding
            tokens_BS[torch.arange(length) >= lengths_B[:, None]] = specials.pad
            return cls(model, None, tokens_BS, lengths_B)
        source_BS = torch.randint(4, inputs, (ROWS, LENGTH), generator=generator)
        lengths_B = torch.tensor([LENGTH - 5 * row for row in range(ROWS)])
        source_BS[torch.arange(ROWS), lengths_B - 1] = specials.eos
        source_BS[torch.arange(LENGTH) >= lengths_B[:, None]] = specials.pad
        return cls(model, (source_BS, lengths_B), torch.randint(4, outputs, (ROWS, LENGTH), generator=generator))

    def logits(self) -> Tensor:
        if isinstance(self.model, Headed):
            said = self.model(Inputs(self.tokens_BT, self.lengths_B)).float()
            return said[:, None] if said.dim() == 2 else self.visible(said)  # of a whole text, or of every token
        if self.lengths_B is not None:
            return self.visible(self.model.head(self.model(self.tokens_BT, self.lengths_B)).float())
        states_BTD = self.model(self.tokens_BT) if self.source is None else self.model(*self.source, self.tokens_BT)
        return self.model.head(states_BTD).float()

    def visible(self, logits_BTW: Tensor) -> Tensor:
        """Nothing where there is only padding: no two ways need agree about that."""
        if self.lengths_B is None:
            return logits_BTW
        beyond_BT = torch.arange(logits_BTW.shape[1]) >= self.lengths_B[:, None]
        return logits_BTW.masked_fill(beyond_BT[..., None], 0.0)

    def sources(self) -> list[list[int]]:
        """As an engine takes them: without what closes and fills them."""
        assert self.source is not None
        return [row[: length - 1] for row, length in zip(self.source[0].tolist(), self.source[1].tolist())]

    def asked_there(self) -> dict[str, Tensor]:
        """The same, as transformers wants to be asked."""
        if self.lengths_B is not None:
            there_BT = (torch.arange(self.tokens_BT.shape[1]) < self.lengths_B[:, None]).long()
            return {"input_ids": self.tokens_BT, "attention_mask": there_BT}
        if self.source is None:
            return {"input_ids": self.tokens_BT}
        source_BS, lengths_B = self.source
        there_BS = (torch.arange(source_BS.shape[1]) < lengths_B[:, None]).long()
        return {"input_ids": source_BS, "attention_mask": there_BS, "decoder_input_ids": self.tokens_BT}

    def stepwise(self) -> Tensor:
        state = self.model.start((len(self.tokens_BT), 0) if self.source is None else self.source)
        steps = []
        for tokens_B1 in self.tokens_BT.split(1, dim=1):
            logits_B1W, state = self.model.step(tokens_B1, state)
            steps.append(logits_B1W)
        return torch.cat(steps, dim=1)

    def alone(self) -> Tensor:
        rows = [self.row(number).logits() for number in range(len(self.tokens_BT))]
        most = max(row.shape[1] for row in rows)
        return torch.cat([functional.pad(row, (0, 0, 0, most - row.shape[1])) for row in rows])

    def row(self, number: int) -> Probe:
        """One text without the others, and without the padding that they made it wear."""
        tokens_1T = self.tokens_BT[number : number + 1]
        if self.lengths_B is not None:
            length = int(self.lengths_B[number])
            return Probe(self.model, None, tokens_1T[:, :length], self.lengths_B[number : number + 1])
        if self.source is None:
            return Probe(self.model, None, tokens_1T)
        source_BS, lengths_B = self.source
        length = int(lengths_B[number])
        return Probe(self.model, (source_BS[number : number + 1, :length], lengths_B[number : number + 1]), tokens_1T)

    def by_formula(self) -> Tensor:
        with by_formula(self.model):
            return self.logits()

    def fused(self) -> Tensor:
        with fused_always():
            return self.logits()

    def narrow(self) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.logits()


@contextmanager
def by_formula(model: nn.Module) -> Iterator[None]:
    """While the block lasts, every mechanism that has a matrix answers with weights · values."""

    def hook(mechanism: Any, inputs: tuple[Any, ...], named: dict[str, Any], output: Tensor) -> Tensor:
        asked = dict(zip(("q", "k", "v", "mask", "bias"), inputs)) | named
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


def largest(difference: Tensor) -> float:
    return float(difference.abs().nan_to_num(nan=float("inf")).max())


def compared(name: str, what: str, plain: Tensor, other: Tensor, tolerance: float, run: Run) -> Check:
    """The largest difference, and where the two would first have written something else."""
    difference = largest(plain - other)
    differs_T = (plain.argmax(-1) != other.argmax(-1)).any(0)
    if not differs_T.any():
        return Check(name, what, difference, tolerance)
    first = int(differs_T.float().argmax())
    row = int((plain[:, first].argmax(-1) != other[:, first].argmax(-1)).float().argmax())
    said = [choice(run, int(logits[row, first].argmax())) for logits in (plain, other)]
    return Check(name, what, difference, tolerance, first, *said)


def choice(run: Run, place: int) -> str:
    """What stands at a place of the logits: a piece, or what a head chooses among."""
    if not isinstance(run.model, Headed):
        return run.vocabularies.target.token(place)
    return run.task.labels[place] if isinstance(run.task, HasLabels) else str(place)

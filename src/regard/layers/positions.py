"""Where a token stands: sinusoids, learned vectors, reversed binary, two dimensions, relative bias, rotary.

Absolute positions act on embeddings (added or concatenated), rotary ones on queries and keys, biases on
scores. A model takes the object and calls all three of its methods; what does not apply does nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import torch
from pydantic import Field, SerializeAsAny
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.places import Places
from regard.core.errors import OptionError
from regard.layers import SCALINGS, PositionPart, ScalingPart
from regard.layers.rotary import rotary_frequencies, rotate_complex, rotate_pairs, unscaled


def sinusoids(positions_T: Tensor, width: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(…) (Vaswani et al. 2017, section 3.5)."""
    frequencies = torch.exp(torch.arange(0, width, 2, device=positions_T.device) * (-math.log(10000.0) / width))
    angles_TC = positions_T[:, None].float() * frequencies
    table_TD = torch.stack((angles_TC.sin(), angles_TC.cos()), dim=-1).flatten(1)
    return table_TD[:, :width]


def reversed_binary(positions_T: Tensor, width: int) -> Tensor:
    """The position as a binary number, lowest bit first, as −1 and 1: the digital ancestor of the sinusoids."""
    bits_TD = (positions_T[:, None] >> torch.arange(width, device=positions_T.device).clamp(max=62)) & 1
    return bits_TD.float() * 2 - 1


def two_dimensional_sinusoids(rows: int, columns: int, width: int) -> Tensor:
    """table_ND for a grid read row by row: half of the width says the row, half the column."""
    by_row = sinusoids(torch.arange(rows), width // 2).repeat_interleave(columns, dim=0)
    by_column = sinusoids(torch.arange(columns), width - width // 2).repeat(rows, 1)
    return torch.cat((by_row, by_column), dim=-1)


class NoPosition(nn.Module):
    """Says nothing: the base whose three methods leave everything as it is."""

    @property
    def max_length(self) -> int:
        """How many positions there are; 0: as many as one likes."""
        return 0

    def embed(self, x_BTD: Tensor, places: Places = 0) -> Tensor:
        return x_BTD

    def rotate(self, x_BHTK: Tensor, places: Places = 0) -> Tensor:
        return x_BHTK

    def bias(self, queries: int, keys: int, places: Places = 0) -> Tensor | None:
        return None


class TablePosition(NoPosition):
    """Absolute positions from a table of vectors, added to the embeddings; the first stands in row ``first``."""

    table_SD: Tensor

    def __init__(self, table_SD: Tensor, *, learned: bool, first: int = 0) -> None:
        super().__init__()
        self.first = first
        if learned:
            self.table_SD = nn.Parameter(table_SD)
        else:
            self.register_buffer("table_SD", table_SD, persistent=False)

    @property
    def max_length(self) -> int:
        return self.table_SD.shape[0] - self.first

    def rows(self, count: int, places: Places) -> Tensor:
        """rows_TD of the table for so many tokens, or rows_BTD."""
        needed = int(places.max()) + 1 if isinstance(places, Tensor) else places + count
        if needed > self.max_length:
            raise OptionError(
                f"a sequence of {needed} tokens does not fit into {self.max_length} positions; "
                "raise model.position.max_length (or a grid's rows and columns), or cut the input"
            )
        if isinstance(places, Tensor):
            return functional.embedding(self.first + places, self.table_SD)
        start = self.first + places
        return self.table_SD[start : start + count]

    def embed(self, x_BTD: Tensor, places: Places = 0) -> Tensor:
        return x_BTD + self.rows(x_BTD.shape[1], places).to(x_BTD.dtype)


class ConcatenatedPosition(TablePosition):
    """Absolute positions set beside the embeddings; a learned matrix brings the width back to d_model."""

    def __init__(self, table_SC: Tensor, width: int, *, learned: bool, first: int = 0) -> None:
        super().__init__(table_SC, learned=learned, first=first)
        self.mix = nn.Linear(width + table_SC.shape[1], width, bias=False)
        nn.init.xavier_uniform_(self.mix.weight)

    def embed(self, x_BTD: Tensor, places: Places = 0) -> Tensor:
        rows_TC = self.rows(x_BTD.shape[1], places).to(x_BTD.dtype)
        return self.mix(torch.cat((x_BTD, rows_TC.expand(x_BTD.shape[0], -1, -1)), dim=-1))


class Rotary(NoPosition):
    """Rotary positions (Su et al. 2021): turns queries and keys by an angle proportional to the position.

    ``scale`` stretches the frequencies, ``magnitude`` what is turned. Turns once computed are kept for the next layer
    and the next step: they depend on nothing but the position.
    """

    def __init__(
        self, base: float = 10000.0, scale: Callable[[Tensor], Tensor] = unscaled, magnitude: float = 1.0
    ) -> None:
        super().__init__()
        self.base = base
        self.scale = scale
        self.magnitude = magnitude
        self._turns: dict[tuple[int, torch.dtype, torch.device], Tensor] = {}

    def rotate(self, x_BHTK: Tensor, places: Places = 0) -> Tensor:
        count, width = x_BHTK.shape[-2:]
        if width % 2:
            raise OptionError(
                f"rotary positions turn pairs, but a key is {width} wide; "
                "make model.key_width (or model.width / model.heads) even"
            )
        if isinstance(places, Tensor):
            return rotate_complex(x_BHTK, self.turns(int(places.max()) + 1, x_BHTK)[places][:, None])
        if torch.compiler.is_compiling():  # complex numbers are not compiled, and need not be
            return self.magnitude * rotate_pairs(x_BHTK, self.angles(places + count, width, x_BHTK.device)[places:])
        return rotate_complex(x_BHTK, self.turns(places + count, x_BHTK)[places : places + count])

    def angles(self, count: int, width: int, device: torch.device) -> Tensor:
        """angles_TC of the first positions."""
        frequencies_C = self.scale(rotary_frequencies(width, self.base, device))
        return torch.arange(count, device=device).float()[:, None] * frequencies_C

    def turns(self, count: int, like: Tensor) -> Tensor:
        """e^(i angle) of the first ``count`` positions and, to save work, of some more."""
        exact = torch.complex128 if like.dtype == torch.float64 else torch.complex64
        key = like.shape[-1], exact, like.device
        held = self._turns.get(key)
        if held is None or len(held) < count:
            with torch.inference_mode(False):  # what is kept from decoding may be needed in training
                angles_TC = self.angles(max(2 * count, 64), like.shape[-1], like.device)
                held = self._turns[key] = torch.polar(torch.full_like(angles_TC, self.magnitude), angles_TC).to(exact)
        return held


class RelativeBias(NoPosition):
    """A learned number for each head and (clipped) distance, added to the scores (after Shaw et al. 2018)."""

    def __init__(self, heads: int, max_distance: int) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.bias_HC = nn.Parameter(torch.zeros(heads, 2 * max_distance + 1))

    def bias(self, queries: int, keys: int, places: Places = 0) -> Tensor | None:
        device = self.bias_HC.device
        if not isinstance(places, Tensor):
            places = torch.arange(places, places + queries, device=device)
        distance = places[..., None] - torch.arange(keys, device=device)
        bias = self.bias_HC[:, distance.clamp(-self.max_distance, self.max_distance) + self.max_distance]
        return bias if bias.dim() == 3 else bias.transpose(0, 1)


class TablePart(PositionPart):
    """Settings of positions that are rows of a table, added to the embeddings or concatenated with them."""

    join: Literal["add", "concatenate"] = "add"
    width: int = Field(16, ge=1)  # where concatenated
    max_length: int = Field(2048, ge=1)

    def unused(self) -> dict[str, str]:
        if self.join == "concatenate":
            return {}
        return {"width": 'with join = "add" positions are as wide as the model (or set join = "concatenate")'}


class SinusoidalConfig(TablePart):
    """Sinusoids, added as published or concatenated with a width of their own."""

    kind: str = "sinusoidal"

    def build(self, model_width: int, heads: int) -> NoPosition:
        return joined(sinusoids, self.join, self.width, self.max_length, model_width)


class ReversedBinaryConfig(SinusoidalConfig):
    """The bits of the position, lowest first; concatenated by default, since they are not small."""

    kind: str = "reversed-binary"
    join: Literal["add", "concatenate"] = "concatenate"

    def build(self, model_width: int, heads: int) -> NoPosition:
        return joined(reversed_binary, self.join, self.width, self.max_length, model_width)


def joined(
    table: Callable[[Tensor, int], Tensor], join: str, width: int, max_length: int, model_width: int
) -> TablePosition:
    positions = torch.arange(max_length)
    if join == "add":
        return TablePosition(table(positions, model_width), learned=False)
    return ConcatenatedPosition(table(positions, width), model_width, learned=False)


class LearnedConfig(TablePart):
    """A learned vector for each position, as in BERT and GPT-2."""

    kind: str = "learned"
    max_length: int = Field(512, ge=1)
    first: int = Field(0, ge=0)  # rows before the first position's; RoBERTa's stands after the padding symbol's

    def build(self, model_width: int, heads: int) -> NoPosition:
        width = model_width if self.join == "add" else self.width
        table_SD = torch.randn(self.first + self.max_length, width) * model_width**-0.5
        if self.join == "add":
            return TablePosition(table_SD, learned=True, first=self.first)
        return ConcatenatedPosition(table_SD, model_width, learned=True, first=self.first)


class GridConfig(PositionPart):
    """Two-dimensional sinusoids for a grid of patches read row by row."""

    kind: str = "grid"
    rows: int = Field(16, ge=1)
    columns: int = Field(16, ge=1)

    def build(self, model_width: int, heads: int) -> NoPosition:
        return TablePosition(two_dimensional_sinusoids(self.rows, self.columns, model_width), learned=False)


class RotaryConfig(PositionPart):
    """Rotary positions, their frequencies stretched or not."""

    kind: str = "rotary"
    base: float = Field(10000.0, gt=0)
    scaling: Annotated[SerializeAsAny[ScalingPart], SCALINGS] = Field(default_factory=SCALINGS.make)

    def build(self, model_width: int, heads: int) -> NoPosition:
        return Rotary(self.base, partial(self.scaling.scale, base=self.base), self.scaling.magnitude)


class RelativeBiasConfig(PositionPart):
    """A learned bias for each head and distance up to ``max_distance``."""

    kind: str = "relative-bias"
    max_distance: int = Field(32, ge=0)

    def build(self, model_width: int, heads: int) -> NoPosition:
        return RelativeBias(heads, self.max_distance)


class NoPositionConfig(PositionPart):
    """No position at all: attention then reads a bag of words."""

    kind: str = "none"

    def build(self, model_width: int, heads: int) -> NoPosition:
        return NoPosition()

"""Where a patch stands on its grid: a learned vector for each place, or sinusoids along every axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.config import Choices, Part
from regard.core.errors import OptionError
from regard.core.inputs import Embedded
from regard.layers.positions import sinusoids

SPREAD = 0.02
"""Of learned positions at the start."""


class GridPosition(nn.Module):
    """Adds to each position's vector where it stands; the base adds nothing."""

    max_length = 0  # how many positions there are; 0: as many as one likes

    def forward(self, embedded: Embedded) -> Tensor:
        return embedded.x_BND

    def interpolated(self, tensors: dict[str, Tensor], grid: Sequence[int]) -> dict[str, Tensor]:
        """Weights of the same positions on another grid, by name, as this one needs them."""
        return tensors


class GridPositionPart(Part):
    """Settings of positions on a grid; this one has none."""

    kind: str = "none"

    def build(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> GridPosition:
        """For a grid with so many positions along each axis, behind its class tokens."""
        return GridPosition()


class LearnedGridConfig(GridPositionPart):
    """A learned vector for every place of the grid and for the class token (Dosovitskiy et al. 2021)."""

    kind: str = "learned"

    def build(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> GridPosition:
        return LearnedGrid(grid, width, class_tokens)


class FactorisedGridConfig(GridPositionPart):
    """A learned vector for every place along each axis, added (the factorised positions of Dosovitskiy et al. 2021,
    appendix D.4): for space and time far fewer than one for every place."""

    kind: str = "factorised"

    def build(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> GridPosition:
        return FactorisedGrid(grid, width, class_tokens)


class SinusoidalGridConfig(GridPositionPart):
    """Sinusoids of the row and of the column, each in its share of the width; any size of grid is welcome."""

    kind: str = "sinusoidal"

    def build(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> GridPosition:
        return SinusoidalGrid()


GRID_POSITIONS = Choices(
    "position",
    GridPositionPart,
    "learned",
    {
        "learned": "regard.layers.grid_positions:LearnedGridConfig",
        "factorised": "regard.layers.grid_positions:FactorisedGridConfig",
        "sinusoidal": "regard.layers.grid_positions:SinusoidalGridConfig",
        "none": "regard.layers.grid_positions:GridPositionPart",
    },
)


class LearnedGrid(GridPosition):
    """A table of vectors, one for each position in the order of the front.

    A picture of another size has another grid: for it the vectors of the grid's places are interpolated (Dosovitskiy et
    al. 2021, section 3.2). Of what is shorter along its first axis, as series are, the first positions are taken.
    """

    def __init__(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> None:
        super().__init__()
        self.grid, self.class_tokens = tuple(grid), class_tokens
        self.max_length = class_tokens + math.prod(grid)
        self.table_ND = nn.Parameter(torch.randn(self.max_length, width) * SPREAD)

    def forward(self, embedded: Embedded) -> Tensor:
        found = embedded.x_BND.shape[1]
        if self.is_another_grid(embedded):
            table_ND = interpolated(self.table_ND, self.grid, embedded.grid)
        elif found <= self.max_length:
            table_ND = self.table_ND[:found]
        else:
            raise OptionError(
                f"an input of {found} positions does not fit into the {self.max_length} learned ones; give it the size "
                'that the model was built for, or train with model.position.kind = "sinusoidal"'
            )
        return embedded.x_BND + table_ND.to(embedded.x_BND.dtype)

    def is_another_grid(self, embedded: Embedded) -> bool:
        return is_another_grid(embedded, self.grid)

    def interpolated(self, tensors: dict[str, Tensor], grid: Sequence[int]) -> dict[str, Tensor]:
        return {name: interpolated(table_ND, grid, self.grid) for name, table_ND in tensors.items()}


def is_another_grid(embedded: Embedded, own: Sequence[int]) -> bool:
    """Whether inputs have another size than those positions were built for; one that is shorter along its first axis
    alone (time) is the beginning of such an input."""
    grid = embedded.grid
    if len(grid) < 2 or embedded.lengths_B is not None:
        return False
    return grid[1:] != tuple(own[1:]) or grid[0] > own[0]


class FactorisedGrid(GridPosition):
    """x + t_time + t_row + t_column …, of which each is learned; class tokens have a vector each.

    Inputs of another size have another grid: for them the vectors of each axis are interpolated.
    """

    def __init__(self, grid: Sequence[int], width: int, class_tokens: int = 0) -> None:
        super().__init__()
        self.grid, self.class_tokens = tuple(grid), class_tokens
        self.max_length = class_tokens + math.prod(grid)
        self.axes = nn.ParameterList(nn.Parameter(torch.randn(length, width) * SPREAD) for length in grid)
        if class_tokens:
            self.class_table_ND = nn.Parameter(torch.randn(class_tokens, width) * SPREAD)

    def forward(self, embedded: Embedded) -> Tensor:
        x_BND, places_BNA = embedded.x_BND, embedded.places_BNA
        if places_BNA is None or places_BNA.shape[-1] != len(self.grid):
            raise OptionError(
                f'model.position.kind = "factorised" needs places on a grid of {len(self.grid)} axes, which this front '
                'does not give; choose "learned" or "sinusoidal"'
            )
        tables = list(self.axes)
        if is_another_grid(embedded, self.grid):
            tables = [interpolated(*one) for one in zip(tables, *(zip(own) for own in (self.grid, embedded.grid)))]
        elif embedded.grid and embedded.grid[0] > self.grid[0]:
            raise OptionError(
                f"an input of {embedded.grid[0]} steps does not fit into the {self.grid[0]} learned ones; give it the "
                'size that the model was built for, or train with model.position.kind = "sinusoidal"'
            )
        places_NA = places_BNA[0, self.class_tokens :]  # the same for all rows
        table_ND = sum((table_ND[places_NA[:, axis]] for axis, table_ND in enumerate(tables)), torch.zeros(()))
        if self.class_tokens:
            table_ND = torch.cat((self.class_table_ND, table_ND))
        return x_BND + table_ND.to(x_BND.dtype)

    def interpolated(self, tensors: dict[str, Tensor], grid: Sequence[int]) -> dict[str, Tensor]:
        """Names end in the number of the axis, but for the class tokens'."""
        made = dict(tensors)
        for name, table_ND in tensors.items():
            axis = name.rpartition(".")[2]
            if axis.isdecimal():
                made[name] = interpolated(table_ND, (grid[int(axis)],), (self.grid[int(axis)],))
        return made


MODES = ("linear", "bicubic", "trilinear")
"""By the number of axes."""


def interpolated(table_ND: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """The vectors of a grid's places, read off between the places of another; those before the grid stay."""
    extra = len(table_ND) - math.prod(before)
    if tuple(before) == tuple(after):
        return table_ND
    places_1D = table_ND[extra:].float().unflatten(0, tuple(before)).movedim(-1, 0)[None]
    found_1D = functional.interpolate(places_1D, size=tuple(after), mode=MODES[len(before) - 1], align_corners=False)
    found_ND = found_1D[0].movedim(0, -1).flatten(0, -2).to(table_ND.dtype)
    return torch.cat((table_ND[:extra], found_ND))


class SinusoidalGrid(GridPosition):
    """The sinusoids of each axis side by side, added; without places, positions count as 0, 1, 2 …"""

    def forward(self, embedded: Embedded) -> Tensor:
        x_BND, places_BNA = embedded.x_BND, embedded.places_BNA
        if places_BNA is None:
            places_BNA = torch.arange(x_BND.shape[1], device=x_BND.device)[None, :, None]
        return x_BND + place_sinusoids(places_BNA, x_BND.shape[-1]).to(x_BND.dtype)


def place_sinusoids(places_BNA: Tensor, width: int) -> Tensor:
    """table_BND: every axis has an equal share of the width, the last one what is left."""
    axes = places_BNA.shape[-1]
    shares = [width // axes] * (axes - 1) + [width - width // axes * (axes - 1)]
    if len(places_BNA) > 1 and places_BNA.stride(0) == 0:  # the same for all rows: computed once
        return place_sinusoids(places_BNA[:1], width)
    tables = [
        sinusoids(places_BNA[..., axis].flatten(), share).unflatten(0, places_BNA.shape[:2])
        for axis, share in enumerate(shares)
    ]
    return torch.cat(tables, dim=-1)

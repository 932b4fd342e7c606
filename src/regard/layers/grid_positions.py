"""Where a patch stands on its grid: a learned vector for each place, or sinusoids along every axis."""

from __future__ import annotations

import torch
from torch import Tensor, nn

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


class GridPositionPart(Part):
    """Settings of positions on a grid; this one has none."""

    kind: str = "none"

    def build(self, positions: int, width: int) -> GridPosition:
        """For so many positions, the class token among them."""
        return GridPosition()


class LearnedGridConfig(GridPositionPart):
    """A learned vector for every place of the grid and for the class token (Dosovitskiy et al. 2021)."""

    kind: str = "learned"

    def build(self, positions: int, width: int) -> GridPosition:
        return LearnedGrid(positions, width)


class SinusoidalGridConfig(GridPositionPart):
    """Sinusoids of the row and of the column, each in its share of the width; any size of grid is welcome."""

    kind: str = "sinusoidal"

    def build(self, positions: int, width: int) -> GridPosition:
        return SinusoidalGrid()


GRID_POSITIONS = Choices(
    "position",
    GridPositionPart,
    "learned",
    {
        "learned": "regard.layers.grid_positions:LearnedGridConfig",
        "sinusoidal": "regard.layers.grid_positions:SinusoidalGridConfig",
        "none": "regard.layers.grid_positions:GridPositionPart",
    },
)


class LearnedGrid(GridPosition):
    """A table of vectors, one for each position in the order of the front."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.max_length = positions
        self.table_ND = nn.Parameter(torch.randn(positions, width) * SPREAD)

    def forward(self, embedded: Embedded) -> Tensor:
        found = embedded.x_BND.shape[1]
        if found > self.max_length:
            raise OptionError(
                f"an input of {found} positions does not fit into the {self.max_length} learned ones; give it the size "
                'that the model was built for, or train with model.position.kind = "sinusoidal"'
            )
        return embedded.x_BND + self.table_ND[:found].to(embedded.x_BND.dtype)


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

"""Cells over sequences: an encoder on packed data, a stack for decoders, and the bridge between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.layers.dropout import Dropout
from regard.layers.recurrent.cells import Cell, State

NewCell = Callable[[int, int], Cell]
"""From an input width and a width to a cell."""


class Forwards(nn.Module):
    """A cell from the first position to the last. Packed rows are sorted, the longest first: as sentences end,
    rows leave at the end of the batch, and no padding is ever computed.
    """

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, packed: PackedSequence) -> tuple[Tensor, State]:
        """The packed states, and what each row remembers after its last position (rows in sorted order)."""
        sizes = packed.batch_sizes.tolist()
        state: State = self.cell.start(sizes[0], packed.data)
        outputs, ended = [], []
        for x_BJ, rows in zip(self.cell.project(packed.data).split(sizes), sizes, strict=True):
            if rows < len(state[0]):
                ended.append(tuple(part[rows:] for part in state))
                state = tuple(part[:rows] for part in state)
            state = self.cell(x_BJ, state)
            outputs.append(state[0])
        return torch.cat(outputs), _joined(state, ended)


def _joined(state: State, ended: list[State]) -> State:
    """Rows that went on to the end, then those that left, the last to leave first."""
    if not ended:
        return state
    return tuple(torch.cat(parts) for parts in zip(state, *reversed(ended), strict=True))


class Backwards(nn.Module):
    """A cell from the last position to the first: rows join as their sentences begin."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, packed: PackedSequence) -> tuple[Tensor, State]:
        """The packed states, and what each row remembers after its first position (rows in sorted order)."""
        sizes = packed.batch_sizes.tolist()
        state: State = self.cell.start(sizes[-1], packed.data)
        outputs = []
        for x_BJ, rows in zip(reversed(self.cell.project(packed.data).split(sizes)), reversed(sizes), strict=True):
            if rows > len(state[0]):
                joining = self.cell.start(rows - len(state[0]), packed.data)
                state = tuple(torch.cat(parts) for parts in zip(state, joining, strict=True))
            state = self.cell(x_BJ, state)
            outputs.append(state[0])
        return torch.cat(outputs[::-1]), state


class RecurrentEncoder(nn.Module):
    """Layers of cells over the source, in one direction or in both (Schuster & Paliwal 1997)."""

    def __init__(
        self, new_cell: NewCell, input_width: int, width: int, layers: int, dropout: float, bidirectional: bool
    ) -> None:
        super().__init__()
        directions: tuple[type[nn.Module], ...] = (Forwards, Backwards) if bidirectional else (Forwards,)
        self.width = width * len(directions)
        widths = [input_width] + [self.width] * (layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(direction(new_cell(inner, width)) for direction in directions) for inner in widths
        )
        self.dropout = Dropout(dropout)

    def forward(self, x_BSI: Tensor, lengths_B: Tensor) -> tuple[Tensor, list[State]]:
        """memory_BSC, and by layer what is remembered at the end, the directions side by side."""
        packed = pack_padded_sequence(x_BSI, lengths_B.cpu(), batch_first=True, enforce_sorted=False)
        finals: list[State] = []
        for number, directions in enumerate(self.layers):
            if number:
                packed = packed._replace(data=self.dropout(packed.data))
            found = [direction(packed) for direction in cast(nn.ModuleList, directions)]
            packed = packed._replace(data=torch.cat([states for states, _ in found], dim=-1))
            parts = zip(*(final for _, final in found), strict=True)
            finals.append(tuple(torch.cat(part, dim=-1)[packed.unsorted_indices] for part in parts))
        memory_BSC, _ = pad_packed_sequence(packed, batch_first=True, total_length=x_BSI.shape[1])
        return memory_BSC, finals


class RecurrentStack(nn.Module):
    """Layers of cells that go on from given states, one step or many at a time."""

    def __init__(self, new_cell: NewCell, input_width: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [input_width] + [width] * (layers - 1)
        self.cells = nn.ModuleList(new_cell(inner, width) for inner in widths)
        self.dropout = Dropout(dropout)

    @property
    def parts(self) -> int:
        """How many tensors the state of a layer has."""
        return cast(Cell, self.cells[0]).parts

    def start(self, rows: int, like: Tensor) -> list[State]:
        """Nothing remembered in any layer."""
        return [cast(Cell, cell).start(rows, like) for cell in self.cells]

    def forward(
        self, x_RTI: Tensor, states: Sequence[State], lengths_R: Tensor | None = None
    ) -> tuple[Tensor, list[State]]:
        """The top layer's states_RTD, and all layers' states after the last step; with lengths, the last real one."""
        after = []
        for number, (module, state) in enumerate(zip(self.cells, states, strict=True)):
            cell = cast(Cell, module)
            outputs = []
            for step, x_RJ in enumerate(cell.project(self.dropout(x_RTI) if number else x_RTI).unbind(1)):
                state = moved(state, cell(x_RJ, state), step, lengths_R)
                outputs.append(state[0])
            x_RTI = torch.stack(outputs, dim=1)
            after.append(state)
        return x_RTI, after


class Bridge(nn.Module):
    """tanh(W summary): the first states of a decoder's layers from what the encoder remembers."""

    def __init__(self, summary_width: int, width: int, layers: int, parts: int) -> None:
        super().__init__()
        self.shape = (layers, parts, width)
        self.linear = nn.Linear(summary_width, layers * parts * width)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, summary_BC: Tensor) -> list[State]:
        first_BLPD = torch.tanh(self.linear(summary_BC)).unflatten(-1, self.shape)
        return [layer.unbind(1) for layer in first_BLPD.unbind(1)]


def moved(before: State, after: State, step: int, lengths_R: Tensor | None) -> State:
    """The state after a step; rows that have no token there stay as they were."""
    if lengths_R is None:
        return after
    real_R1 = (step < lengths_R)[:, None]
    return tuple(torch.where(real_R1, new, old) for old, new in zip(before, after, strict=True))


def join_states(ours: Sequence[State], theirs: Sequence[State]) -> list[State]:
    """The rows of both, layer by layer."""
    return [
        tuple(torch.cat(parts) for parts in zip(one, other, strict=True))
        for one, other in zip(ours, theirs, strict=True)
    ]


def reorder_states(states: Sequence[State], rows: Tensor) -> list[State]:
    return [tuple(part.index_select(0, rows) for part in state) for state in states]

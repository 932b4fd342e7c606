"""A recurrent language model (Mikolov et al. 2010): layers of cells that carry what they read from text to text.

It is trained by truncated back-propagation through time: the state goes on to the next stretch of text, the
gradient does not. Read it top to bottom: configuration, model, state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.inputs import Inputs, States
from regard.core.ports import Ports
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy
from regard.layers import CELLS, EMBEDDINGS, MOST_LAYERS, CellPart, EmbeddingPart
from regard.layers.dropout import Dropout
from regard.layers.embeddings import Tied, build_embeddings
from regard.layers.recurrent.cells import State
from regard.layers.recurrent.readout import Readout
from regard.layers.recurrent.stacks import RecurrentStack, join_states, reorder_states
from regard.models import ModelPart


class RecurrentConfig(ModelPart):
    """Cells over the text so far."""

    roles = frozenset({Role.READS, Role.CONTINUES})

    kind: str = "recurrent"
    cell: Annotated[SerializeAsAny[CellPart], CELLS.with_default("lstm")] = Field(
        default_factory=CELLS.with_default("lstm").make
    )
    embedding: Annotated[SerializeAsAny[EmbeddingPart], EMBEDDINGS] = Field(default_factory=EMBEDDINGS.make)
    width: int = Field(256, ge=1)
    layers: int = Field(2, ge=1, le=MOST_LAYERS)
    tied: Literal["output", "none"] = "output"  # whether words in and words out share one matrix

    def build(self, ports: Ports) -> Recurrent:
        return Recurrent(self.settled(), ports)


class Recurrent(nn.Module):
    """h_t = f(h_{t−1}, x_t); what follows x_t is read off h_t alone."""

    anatomy = Anatomy(
        state_path="stack.cells.0",
        depth_path="stack.cells.*",
        reading=("target_embedding", "dropout", "stack", "readout"),
    )
    causal = True
    max_length = 0  # it reads as many tokens as one likes

    def __init__(self, config: RecurrentConfig, ports: Ports) -> None:
        super().__init__()
        self.config = config
        tied: Tied = "all" if config.tied == "output" else "none"
        _, self.target_embedding, self.head = build_embeddings(config.embedding, ports, tied, config.width)
        new_cell = config.cell.build
        self.stack = RecurrentStack(
            new_cell, self.target_embedding.width, config.width, config.layers, config.dropout
        )
        self.readout = Readout(config.width, self.head.width, config.dropout)
        self.dropout = Dropout(config.dropout)
        self.width = self.head.width

    def represent(self, inputs: Inputs) -> States:
        """What is padded stands behind everything and is read last."""
        return States(self(inputs.values), inputs.lengths_B)

    def forward(self, tokens_BT: Tensor, segments_BT: Tensor | None = None) -> Tensor:
        """states_BTD for texts that begin here."""
        if segments_BT is not None:
            raise OptionError(
                'a recurrent model reads on across the documents of a window; set task.documents = "joined", '
                "or choose a model with attention"
            )
        return self.read(tokens_BT, self.start((len(tokens_BT), 0)))

    def start(self, source: tuple[int, int]) -> RecurrentState:
        """Nothing read yet: for so many rows; the second number, room for tokens, it does not need."""
        like = self.readout.linear.weight
        return RecurrentState(self.stack.start(source[0], like))

    def step(
        self, tokens_BT: Tensor, state: RecurrentState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, RecurrentState]:
        return self.head(self.read(tokens_BT, state, lengths_B)), state

    def read(self, tokens_RT: Tensor, state: RecurrentState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for texts that go on from a state, which goes along."""
        h_RTD, state.states = self.stack(self.dropout(self.target_embedding(tokens_RT)), state.states, lengths_R)
        return self.readout(h_RTD)

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a layer the last ones."""
        return self.head(self.readout(states_BTD))


@dataclass(slots=True)
class RecurrentState:
    """What every layer remembers, by row."""

    states: list[State]

    def reorder(self, rows: Tensor) -> RecurrentState:
        return RecurrentState(reorder_states(self.states, rows))

    def join(self, other: RecurrentState) -> RecurrentState:
        return RecurrentState(join_states(self.states, other.states))

    @property
    def rows(self) -> int:
        return len(self.states[0][0])

    def detached(self) -> RecurrentState:
        """The same memory, through which no gradient flows back."""
        return RecurrentState([tuple(part.detach() for part in state) for state in self.states])

    def tensors(self) -> dict[str, Tensor]:
        """By name, for a checkpoint; ``restored`` puts them back."""
        return {f"{layer}.{part}": held for layer, state in enumerate(self.states) for part, held in enumerate(state)}

    def restored(self, tensors: Mapping[str, Tensor]) -> RecurrentState:
        """A state of this shape that remembers the given tensors."""
        return RecurrentState(
            [tuple(tensors[f"{layer}.{part}"] for part in range(len(state))) for layer, state in enumerate(self.states)]
        )

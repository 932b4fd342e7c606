"""A recurrent encoder, and a decoder that a family adds: what is the same however the decoder learns of the source."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Generic, TypeVar

from pydantic import Field, SerializeAsAny
from torch import Tensor, nn

from regard.core.config import Part
from regard.core.inputs import Inputs, States
from regard.core.ports import Ports
from regard.layers import CELLS, EMBEDDINGS, CellPart, EmbeddingPart
from regard.layers.dropout import Dropout
from regard.layers.embeddings import Tied, build_embeddings
from regard.layers.recurrent.cells import State
from regard.layers.recurrent.stacks import RecurrentEncoder

AnyState = TypeVar("AnyState")


class EncoderDecoderPart(Part):
    """Of which cells both sides are made, how symbols become vectors, and how wide a state is."""

    cell: Annotated[SerializeAsAny[CellPart], CELLS] = Field(default_factory=CELLS.make)
    embedding: Annotated[SerializeAsAny[EmbeddingPart], EMBEDDINGS] = Field(default_factory=EMBEDDINGS.make)
    width: int = Field(256, ge=1)


class RecurrentEncoderDecoder(nn.Module, Generic[AnyState]):
    """The encoder reads the source; a family says what its decoder keeps of that (``start``) and how it goes on
    (``read``)."""

    max_length = 0  # it reads as many tokens as one likes

    def __init__(
        self, config: EncoderDecoderPart, ports: Ports, layers: int, bidirectional: bool, dropout: float, tied: Tied
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding, self.head = build_embeddings(
            config.embedding, ports, tied, config.width
        )
        self.encoder = RecurrentEncoder(
            config.cell.build, self.source_embedding.width, config.width, layers, dropout, bidirectional
        )
        self.dropout = Dropout(dropout)
        self.causal, self.width = not bidirectional, self.encoder.width

    def encode(self, source_BS: Tensor, lengths_B: Tensor) -> tuple[Tensor, list[State]]:
        """states_BSC, and by layer what is remembered at the end."""
        return self.encoder(self.dropout(self.source_embedding(source_BS)), lengths_B)

    def represent(self, inputs: Inputs) -> States:
        states_BSC, _ = self.encode(inputs.values, inputs.real_lengths_B)
        return States(states_BSC, inputs.lengths_B)

    def forward(self, source_BS: Tensor, source_lengths_B: Tensor, target_BT: Tensor) -> Tensor:
        """states_BTD for all target positions (teacher forcing)."""
        return self.read(target_BT, self.start((source_BS, source_lengths_B)))

    def step(
        self, tokens_BT: Tensor, state: AnyState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, AnyState]:
        return self.head(self.read(tokens_BT, state, lengths_B)), state

    @abstractmethod
    def start(self, source: tuple[Tensor, Tensor]) -> AnyState:
        """The decoder's state before its first word."""

    @abstractmethod
    def read(self, tokens_RT: Tensor, state: AnyState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for the given tokens; the state goes along."""

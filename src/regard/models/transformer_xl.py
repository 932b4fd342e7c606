"""Transformer-XL: a decoder alone that remembers the segment before, and reads a text on and on (Dai et al. 2019).

Distances in place of positions, and of every layer the inputs at the last positions. Departures: norms come before the
sub-layers, as in GPT, and a position sees so many before it in training as in use (the paper's ``same_length``), so
that it does not matter how a text is cut. Read it top to bottom: configuration, model, state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.attention.heads import HeadShape
from regard.attention.masks import Mask, inside_segments
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.inputs import Inputs, States
from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy, Entrance
from regard.layers import GELU_FEED_FORWARDS, MOST_LAYERS, NORMS, FeedForwardPart, NormPart
from regard.layers.blocks import PreNorm, init_small
from regard.layers.dropout import Dropout
from regard.layers.embeddings import PlainEmbedding, VocabularyHead
from regard.layers.recurrent.segments import DistanceAttention, RecurrentLayer, SegmentMemory
from regard.layers.stacks import settled_sizes
from regard.models import ModelPart


class TransformerXlConfig(ModelPart):
    """Layers of attention over the last ``memory`` positions; with task.carry they reach back across segments."""

    roles = frozenset({Role.READS, Role.CONTINUES})

    stacks: ClassVar[Mapping[str, str]] = {"layers": "layers"}

    kind: str = "transformer-xl"
    layers: int = Field(4, ge=1, le=MOST_LAYERS)
    heads: Annotated[int, Auto(ge=1)] = AUTO
    memory: int = Field(256, ge=1)  # positions before its own that a position sees, and that are remembered
    tied: Literal["output", "none"] = "output"  # whether words in and words out share one matrix
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], GELU_FEED_FORWARDS] = Field(
        default_factory=GELU_FEED_FORWARDS.make
    )
    norm: Annotated[SerializeAsAny[NormPart], NORMS] = Field(default_factory=NORMS.make)

    @model_validator(mode="after")
    def _fits(self) -> TransformerXlConfig:
        if self.width % decided(self.heads, lambda: rules.heads(self.width)):
            raise ValueError(f"width {self.width} is not divisible by {self.heads} heads; change one of them")
        return self

    def settled_sizes(self) -> dict[str, Any]:
        return settled_sizes(self.width, self.heads, self.feed_forward)

    def build(self, ports: Ports) -> TransformerXl:
        return TransformerXl(self.settled(), ports)

    def block(self, layer: int) -> RecurrentLayer:
        return RecurrentLayer(
            DistanceAttention(HeadShape(self.width, self.heads)),
            self.feed_forward.at_layer(layer).build(self.width, 0.0),
            *(PreNorm(self.width, self.dropout, self.norm.build) for _ in range(2)),
        )


class TransformerXl(nn.Module):
    """Tokens so far become states, ``head`` turns states into logits for what follows each of them."""

    anatomy = Anatomy(
        state_path="layers.0",
        depth_path="layers.*",
        reading=("embedding", "dropout", "layers", "norm"),
        entrances=(Entrance("tokens", "embedding", "dropout"),),
    )
    causal = True
    max_length = 0  # it reads as many tokens as one likes

    def __init__(self, config: TransformerXlConfig, ports: Ports) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = PlainEmbedding(symbols, config.width)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(config.block(layer) for layer in range(config.layers))
        self.norm = config.norm.build(config.width)
        init_small(self)
        self.head = VocabularyHead(symbols, config.width, self.embedding if config.tied == "output" else None)

    def represent(self, inputs: Inputs) -> States:
        """What is padded stands behind everything; nobody looks there."""
        return States(self(inputs.values), inputs.lengths_B)

    def forward(self, tokens_BT: Tensor, segments_BT: Tensor | None = None) -> Tensor:
        """states_BTD of texts that begin here; with segments, nobody looks beyond their own."""
        mask = Mask(causal=True, window=self.config.memory + 1)
        return self._run(tokens_BT, None, mask if segments_BT is None else mask & inside_segments(segments_BT))[0]

    def read(self, tokens_RT: Tensor, state: XlState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for texts that go on from a state, which goes along; what is remembered learns nothing."""
        before, size = state.memory, self.config.memory
        states_RTD, given = self._run(tokens_RT, before.inputs_LBMD, before.mask(size, tokens_RT.shape[1]))
        state.memory = before.after(torch.stack(given).detach(), size, lengths_R)
        return states_RTD

    def _run(self, tokens_RT: Tensor, memory_LRMD: Tensor | None, mask: Mask) -> tuple[Tensor, list[Tensor]]:
        """States, and what every layer was given."""
        x_RTD, given = self.dropout(self.embedding(tokens_RT)), []
        for number, layer in enumerate(self.layers):
            given.append(x_RTD)
            remembered_RMD = x_RTD[:, :0] if memory_LRMD is None else memory_LRMD[number]
            x_RTD = layer(x_RTD, remembered_RMD, mask)
        return self.norm(x_RTD), given

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a layer the last ones."""
        return self.head(self.norm(states_BTD))

    def start(self, source: tuple[int, int]) -> XlState:
        """Nothing read yet: for so many rows; the second number, room for tokens, it does not need."""
        like = self.embedding.weight
        return XlState(SegmentMemory(like.new_zeros(len(self.layers), source[0], 0, self.width)))

    def step(self, tokens_BT: Tensor, state: XlState, lengths_B: Tensor | None = None) -> tuple[Tensor, XlState]:
        return self.head(self.read(tokens_BT, state, lengths_B)), state


@dataclass(slots=True)
class XlState:
    """What every layer was given at the last positions, by row."""

    memory: SegmentMemory

    def reorder(self, rows: Tensor) -> XlState:
        return XlState(self.memory.reorder(rows))

    def join(self, other: XlState) -> XlState:
        return XlState(self.memory.join(other.memory))

    @property
    def rows(self) -> int:
        return self.memory.inputs_LBMD.shape[1]

    def detached(self) -> XlState:
        """Itself: no gradient flows through what is remembered."""
        return self

    def tensors(self) -> dict[str, Tensor]:
        """By name, for a checkpoint; ``restored`` puts them back."""
        return {"inputs": self.memory.inputs_LBMD}

    def restored(self, tensors: Mapping[str, Tensor]) -> XlState:
        """A state that remembers the given tensors, of rows that were read side by side."""
        inputs_LBMD = tensors["inputs"].to(self.memory.inputs_LBMD.device)
        return XlState(SegmentMemory(inputs_LBMD, inputs_LBMD.shape[2]))

"""Hierarchical encoder: reads a long text part by part, then the parts' summaries, and tells every token of them.

Parts of equal length are read by themselves, each is summed up by the mean of its states, and layers over the summaries
relate the parts (Zhang et al. 2019, whose sentences are parts here, of any text). For n tokens and parts of P the work
is n · P + (n / P)², in place of n². Read it top to bottom: configuration, model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from pydantic import Field, SerializeAsAny
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.masks import Mask, padding
from regard.core.errors import RecipeError
from regard.core.inputs import Inputs, States
from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy, Entrance
from regard.layers import POSITIONS, PositionPart
from regard.layers.blocks import init_small, run_layer
from regard.layers.dropout import Dropout
from regard.layers.embeddings import PlainEmbedding
from regard.layers.stacks import StackPart
from regard.models import ModelPart

_POSITIONS = POSITIONS.with_default("sinusoidal")


class HierarchicalConfig(StackPart, ModelPart):
    """An encoder of parts and an encoder of their summaries; ``layers`` are those inside parts."""

    roles = frozenset({Role.READS})
    stacks: ClassVar[Mapping[str, str]] = {"layers": "layers", "summary_layers": "summaries"}

    kind: str = "hierarchical"
    part: int = Field(256, ge=2)  # tokens that are read together
    summary_layers: int = Field(2, ge=1)
    position: Annotated[SerializeAsAny[PositionPart], _POSITIONS] = Field(default_factory=_POSITIONS.make)

    def build(self, ports: Ports) -> Hierarchical:
        return Hierarchical(self.settled(), ports)

    def block(self, layer: int, max_length: int) -> nn.Module:
        return self.encoder_layer(self.dropout, layer, max_length)


class Hierarchical(nn.Module):
    """Tokens become states that know their part, and by its summary all others."""

    anatomy = Anatomy(
        reading=("embedding", "position", "summary_position", "dropout", "layers", "summaries", "tell", "norm"),
        entrances=(Entrance("tokens", "embedding", "position"),),
    )
    causal = False

    def __init__(self, config: HierarchicalConfig, ports: Ports) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = PlainEmbedding(symbols, config.width)
        self.position = config.position.build(config.width, config.heads)
        self.summary_position = config.position.build(config.width, config.heads)
        longest = self.position.max_length
        if longest and longest < config.part:
            raise RecipeError(
                f"model.part = {config.part} tokens are read together, and model.position has {longest} places; set "
                "one of them as the other"
            )
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(config.block(layer, config.part) for layer in range(config.layers))
        parts = self.summary_position.max_length
        self.summaries = nn.ModuleList(config.block(layer, parts) for layer in range(config.summary_layers))
        self.tell = nn.Linear(config.width, config.width)
        self.norm = config.norm.build(config.width)
        init_small(self)
        self.recompute = False  # activation checkpointing, set by the training loop

    @property
    def max_length(self) -> int:
        """How many tokens it can read; 0: as many as one likes."""
        return self.config.part * self.summary_position.max_length

    def represent(self, inputs: Inputs) -> States:
        return States(self(inputs.values, inputs.real_lengths_B), inputs.lengths_B)

    def forward(self, tokens_BS: Tensor, lengths_B: Tensor) -> Tensor:
        """states_BSD; of each row so many tokens are there."""
        rows, tokens = tokens_BS.shape
        part = min(self.config.part, tokens)  # a text of one part is not padded to its length
        parts = -(-tokens // part)
        x_BSD = functional.pad(self.embedding(tokens_BS), (0, 0, 0, parts * part - tokens))
        starts_P = torch.arange(parts, device=tokens_BS.device) * part
        lengths_BP = (lengths_B[:, None] - starts_P).clamp(0, part)
        x_NSD = self._read_parts(x_BSD.reshape(rows * parts, part, -1), lengths_BP.flatten())
        real_NS1 = (torch.arange(part, device=tokens_BS.device) < lengths_BP.reshape(-1, 1))[..., None]
        means_ND = (x_NSD * real_NS1).sum(1) / lengths_BP.reshape(-1, 1).clamp(min=1)
        summaries_BPD = self._read_summaries(means_ND.view(rows, parts, -1), (lengths_BP > 0).sum(1))
        told_BSD = x_NSD.view(rows, parts, part, -1) + self.tell(summaries_BPD)[:, :, None]
        return self.norm(told_BSD.flatten(1, 2)[:, :tokens])

    def _read_parts(self, x_NSD: Tensor, lengths_N: Tensor) -> Tensor:
        x_NSD, mask = self.dropout(self.position.embed(x_NSD)), Mask(lengths_B=lengths_N)
        for layer in self.layers:
            x_NSD = run_layer(layer, self.recompute, x_NSD, mask, self.position)
        return x_NSD

    def _read_summaries(self, x_BPD: Tensor, lengths_B: Tensor) -> Tensor:
        mask = padding(lengths_B, x_BPD.shape[1])
        x_BPD = self.summary_position.embed(x_BPD)
        for layer in self.summaries:
            x_BPD = run_layer(layer, self.recompute, x_BPD, mask, self.summary_position)
        return x_BPD

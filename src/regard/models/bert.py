"""BERT: an encoder alone, which reads a text from both sides (Devlin et al. 2019).

Learned positions, segments, a norm on the embeddings, post-norm blocks, GELU. RoBERTa (Liu et al. 2019) and DistilBERT
(Sanh et al. 2019) are the same with other numbers: see ``PRESETS``. Read it top to bottom: configuration, sizes, parts,
model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field, SerializeAsAny
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.masks import Mask, padding
from regard.core.errors import OptionError
from regard.core.inputs import Inputs, States
from regard.core.ports import OUTPUT, Ports, tokens_at
from regard.core.roles import Role
from regard.core.seams.anatomy import Anatomy, Entrance
from regard.layers import NORMS, POSITIONS, NormPart, PositionPart
from regard.layers.blocks import PostNorm, PreNorm, run_layer
from regard.layers.dropout import Dropout
from regard.layers.embeddings import PlainEmbedding, VocabularyHead
from regard.layers.feed_forward import ACTIVATIONS, HasActivation
from regard.layers.norms import LayerNormConfig
from regard.layers.stacks import StackPart
from regard.models import ModelPart

SPREAD = 0.02
"""Of all weights at the start."""


class BertNormConfig(LayerNormConfig):
    """LayerNorm with the published ε."""

    epsilon: float = Field(1e-12, gt=0)


_POSITIONS = POSITIONS.with_default("learned")
_NORMS = NORMS.but(layer="regard.models.bert:BertNormConfig")


def _size(layers: int, width: int, heads: int, **others: Any) -> dict[str, Any]:
    return {"layers": layers, "width": width, "heads": heads, "dropout": 0.1, "pooler": "tanh", **others}


PRESETS: dict[str, dict[str, Any]] = {
    "bert-tiny": _size(2, 128, 2),  # to medium: Turc et al. 2019
    "bert-mini": _size(4, 256, 4),
    "bert-small": _size(4, 512, 8),
    "bert-medium": _size(8, 512, 8),
    "bert-base": _size(12, 768, 12),
    "bert-large": _size(24, 1024, 16),
    "distilbert": _size(6, 768, 12, segments=0, pooler="none"),
    "roberta-base": _size(12, 768, 12, segments=1, position={"kind": "learned", "first": 2}, norm={"epsilon": 1e-5}),
}
"""The ``[model]`` table of well-known sizes."""


class BertConfig(StackPart, ModelPart):
    """An encoder-only Transformer."""

    presets = PRESETS

    roles = frozenset({Role.READS, Role.FILLS})

    stacks: ClassVar[Mapping[str, str]] = {"layers": "layers"}

    kind: str = "bert"
    segments: int = Field(2, ge=0)  # kinds of segments (sentence A, sentence B); 0: segments have no vectors
    pooler: Literal["none", "tanh", "relu"] = "none"  # the function of a layer on the first state, which stands for all
    relation: Literal["none", "next"] = "none"  # next: it can say whether two texts follow one another
    residual: Literal["post", "pre"] = "post"  # norms after each sum, as published; or before each part and at the end
    tied: Literal["output", "none"] = "output"  # whether words in and words out share one matrix
    position: Annotated[SerializeAsAny[PositionPart], _POSITIONS] = Field(default_factory=_POSITIONS.make)
    norm: Annotated[SerializeAsAny[NormPart], _NORMS] = Field(default_factory=BertNormConfig)

    def build(self, ports: Ports) -> Bert:
        return Bert(self.settled(), ports)

    def block(self, layer: int, max_length: int) -> nn.Module:
        residual = PostNorm if self.residual == "post" else PreNorm
        return self.encoder_layer(self.dropout, layer, max_length, residual)


class Segments(nn.Module):
    """Adds to each embedding the vector of the segment that its token belongs to; where none are said, of the first."""

    def __init__(self, kinds: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(kinds, width) * SPREAD)

    def forward(self, x_BSD: Tensor, segments_BS: Tensor | None) -> Tensor:
        return x_BSD + (self.weight[0] if segments_BS is None else functional.embedding(segments_BS, self.weight))


class NoSegments(nn.Module):
    """Leaves the embeddings as they are; segments that say something are refused rather than lost."""

    def forward(self, x_BSD: Tensor, segments_BS: Tensor | None) -> Tensor:
        if segments_BS is not None and bool(segments_BS.any()):
            raise OptionError("this model has no vectors for segments (model.segments = 0); leave segments_BS out")
        return x_BSD


class FirstState(nn.Module):
    """The state of the opening symbol, as it is, stands for the text."""

    def forward(self, states_BSD: Tensor) -> Tensor:
        return states_BSD[:, 0]


class Pooler(nn.Module):
    """f(W s₀ + b): the state of the opening symbol, made ready to stand for the text; f is tanh in BERT, ReLU in
    DistilBERT."""

    def __init__(self, width: int, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.dense, self.function = nn.Linear(width, width), function

    def forward(self, states_BSD: Tensor) -> Tensor:
        return self.function(self.dense(states_BSD[:, 0]))


POOLERS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}


class MaskedHead(nn.Module):
    """Norm(f(W s + b)), then the words: logits for what stands at each position (Devlin et al. 2019, appendix A.2)."""

    def __init__(self, config: BertConfig, symbols: int, tied: PlainEmbedding | None) -> None:
        super().__init__()
        self.dense = nn.Linear(config.width, config.width)
        network = config.feed_forward
        self.activation = ACTIVATIONS[network.activation if isinstance(network, HasActivation) else "gelu"]
        self.norm = config.norm.build(config.width)
        self.words = VocabularyHead(symbols, config.width, tied, bias=True)

    def transform(self, states_BSD: Tensor) -> Tensor:
        """What is compared with every word."""
        return self.norm(self.activation(self.dense(states_BSD)))

    def forward(self, states_BSD: Tensor) -> Tensor:
        return self.words(self.transform(states_BSD))


class Bert(nn.Module):
    """Tokens become states that know both sides; ``head`` turns them into logits for what stands at each position.

    ``pooler`` makes one vector of a text's states.
    """

    anatomy = Anatomy(
        depth_path="layers.*",
        reading=("embedding", "segments", "position", "norm", "dropout", "layers", "final_norm", "pooler"),
        entrances=(Entrance("tokens", "embedding", "position"),),
    )
    causal = False

    def __init__(self, config: BertConfig, ports: Ports) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = PlainEmbedding(symbols, config.width)
        self.segments = Segments(config.segments, config.width) if config.segments else NoSegments()
        self.position = config.position.build(config.width, config.heads)
        self.norm = config.norm.build(config.width)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(config.block(layer, self.max_length) for layer in range(config.layers))
        self.final_norm = nn.Identity() if config.residual == "post" else config.norm.build(config.width)
        function = POOLERS.get(config.pooler)
        self.pooler = FirstState() if function is None else Pooler(config.width, function)
        self.head = MaskedHead(config, symbols, None if config.tied == "none" else self.embedding)
        if config.relation == "next":
            self.relation = nn.Linear(config.width, 2)  # logits on what ``pooler`` gives: a stranger, or what follows
        self.recompute = False  # activation checkpointing, set by the training loop
        self.apply(start)
        for weight in self.get_submodule("position").parameters():
            nn.init.normal_(weight, std=SPREAD)

    @property
    def max_length(self) -> int:
        """How many tokens it can read, the symbols around a text among them; 0: as many as one likes."""
        return self.position.max_length

    @property
    def segment_kinds(self) -> int:
        """How many kinds of segments have vectors; with fewer than two, nothing but separators tells texts apart."""
        return self.config.segments

    def represent(self, inputs: Inputs) -> States:
        segments_BN = inputs.segments_BN if self.segment_kinds > 1 else None
        return States(self(inputs.values, inputs.real_lengths_B, segments_BN), inputs.lengths_B)

    def forward(self, tokens_BS: Tensor, lengths_B: Tensor | Mask, segments_BS: Tensor | None = None) -> Tensor:
        """states_BSD; of each row so many tokens are there, or a mask says who may look at whom."""
        mask = lengths_B if isinstance(lengths_B, Mask) else padding(lengths_B, tokens_BS.shape[1])
        x_BSD = self.position.embed(self.segments(self.embedding(tokens_BS), segments_BS))
        x_BSD = self.dropout(self.norm(x_BSD))
        for layer in self.layers:
            x_BSD = run_layer(layer, self.recompute, x_BSD, mask, self.position)
        return self.final_norm(x_BSD)

    def answer_at(self, states_BSD: Tensor) -> Tensor:
        """logits_BSW, were these states of a layer the last ones."""
        return self.head(self.final_norm(states_BSD))


def start(module: nn.Module) -> None:
    """The first weights: small ones, no biases."""
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=SPREAD)
        if module.bias is not None:
            nn.init.zeros_(module.bias)

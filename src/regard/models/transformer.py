"""The Transformer of Vaswani et al. 2017: encoder, decoder, and both together; post- or pre-norm.

Read it top to bottom: configuration, encoder, decoder, the encoder–decoder model, its decoding state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from regard.attention import AttentionContext
from regard.attention.cache import AttentionCache
from regard.attention.heads import CrossHeads, HeadShape, SelfHeads
from regard.attention.masks import CAUSAL, EVERYTHING, Mask, padding
from regard.attention.memory import Memory, join_memories, kept_sentences
from regard.attention.places import places_after
from regard.core import rules
from regard.core.auto import AUTO, Auto, decided
from regard.core.errors import RecipeError
from regard.core.inputs import Inputs, States
from regard.core.ports import INPUT, OUTPUT, Arrays, Ports, share_vocabulary, tokens_at
from regard.core.roles import Role
from regard.core.seams import Position
from regard.core.seams.anatomy import Anatomy, Entrance
from regard.layers import FEED_FORWARDS, MOST_LAYERS, POSITIONS, FeedForwardPart, PositionPart
from regard.layers.blocks import DecoderLayer, EncoderLayer, PostNorm, PreNorm, run_layer
from regard.layers.dropout import Dropout
from regard.layers.embeddings import TokenEmbedding, VocabularyHead
from regard.layers.fronts import SOURCE_FRONTS, ArrayFrontPart, TokensConfig
from regard.layers.stacks import AttentionParts, settled_sizes
from regard.models import ModelPart


def _size(width: int, heads: int, dropout: float) -> dict[str, Any]:
    return {"encoder_layers": 6, "decoder_layers": 6, "width": width, "heads": heads, "dropout": dropout}


PRESETS: dict[str, dict[str, Any]] = {
    "transformer-base": _size(512, 8, 0.1),
    "transformer-big": _size(1024, 16, 0.3),
}
"""The ``[model]`` table of the published sizes (Vaswani et al. 2017, table 3)."""


class TransformerConfig(AttentionParts, ModelPart):
    """An encoder–decoder Transformer."""

    presets = PRESETS

    roles = frozenset({Role.READS, Role.ANSWERS})

    stacks: ClassVar[Mapping[str, str]] = {"encoder_layers": "encoder.layers", "decoder_layers": "decoder.layers"}
    head_widths = ("key_width", "value_width")

    kind: str = "transformer"
    encoder_layers: int = Field(4, ge=0, le=MOST_LAYERS)
    decoder_layers: int = Field(4, ge=1, le=MOST_LAYERS)
    heads: Annotated[int, Auto(ge=1)] = AUTO
    groups: int = Field(0, ge=0)  # key/value heads; 0: as many as heads
    key_width: int = Field(0, ge=0)  # d_k; 0: width / heads
    value_width: int = Field(0, ge=0)  # d_v; 0: width / heads
    norm: Literal["post", "pre"] = "post"
    feed_forward_dropout: float = Field(0.0, ge=0, lt=1)  # inside the feed-forward network
    cross: Literal["last", "own"] = "last"  # what a decoder layer reads: the last encoder layer, or its own
    front: Annotated[SerializeAsAny[ArrayFrontPart], SOURCE_FRONTS] = Field(default_factory=SOURCE_FRONTS.make)
    tied: Literal["all", "output", "none"] = "all"  # which embeddings share one matrix
    output_bias: bool = False  # a number of its own for each symbol, added to the logits; as in Marian
    position: Annotated[SerializeAsAny[PositionPart], POSITIONS] = Field(default_factory=POSITIONS.make)
    feed_forward: Annotated[SerializeAsAny[FeedForwardPart], FEED_FORWARDS] = Field(default_factory=FEED_FORWARDS.make)

    @model_validator(mode="after")
    def _fits(self) -> TransformerConfig:
        heads = decided(self.heads, lambda: rules.heads(self.width))
        if self.width % heads and not (self.key_width and self.value_width):
            raise ValueError(f"width {self.width} is not divisible by {heads} heads; change one of them")
        if self.groups and heads % self.groups:
            raise ValueError(f"{heads} heads cannot share {self.groups} key/value groups; change one of them")
        if self.cross == "own" and self.encoder_layers != self.decoder_layers:
            raise ValueError(
                f'cross = "own" pairs layers, but there are {self.encoder_layers} encoder and '
                f"{self.decoder_layers} decoder layers; make them equal"
            )
        return self

    def settled_sizes(self) -> dict[str, Any]:
        return settled_sizes(self.width, self.heads, self.feed_forward)

    def build(self, ports: Ports) -> Transformer:
        return Transformer(self.settled(), ports)

    def context(self, layer: int, layers: int, max_length: int, *, causal: bool = False) -> AttentionContext:
        """What a mechanism in this layer of so many is told."""
        width = self.projection.head_shape(self.head_shape()).key_width
        return AttentionContext(width, width, self.heads, max_length, layer, layers, causal)

    def self_attention(self, context: AttentionContext) -> SelfHeads:
        mechanism = self.attention.build(context)
        return self.projection.self_attention(
            self.head_shape(), mechanism, bias=True, new_norm=self.head_norm.build
        )

    def cross_attention(self, context: AttentionContext) -> CrossHeads:
        mechanism = self.attention.build_cross(context)
        return self.projection.cross_attention(
            self.head_shape(), mechanism, bias=True, new_norm=self.head_norm.build
        )

    def head_shape(self) -> HeadShape:
        return HeadShape(self.width, self.heads, self.groups, self.key_width, self.value_width)

    def network(self, layer: int) -> nn.Module:
        return self.feed_forward.at_layer(layer).build(self.width, self.feed_forward_dropout)

    def residual(self) -> nn.Module:
        return (PostNorm if self.norm == "post" else PreNorm)(self.width, self.dropout)

    def final_norm(self) -> nn.Module:
        """Pre-norm leaves the residual path unnormalised; one norm at its end makes up for it."""
        return nn.Identity() if self.norm == "post" else nn.LayerNorm(self.width)

    def new_position(self) -> Position:
        return self.position.build(self.width, self.heads)


class Encoder(nn.Module):
    """A stack of encoder layers over embedded tokens."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.position = config.new_position()
        self.dropout = Dropout(config.dropout)
        places = [
            config.context(layer, config.encoder_layers, self.position.max_length)
            for layer in range(config.encoder_layers)
        ]
        self.layers = nn.ModuleList(
            EncoderLayer(config.self_attention(place), config.network(place.layer), config.residual)
            for place in places
        )
        self.norm = config.final_norm()
        self.recompute = False  # activation checkpointing, set by the training loop

    def forward(self, x_BSD: Tensor, mask: Mask) -> list[Tensor]:
        """The states after every layer, the last of them normalised."""
        x_BSD = self.dropout(self.position.embed(x_BSD))
        states = []
        for layer in self.layers:
            x_BSD = run_layer(layer, self.recompute, x_BSD, mask, self.position)
            states.append(x_BSD)
        return [*states[:-1], self.norm(x_BSD)]


class Decoder(nn.Module):
    """A stack of decoder layers that reads one memory per layer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.position = config.new_position()
        self.dropout = Dropout(config.dropout)
        count, max_length = config.decoder_layers, self.position.max_length
        self.layers = nn.ModuleList(
            DecoderLayer(
                config.self_attention(config.context(layer, count, max_length, causal=True)),
                config.cross_attention(config.context(layer, count, max_length)),
                config.network(layer),
                config.residual,
            )
            for layer in range(count)
        )
        self.norm = config.final_norm()
        self.recompute = False

    def blocks(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.layers))

    def forward(
        self,
        x_BTD: Tensor,
        memories: list[Memory],
        mask: Mask,
        caches: list[AttentionCache] | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:
        x_BTD = self.dropout(self.position.embed(x_BTD, mask.places))
        for index, (layer, memory) in enumerate(zip(self.layers, memories, strict=True)):
            cache = None if caches is None else caches[index]
            x_BTD = run_layer(layer, self.recompute, x_BTD, memory, mask, self.position, cache, lengths_B)
        return self.norm(x_BTD)


class Transformer(nn.Module):
    """Encoder–decoder: source tokens and the target so far become states, ``head`` turns states into logits."""

    anatomy = Anatomy(
        source_attention="decoder.*.cross",
        state_path="decoder.layers.0",
        depth_path="decoder.layers.*",
        reading=("source_embedding", "encoder"),
        entrances=(
            Entrance("source", "source_embedding", "encoder.position"),
            Entrance("tokens", "target_embedding", "decoder.position"),
        ),
    )

    def __init__(self, config: TransformerConfig, ports: Ports) -> None:
        super().__init__()
        self.config, self.width = config, config.width
        outputs, source = tokens_at(ports, OUTPUT, config.kind).size, ports.get(INPUT)
        self.target_embedding = TokenEmbedding(outputs, config.width)
        self.source_embedding: Any  # an embedding of tokens, or a front that cuts arrays
        if isinstance(source, Arrays):
            self.source_embedding = config.front.build(source, config.width)
        elif not isinstance(config.front, TokensConfig):
            raise RecipeError(
                f"model.front.kind = {config.front.kind!r} cuts sounds and other arrays, and the input of this recipe "
                "is none; leave model.front out"
            )
        elif config.tied == "all" and share_vocabulary(ports):
            self.source_embedding = self.target_embedding
        else:
            self.source_embedding = TokenEmbedding(tokens_at(ports, INPUT, config.kind).size, config.width)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        tied = None if config.tied == "none" else self.target_embedding
        self.head = VocabularyHead(outputs, config.width, tied, bias=config.output_bias)

    @property
    def max_lengths(self) -> tuple[int, int]:
        """How many positions a source and an answer may have; 0: as many as one likes."""
        return self.encoder.position.max_length, self.decoder.position.max_length

    @property
    def causal(self) -> bool:
        return not self.encoder.layers

    @property
    def max_length(self) -> int:
        return self.encoder.position.max_length

    def represent(self, inputs: Inputs) -> States:
        if isinstance(self.source_embedding, TokenEmbedding):
            mask = padding(inputs.real_lengths_B, inputs.values.shape[1])
            return States(self.encoder(self.source_embedding(inputs.values), mask)[-1], inputs.lengths_B)
        embedded = self.source_embedding(inputs)
        mask = EVERYTHING if embedded.lengths_B is None else padding(embedded.lengths_B, embedded.x_BND.shape[1])
        return States(self.encoder(embedded.x_BND, mask)[-1], embedded.lengths_B)

    def forward(self, source_BS: Tensor, source_lengths_B: Tensor, target_BT: Tensor) -> Tensor:
        """states_BTD for all target positions in one parallel pass (teacher forcing)."""
        memories = self.memories(source_BS, source_lengths_B)
        return self.decoder(self.target_embedding(target_BT), memories, CAUSAL)

    def memories(self, source_BS: Tensor, source_lengths_B: Tensor) -> list[Memory]:
        """Encodes the source and projects it once for every decoder layer."""
        if isinstance(self.source_embedding, TokenEmbedding):
            x_BSD, lengths_B = self.source_embedding(source_BS), source_lengths_B
        else:  # an array and its lengths along the first axis, of which the front makes positions
            embedded = self.source_embedding(Inputs(source_BS, source_lengths_B))
            x_BSD, lengths_B = embedded.x_BND, embedded.lengths_B
        mask = padding(lengths_B, x_BSD.shape[1])
        states = self.encoder(x_BSD, mask)
        read = states if self.config.cross == "own" else states[-1:] * self.config.decoder_layers
        return [layer.cross.memory(x, mask) for layer, x in zip(self.decoder.blocks(), read, strict=True)]

    def source_cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Of an array the grid that its front cuts it into; of a text its tokens."""
        front = self.source_embedding
        return tuple(shape) if isinstance(front, TokenEmbedding) else front.cells(shape)

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a decoder layer the last ones."""
        return self.head(self.decoder.norm(states_BTD))

    def start(self, source: tuple[Tensor, Tensor]) -> TransformerState:
        source_BS, source_lengths_B = source
        memories = self.memories(source_BS, source_lengths_B)
        rows = source_BS.shape[0]
        like = self.target_embedding.weight
        caches = [layer.attention.new_cache(rows, like) for layer in self.decoder.blocks()]
        return TransformerState(memories, caches, rows)

    def step(
        self, tokens_BT: Tensor, state: TransformerState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, TransformerState]:
        mask = CAUSAL.at(places_after(state.caches[0].ages, tokens_BT.shape[1], lengths_B))
        x_RTD = self.target_embedding(tokens_BT)
        states_RTD = self.decoder(x_RTD, state.memories, mask, state.caches, lengths_B)
        return self.head(states_RTD), state


@dataclass(slots=True)
class TransformerState:
    """Memories by sentence and caches by row; rows of a sentence stand together, equally many for each."""

    memories: list[Memory]
    caches: list[AttentionCache]
    rows: int

    def reorder(self, rows: Tensor) -> TransformerState:
        """Moves the rows' caches; the memories move only when a sentence leaves (or rows lose their grouping)."""
        kept = kept_sentences(rows, self.rows, len(self.memories[0].k_BGSK))
        memories = self.memories if kept is None else [memory.select(kept) for memory in self.memories]
        return TransformerState(memories, [cache.reorder(rows) for cache in self.caches], len(rows))

    def join(self, other: TransformerState) -> TransformerState:
        memories = join_memories(self.memories, self.rows, other.memories, other.rows)
        caches = [one.join(another) for one, another in zip(self.caches, other.caches, strict=True)]
        return TransformerState(memories, caches, self.rows + other.rows)

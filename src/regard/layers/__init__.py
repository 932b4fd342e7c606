"""Parts between attention and a model: embeddings, positions, feed-forward, norms, blocks, cells, the loss."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.core.seams import Position
    from regard.layers.embeddings import OneHot, TokenEmbedding
    from regard.layers.mixture.balance import Balance
    from regard.layers.recurrent.cells import Cell


MOST_LAYERS = 1000
"""Deeper models than any that was ever trained take minutes to build."""


class PositionPart(Part):
    """Settings of how a model knows where a token stands."""

    @abstractmethod
    def build(self, model_width: int, heads: int) -> Position: ...


class ScalingPart(Part):
    """Settings of how the frequencies of rotary positions are stretched."""

    @property
    def magnitude(self) -> float:
        """By what queries and keys are multiplied beside."""
        return 1.0

    @abstractmethod
    def scale(self, frequencies_C: Tensor, base: float) -> Tensor: ...


class FeedForwardPart(Part):
    """Settings of the network that works on every position by itself."""

    hands_over: ClassVar[bool] = False
    """Whether a pass leaves something behind beside its output (what is added to the loss, what is counted)."""

    def settled(self, model_width: int) -> Self:
        """The same in a model of this width, nothing left to be decided."""
        return self

    def at_layer(self, layer: int) -> FeedForwardPart:
        """What stands in the layer of this number, counted from 0."""
        return self

    @abstractmethod
    def build(self, model_width: int, dropout: float) -> nn.Module: ...


class BalancePart(Part):
    """Settings of what keeps experts equally busy."""

    @abstractmethod
    def build(self, experts: int) -> Balance: ...


class NormPart(Part):
    """Settings of a norm."""

    @abstractmethod
    def build(self, width: int) -> nn.Module: ...


class CellPart(Part):
    """Settings of a recurrent cell."""

    @abstractmethod
    def build(self, input_width: int, width: int) -> Cell: ...


class EmbeddingPart(Part):
    """Settings of how a symbol becomes a vector."""

    @abstractmethod
    def build(self, symbols: int) -> TokenEmbedding | OneHot: ...


POSITIONS = Choices(
    "position",
    PositionPart,
    "sinusoidal",
    {
        "sinusoidal": "regard.layers.positions:SinusoidalConfig",
        "learned": "regard.layers.positions:LearnedConfig",
        "reversed-binary": "regard.layers.positions:ReversedBinaryConfig",
        "grid": "regard.layers.positions:GridConfig",
        "relative-bias": "regard.layers.positions:RelativeBiasConfig",
        "rotary": "regard.layers.positions:RotaryConfig",
        "none": "regard.layers.positions:NoPositionConfig",
    },
)
SCALINGS = Choices(
    "scaling",
    ScalingPart,
    "none",
    {
        "none": "regard.layers.rotary:NoScaling",
        "linear": "regard.layers.rotary:LinearScaling",
        "llama3": "regard.layers.rotary:Llama3Scaling",
        "yarn": "regard.layers.rotary:YarnScaling",
    },
)
FEED_FORWARDS = Choices(
    "feed-forward",
    FeedForwardPart,
    "plain",
    {
        "plain": "regard.layers.feed_forward:FeedForwardConfig",
        "gated": "regard.layers.feed_forward:GatedFeedForwardConfig",
        "experts": "regard.layers.mixture.experts:ExpertsConfig",
    },
)
BALANCES = Choices(
    "balance",
    BalancePart,
    "loss",
    {
        "loss": "regard.layers.mixture.balance:LossBalanceConfig",
        "bias": "regard.layers.mixture.balance:BiasBalanceConfig",
        "none": "regard.layers.mixture.balance:NoBalanceConfig",
    },
)
GELU_FEED_FORWARDS = FEED_FORWARDS.but(plain="regard.layers.feed_forward:GeluFeedForwardConfig")
"""The same, GELU being the usual function in the plain one."""
NORMS = Choices(
    "norm",
    NormPart,
    "layer",
    {
        "layer": "regard.layers.norms:LayerNormConfig",
        "rms": "regard.layers.norms:RmsNormConfig",
    },
)
HEAD_NORMS = NORMS.but(none="regard.layers.norms:NoNormConfig").with_default("none")
"""Of the queries and keys of a head."""
CELLS = Choices(
    "cell",
    CellPart,
    "gru",
    {
        "rnn": "regard.layers.recurrent.cells:RnnConfig",
        "gru": "regard.layers.recurrent.cells:GruConfig",
        "lstm": "regard.layers.recurrent.cells:LstmConfig",
    },
)
EMBEDDINGS = Choices(
    "embedding",
    EmbeddingPart,
    "learned",
    {
        "learned": "regard.layers.embeddings:LearnedConfig",
        "one-hot": "regard.layers.embeddings:OneHotConfig",
        "borrowed": "regard.layers.embeddings:PretrainedConfig",
    },
)

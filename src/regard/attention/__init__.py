"""How a query reads a memory: scores, masks, one mechanism a file, heads around any of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from torch import nn

    from regard.attention.heads import CrossHeads, HeadShape, SelfHeads
    from regard.attention.readers import Reader
    from regard.core.seams import Mechanism

    NewNorm = Callable[[int], nn.Module]


@dataclass(frozen=True, slots=True)
class AttentionContext:
    """What a mechanism is told about its place in a model when it is built.

    ``max_length`` is the most keys that it will see (0: as many as one likes), ``layer`` counts from 0 to
    ``layers`` − 1, and ``causal`` says that it is used where no query may look ahead.
    """

    query_width: int
    key_width: int
    heads: int = 1
    max_length: int = 0
    layer: int = 0
    layers: int = 1
    causal: bool = False


class MechanismPart(Part):
    """Settings of a mechanism."""

    self_only: ClassVar[bool] = False
    """It relates places of one sequence; attention to another sequence stays full beside it."""

    @abstractmethod
    def build(self, context: AttentionContext) -> Mechanism: ...

    def build_cross(self, context: AttentionContext) -> Mechanism:
        """The mechanism by which the same model reads another sequence."""
        part = MECHANISMS.make() if self.self_only else self
        return part.build(replace(context, causal=False))


class HeadsPart(Part):
    """Settings of heads: how queries, keys and values are projected, around any mechanism."""

    divides_width: ClassVar[bool] = True
    """A head is as wide as the model divided by their number, where nothing else is said."""

    def head_shape(self, shape: HeadShape) -> HeadShape:
        """The heads that they make of what a model says, every width decided."""
        return shape.filled()

    @abstractmethod
    def self_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool, new_norm: NewNorm
    ) -> SelfHeads: ...

    @abstractmethod
    def cross_attention(
        self, shape: HeadShape, mechanism: Mechanism, *, bias: bool, new_norm: NewNorm
    ) -> CrossHeads: ...


class ReaderPart(Part):
    """Settings of the one head of a recurrent decoder."""

    @abstractmethod
    def build(self, state_width: int, memory_width: int) -> Reader: ...


class ReachPart(Part):
    """Settings of how far a recurrent decoder's attention reaches."""

    @abstractmethod
    def build(self, score: nn.Module, query_width: int) -> Mechanism: ...


MECHANISMS = Choices(
    "attention",
    MechanismPart,
    "softmax",
    {
        "softmax": "regard.attention.softmax:SoftmaxConfig",
        "blockwise": "regard.attention.mechanisms.blockwise:BlockwiseConfig",
        "window": "regard.attention.mechanisms.window:WindowConfig",
        "dilated": "regard.attention.mechanisms.dilated:DilatedConfig",
        "longformer": "regard.attention.mechanisms.longformer:LongformerConfig",
        "sinks": "regard.attention.mechanisms.sinks:SinksConfig",
        "block-sparse": "regard.attention.mechanisms.block_pattern:BlockSparseConfig",
        "bigbird": "regard.attention.mechanisms.block_pattern:BigBirdConfig",
        "top-k": "regard.attention.mechanisms.top_k:TopKConfig",
        "linear": "regard.attention.mechanisms.linear:LinearConfig",
        "performer": "regard.attention.mechanisms.performer:PerformerConfig",
        "linformer": "regard.attention.mechanisms.linformer:LinformerConfig",
        "reformer": "regard.attention.mechanisms.reformer:ReformerConfig",
        "alternating": "regard.attention.mechanisms.alternating:AlternatingConfig",
    },
)
HEADS = Choices(
    "projection",
    HeadsPart,
    "multi-head",
    {
        "multi-head": "regard.attention.heads:MultiHeadConfig",
        "latent": "regard.attention.latent:LatentConfig",
        "shared": "regard.attention.shared:SharedConfig",
    },
)
READERS = Choices(
    "attention",
    ReaderPart,
    "additive",
    {
        "additive": "regard.attention.readers:AdditiveReaderConfig",
        "dot": "regard.attention.readers:DotReaderConfig",
        "general": "regard.attention.readers:GeneralReaderConfig",
    },
)
REACHES = Choices(
    "reach",
    ReachPart,
    "global",
    {
        "global": "regard.attention.local:GlobalConfig",
        "monotonic": "regard.attention.local:MonotonicConfig",
        "predictive": "regard.attention.local:PredictiveConfig",
    },
)

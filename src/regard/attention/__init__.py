"""How a query reads a memory: scores, masks, one mechanism a file, heads around any of them."""

from regard.core.config import Choices

MECHANISMS = Choices("attention", "softmax", {"softmax": "regard.attention.softmax:SoftmaxConfig"})
READERS = Choices(
    "attention",
    "additive",
    {
        "additive": "regard.attention.readers:AdditiveReaderConfig",
        "dot": "regard.attention.readers:DotReaderConfig",
        "general": "regard.attention.readers:GeneralReaderConfig",
    },
)
REACHES = Choices(
    "reach",
    "global",
    {
        "global": "regard.attention.local:GlobalConfig",
        "monotonic": "regard.attention.local:MonotonicConfig",
        "predictive": "regard.attention.local:PredictiveConfig",
    },
)

"""Parts between attention and a model: embeddings, positions, feed-forward, norms, blocks, cells, the loss."""

from regard.core.config import Choices

POSITIONS = Choices(
    "position",
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
FEED_FORWARDS = Choices(
    "feed-forward",
    "plain",
    {
        "plain": "regard.layers.feed_forward:FeedForwardConfig",
        "gated": "regard.layers.feed_forward:GatedFeedForwardConfig",
    },
)
NORMS = Choices(
    "norm",
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
    "gru",
    {
        "rnn": "regard.layers.cells:RnnConfig",
        "gru": "regard.layers.cells:GruConfig",
        "lstm": "regard.layers.cells:LstmConfig",
    },
)
EMBEDDINGS = Choices(
    "embedding",
    "learned",
    {
        "learned": "regard.layers.embeddings:LearnedConfig",
        "one-hot": "regard.layers.embeddings:OneHotConfig",
        "borrowed": "regard.layers.embeddings:BorrowedConfig",
    },
)

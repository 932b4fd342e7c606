"""How an answer is chosen: greedy, beam, sampling; one search serves every model that can be decoded."""

from regard.core.config import Choices
from regard.decoding.options import Strategy

STRATEGIES = Choices(
    "decoding",
    Strategy,
    "beam",
    {
        "greedy": "regard.decoding.options:Greedy",
        "beam": "regard.decoding.options:Beam",
        "sampling": "regard.decoding.options:Sampling",
    },
)

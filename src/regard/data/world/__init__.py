"""The small world: an English–French grammar of our own whose pairs know their alignment, tags and trees."""

from .pairs import WorldPair, generate
from .questions import Question
from .sounds import words
from .splits import WorldSplits, splits

__all__ = ["Question", "WorldPair", "WorldSplits", "generate", "splits", "words"]

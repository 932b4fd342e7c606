"""Words and symbols told apart by spaces alone: for text that was tokenised before, and for linearised trees."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from regard.core.symbols import SPECIAL_SYMBOLS
from regard.data.modalities.text.tokenizers import LARGEST_VOCABULARY, Tokenizer, TokenizerPart, words_of

_BETWEEN_SPACES = r"\s?\S+|\s"


class WhitespaceTokenizer(TokenizerPart):
    """Whatever stands between two spaces is one piece, signs and all; unknown ones are shown as <unk>."""

    kind: str = "whitespace"
    vocabulary: int = Field(default=30_000, ge=len(SPECIAL_SYMBOLS) + 1, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=2, ge=1)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        return words_of(_BETWEEN_SPACES, texts, self.vocabulary, self.min_frequency)

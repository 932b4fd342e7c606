"""A tokenizer of every kind, for tests that hold for all of them."""

from __future__ import annotations

from regard.data.modalities.text.tokenizers import (
    BpeTokenizer,
    ByteTokenizer,
    CharacterTokenizer,
    CodeTokenizer,
    TokenizerPart,
    WordTokenizer,
)


def every_kind(vocabulary: int) -> dict[str, TokenizerPart]:
    """By their names; ``vocabulary`` is the size of those that learn pieces, and nothing is too rare for them."""
    return {
        "bpe": BpeTokenizer(vocabulary=vocabulary, min_frequency=1),
        "byte": ByteTokenizer(),
        "character": CharacterTokenizer(),
        "code": CodeTokenizer(vocabulary=vocabulary, min_frequency=1),
        "word": WordTokenizer(min_frequency=1),
    }

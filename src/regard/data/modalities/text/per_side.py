"""A tokenizer for each side of a pair: letters in and whole symbols out, say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, SerializeAsAny, model_validator

from regard.core.errors import RecipeError
from regard.core.symbols import Specials
from regard.data import TOKENIZERS
from regard.data.modalities.text.tokenizers import Tokenizer, TokenizerPart

SIDES = TOKENIZERS.without("per-side", "imported")


class PerSideTokenizers(TokenizerPart):
    """``source`` and ``target`` are tokenizers of their own; each is learned from its side alone."""

    kind: str = "per-side"
    joint: bool = False
    source: Annotated[SerializeAsAny[TokenizerPart], SIDES] = Field(default_factory=SIDES.make)
    target: Annotated[SerializeAsAny[TokenizerPart], SIDES] = Field(default_factory=SIDES.make)

    @model_validator(mode="after")
    def _are_apart(self) -> Self:
        if self.joint:
            raise ValueError('kind = "per-side" has a tokenizer for each side; leave joint out')
        if self.source.specials() != self.target.specials():
            raise ValueError("source and target must have the same special symbols; leave mask out on both")
        if self.source.pair_dropout != self.target.pair_dropout:
            raise ValueError("source.dropout and target.dropout must be equal, since pairs are cut together")
        return self

    def of_side(self, side: int) -> TokenizerPart:
        return (self.source, self.target)[side]

    def specials(self) -> Specials | None:
        return self.source.specials()

    @property
    def pair_dropout(self) -> float:
        return self.source.pair_dropout

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raise RecipeError(
            'tokenizer.kind = "per-side" is for pairs of texts, and this data has texts of one kind only; name one '
            'tokenizer, as in tokenizer.kind = "bpe"'
        )

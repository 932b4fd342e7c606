"""A tokenizer for each side: letters in, whole symbols out."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.core.errors import RecipeError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.runs.recipe import Recipe

TOKENIZER = {
    "kind": "per-side",
    "source": {"kind": "character"},
    "target": {"kind": "whitespace", "min_frequency": 1},
}


def test_each_side_is_cut_in_its_own_way_and_kept(tmp_path: Path) -> None:
    recipe = Recipe.of({"tokenizer": TOKENIZER})
    corpus = Corpus({"train": (Pair("locked", "L AA K T"), Pair("ice", "AY S"))}, Ledger())
    both = Vocabularies.train(recipe.tokenizer, corpus)
    both.save(tmp_path)
    for one in (both, Vocabularies.load(tmp_path, recipe.tokenizer)):
        assert [piece.token for piece in one.source.pieces("ice")] == ["i", "c", "e"]
        assert [piece.token.strip("▁") for piece in one.target.pieces("AY K")] == ["AY", "K"]
        assert one.target.decode(one.target.encode("L AA S")) == "L AA S"
        assert not one.shared


@pytest.mark.parametrize(
    "change, message",
    [
        ({"joint": True}, 'kind = "per-side" has a tokenizer for each side; leave joint out'),
        ({"source": {"kind": "bpe", "mask": True}}, "must have the same special symbols"),
        ({"source": {"kind": "bpe", "dropout": 0.1}}, "source.dropout and target.dropout must be equal"),
        ({"source": {"kind": "per-side"}}, "unknown tokenizer kind 'per-side'"),
    ],
)
def test_what_does_not_go_together_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.of({"tokenizer": {**TOKENIZER, **change}})
    assert message in str(caught.value)


def test_texts_with_one_side_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "words.txt"
    text.write_text("a b c\n" * 50)
    tree = {"data": {"kind": "text", "train": str(text)}, "tokenizer": TOKENIZER, "model": {"kind": "gpt"},
            "task": {"kind": "language-model"}}  # fmt: skip
    with pytest.raises(RecipeError, match="is for pairs of texts, and this data has texts of one kind only"):
        regard.train(tree, tmp_path / "run")

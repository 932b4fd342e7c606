"""Gaps are filled with what the model holds probable, several at once, and never with a symbol."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.cli.main import main
from regard.core.config import parse
from regard.core.errors import InputError, OptionError
from regard.core.ports import text_ports
from regard.data.modalities.text.word_pieces import MASK, WordPieceTokenizer
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.tasks.masked.filling import Filling, Guess, ways

TEXTS = ["The walking cat talked on the mat .", "the dogs walked, talking to a cat !"] * 3
PIECES = WordPieceTokenizer(vocabulary=70).train(TEXTS)


def filling(longest: int = 16) -> Filling:
    torch.manual_seed(4)
    table = {"kind": "bert", "layers": 2, "width": 12, "heads": 3, "position": {"max_length": longest}}
    config: Any = parse(Recipe, {"model": table}).model
    model = config.build(text_ports(PIECES.size, PIECES.size, shared=True)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
        model.head.words.bias[:5] += 3.0  # it would say special symbols if it were let
    return Filling(model, PIECES, torch.device("cpu"))


def test_guesses_are_the_model_s_own_probabilities() -> None:
    one = filling()
    texts = ["the [MASK] talked", "a cat", "[MASK] walked to [MASK] , the mat ."]
    found = one.fill([texts[0], texts[2]], top_k=4)
    assert [len(own) for own in found] == [1, 2]
    for text, own in ((texts[0], found[0]), (texts[2], found[1])):
        parts = [PIECES.encode(part) for part in text.split("[MASK]")]
        ids = [1, *parts[0], *(id for part in parts[1:] for id in (MASK, *part)), 2]
        with torch.no_grad():
            logits = one.model.head(one.model(torch.tensor([ids]), torch.tensor([len(ids)])))  # type: ignore[operator, union-attr]
        gaps = [place for place, id in enumerate(ids) if id == MASK]
        for place, guesses in zip(gaps, own, strict=True):
            chances = logits[0, place].softmax(-1)
            assert [guess.probability for guess in guesses] == pytest.approx([float(chances[g.id]) for g in guesses])
            ordinary = chances[5:].topk(4)
            assert [guess.id for guess in guesses] == (ordinary.indices + 5).tolist(), "best first, no symbol"
            assert [guess.token for guess in guesses] == [PIECES.token(guess.id) for guess in guesses]


def test_a_text_alone_has_the_guesses_that_it_has_among_others() -> None:
    one = filling()
    texts = ["the [MASK]", "a [MASK] talked to the walking dogs .", "[MASK]"]
    together = one.fill(texts, 3)
    for text, own in zip(texts, together, strict=True):
        alone = one.fill([text], 3)[0]
        assert [[guess.id for guess in guesses] for guesses in alone] == [[g.id for g in guesses] for guesses in own]


def test_filled_texts_are_ranked_by_all_their_gaps() -> None:
    one = filling()
    text = "the [MASK] and [MASK] talked"
    answers = one.answers([text], n_best=5)[0]
    first, second = one.fill([text], 5)[0]
    every = sorted((math.log(a.probability * b.probability) for a in first for b in second), reverse=True)
    assert [answer.log_probability for answer in answers] == pytest.approx(every[:5], abs=1e-4)
    assert len({answer.text for answer in answers}) == 5
    assert "[MASK]" not in answers[0].text
    assert answers[0].text.startswith("the ")


def test_the_most_probable_ways() -> None:
    guesses = [[Guess("a", 0.6, 1), Guess("b", 0.4, 2)], [Guess("c", 0.9, 3), Guess("d", 0.1, 4)]]
    assert ["".join(one.token for one in way) for way in ways(guesses, 3)] == ["ac", "bc", "ad"]
    assert ways([], 2) == [()]


def test_what_cannot_be_filled_is_named() -> None:
    one = filling(longest=6)
    with pytest.raises(InputError, match=r"nothing to guess in: input 1, input 3; write \[MASK\] where a"):
        one.fill(["the cat", "[MASK]", "a mask"])
    with pytest.raises(InputError, match=r"the model reads 6 tokens, .*: input 2 \(7 tokens\); shorten them"):
        one.fill(["[MASK]", "the [MASK] talked to a"])
    with pytest.raises(OptionError, match="at least one guess is needed"):
        one.fill(["[MASK]"], 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("filled") / "run"
    settings = ["data.train_size=200", "data.validation_size=10", "data.test_size=5", "model.width=16",
                "training.steps=2", "training.validate_every=2"]  # fmt: skip
    regard.train("bert-small-world", folder, settings)
    return regard.load(folder)


def test_a_run_guesses_and_fills(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    (guesses,) = run.fill("the [MASK] sleeps", top_k=3)[0]
    assert len(guesses) == 3
    assert run.predict(["the [MASK] sleeps"])[0] == run.answers(["the [MASK] sleeps"])[0][0].text
    with pytest.raises(SystemExit) as leaving:
        main(["predict", str(run.folder.path), "the [MASK] sleeps", "--n-best", "3"])
    assert not leaving.value.code
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["1", "1"], ["1", "2"], ["1", "3"]]


def test_a_run_is_scored_on_the_command_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["evaluate", str(run.folder.path)])
    assert not leaving.value.code
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("masked perplexity", "pseudo perplexity", "masked accuracy", "test"))


def test_other_runs_guess_nothing(tmp_path: Path) -> None:
    training = ["data.train_size=30", "data.validation_size=5", "data.test_size=2", "training.steps=1"]
    regard.train("copy", tmp_path / "copy", [*training, "model.width=16", "model.heads=2"])
    with pytest.raises(OptionError, match="cannot fill masks; name the run of a masked language model"):
        regard.load(tmp_path / "copy").fill(["a"])


def test_byte_pairs_fill_gaps_too(tmp_path: Path) -> None:
    table = {
        "data": {"kind": "world-english", "train_size": 300, "validation_size": 10, "test_size": 0},
        "tokenizer": {"kind": "bpe", "vocabulary": 400, "mask": True},
        "model": {"kind": "bert", "layers": 1, "width": 16, "heads": 2, "position": {"max_length": 40}},
        "task": {"kind": "masked-language-model", "max_length": 32, "documents": "apart", "words": "whole"},
        "training": {"steps": 3, "batch_tokens": 256, "threads": 1},
    }
    regard.train(table, tmp_path / "run")
    run = regard.load(tmp_path / "run")
    (text,) = run.predict(["the <mask> sleeps"])
    assert text.startswith("the")
    assert text.endswith("sleeps")
    assert "  " not in text

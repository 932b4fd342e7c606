"""Masked language modelling: how much is hidden and how, again for the same (seed, epoch, place), and the loss."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import regard
from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.core.seams.task import Session
from regard.core.symbols import EOS, SOS
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import CharacterTokenizer, Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import MASK, WordPieceTokenizer, continues_word
from regard.data.texts import TextInMemory
from regard.decoding.options import Greedy
from regard.runs.evaluate import evaluate
from regard.runs.journal import NullObserver
from regard.runs.recipe import Recipe
from regard.tasks.masked.masking import Masking, document_spans, joined_spans
from regard.tasks.masked_language_modelling import MaskedLanguageModelConfig, MaskedLanguageModelling

CPU = torch.device("cpu")
TEXT = "the walking cat talked on the mat and the dog walked to the talking cats; then all slept until morning.\n" * 9
PIECES = WordPieceTokenizer(vocabulary=60).train([TEXT])
ORDINARY = np.arange(5, 105)
ORDINARY_W = np.arange(105) >= 5


def texts_by(tokenizer: Tokenizer) -> Modalities:
    return Modalities.of_text(Vocabularies(tokenizer, tokenizer))


def task(text: str = TEXT, validation: str = TEXT[:700], seed: int = 5, **changes: Any) -> MaskedLanguageModelling:
    splits = {
        name: (TextInMemory(name, own, lines=True),) for name, own in (("train", text), ("validation", validation))
    }
    config = parse(MaskedLanguageModelConfig, {"max_length": 21, **changes})
    return config.build(Corpus(splits, Ledger()), texts_by(PIECES), seed)


def model_for(one: MaskedLanguageModelling, **changes: Any) -> Any:
    torch.manual_seed(2)
    table = {"kind": "bert", "layers": 2, "width": 12, "heads": 3, "dropout": 0.0, **changes}
    return parse(Recipe, {"model": table}).model.build(one.ports()).eval()  # type: ignore[attr-defined]


# -- where a text is cut ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 3, 6])
def test_joined_stretches_meet_and_leave_nothing_out(first: int) -> None:
    tokens = np.arange(31)
    spans_N2 = joined_spans(tokens, 7, first)
    assert np.concatenate([tokens[start:stop] for start, stop in spans_N2]).tolist() == list(range(1, 31))
    assert {stop - start for start, stop in spans_N2[1:-1]} == {7}
    assert spans_N2[0].tolist() == [1, 1 + (first or 7)]
    assert len(joined_spans(tokens[:1], 7)) == 0


def test_documents_stay_apart_and_long_ones_are_cut() -> None:
    tokens = np.array([EOS, 5, 6, EOS, EOS, 7, 8, 9, 10, 11, EOS, 12])
    found = [tokens[start:stop].tolist() for start, stop in document_spans(tokens, EOS, 3)]
    assert found == [[5, 6], [7, 8, 9], [10, 11], [12]]


def test_a_stretch_stands_between_its_symbols() -> None:
    one = task(documents="apart")
    for example in one.examples("validation", 0):
        assert (example.tokens[0], example.tokens[-1]) == (SOS, EOS)
        assert EOS not in example.tokens[1:-1]
        assert 3 <= len(example.tokens) <= 21
    joined = task().examples("validation", 0)
    assert any(EOS in example.tokens[1:-1] for example in joined), "documents follow one another"
    text = [id for place in range(len(joined)) for id in joined.items.plain(place)[1:-1]]  # type: ignore[attr-defined]
    assert [EOS, *text] == task().files["validation"].open().tolist()


# -- what is hidden ---------------------------------------------------------------------------------------------


def test_fifteen_in_a_hundred_are_chosen_and_eight_of_ten_masked() -> None:
    masking = Masking(0.15, 0.8, 0.1, mask=4, ordinary_W=ORDINARY_W)
    generator, tokens = np.random.default_rng(3), np.random.default_rng(1).choice(ORDINARY, 100)
    places, shown, stood = [], [], []
    for _ in range(800):
        hidden = masking.hide(tokens, generator)
        assert len(hidden.chosen) == 15
        assert np.array_equal(tokens[hidden.chosen], hidden.answers)
        left = np.setdiff1d(np.arange(100), hidden.chosen)
        assert np.array_equal(hidden.tokens[left], tokens[left]), "what was not chosen is shown as it is"
        places += hidden.chosen.tolist()
        shown += hidden.tokens[hidden.chosen].tolist()
        stood += hidden.answers.tolist()
    counts = np.bincount(places, minlength=100)
    assert counts.min() > 70
    assert counts.max() < 175, "120 for every place, give or take"
    masked = np.array(shown) == 4
    kept = np.array(shown) == np.array(stood)
    assert masked.mean() == pytest.approx(0.8, abs=0.015)
    assert kept.mean() == pytest.approx(0.1 + 0.1 / 100, abs=0.01), "a random symbol is now and then the same"
    others = np.array(shown)[~masked & ~kept]
    assert set(others) == set(ORDINARY), "any ordinary symbol, and no special one"


def test_special_symbols_are_never_chosen() -> None:
    masking = Masking(0.9, 1.0, 0.0, mask=4, ordinary_W=ORDINARY_W)
    tokens = np.array([7, EOS, 8, EOS, EOS, 9])
    for seed in range(20):
        hidden = masking.hide(tokens, np.random.default_rng(seed))
        assert hidden.chosen.tolist() == [0, 2, 5], "as many as there are"
        assert hidden.tokens.tolist() == [4, EOS, 4, EOS, EOS, 4]


def test_whole_words_are_hidden_together() -> None:
    one = task(words="whole", share=0.3, masked=1.0, random=0.0, documents="apart")
    goes_on, split_words = continues_word(PIECES), 0
    examples: Any = one.examples("train", 0).items
    for place in range(9):
        example, inside = examples[place], examples.plain(place)[1:-1]
        words = np.cumsum(~goes_on[inside])  # a stretch may begin in the middle of one
        assert (example.tokens[example.chosen] == MASK).all()
        for word in set(words[example.chosen - 1]):
            members = np.flatnonzero(words == word) + 1
            assert set(members) <= set(example.chosen)
            split_words += len(members) > 1
        assert 1 <= len(example.chosen) <= max(np.bincount(words).max(), round(0.3 * len(inside)))
    assert split_words, "some words had several pieces"


def test_at_least_one_word_is_hidden_however_long() -> None:
    goes_on = np.zeros(105, bool)
    goes_on[50:] = True
    masking = Masking(0.15, 1.0, 0.0, mask=4, ordinary_W=ORDINARY_W, goes_on_W=goes_on)
    assert masking.hide(np.array([7, 51, 52, 53]), np.random.default_rng(1)).chosen.tolist() == [0, 1, 2, 3]
    assert masking.hide(np.array([EOS, EOS]), np.random.default_rng(1)).chosen.tolist() == []


def test_what_is_hidden_is_a_function_of_seed_epoch_and_place() -> None:
    def chosen(seed: int, epoch: int, place: int) -> tuple[list[int], list[int]]:
        example = task(seed=seed, documents="apart").examples("train", epoch)[place]
        return example.chosen.tolist(), example.tokens.tolist()

    assert chosen(5, 2, 3) == chosen(5, 2, 3)
    apart = {str(chosen(*key)) for key in ((5, 2, 3), (5, 3, 3), (6, 2, 3), (5, 2, 4))}
    assert len(apart) == 4


def test_scores_hide_the_same_whatever_the_seed() -> None:
    one, other = (task(seed=seed).examples("validation", epoch) for seed, epoch in ((5, 0), (9, 4)))
    assert [example.tokens.tolist() for example in one] == [example.tokens.tolist() for example in other]


def test_every_epoch_cuts_elsewhere() -> None:
    firsts = [task().examples("train", epoch).items.spans_N2[0, 1] for epoch in range(12)]  # type: ignore[attr-defined]
    assert len(set(firsts)) > 3


# -- loss and scores --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", ["output", "none"])
def test_the_loss_is_the_cross_entropy_of_what_was_hidden(tied: str) -> None:
    one = task(documents="apart")
    model = model_for(one, tied=tied)
    with torch.no_grad():
        model.head.words.bias.normal_()
    examples = [one.examples("train", 0)[place] for place in (0, 1, 2)]
    examples.append(task(validation="the cat").examples("validation", 0)[0])
    assert len({len(example.tokens) for example in examples}) > 1
    batch = one.collate(examples)
    sums = one.sums(model, batch)
    expected, right = 0.0, 0
    for example in examples:
        logits_SW = model.head(model(torch.from_numpy(example.tokens)[None], torch.tensor([len(example.tokens)])))[0]
        asked_NW, answers_N = logits_SW[example.chosen].detach(), torch.from_numpy(example.answers)
        expected += float(functional.cross_entropy(asked_NW, answers_N, reduction="sum"))
        right += int((asked_NW.argmax(-1) == answers_N).sum())
    assert float(sums.sums["loss"].detach()) == pytest.approx(expected, rel=1e-5)
    assert int(sums.sums["masked_accuracy"]) == right
    count = sum(len(example.chosen) for example in examples)
    assert sums.counts["loss"] == count == batch.loss_terms
    assert batch.tokens == sum(len(example.tokens) for example in examples)


def test_the_gradient_is_that_of_the_plain_formula() -> None:
    one = task(documents="apart")
    examples = [one.examples("train", 0)[place] for place in (0, 4)]
    batch, gradients = one.collate(examples), []
    for way in range(2):
        model = model_for(one)
        if way:
            logits_NW = model.head(model(batch.text.values, batch.text.lengths_B)).flatten(0, 1)[batch.chosen_N]
            functional.cross_entropy(logits_NW, batch.answers_N, reduction="sum").backward()
        else:
            one.sums(model, batch).sums["loss"].backward()
        gradients.append({name: weight.grad for name, weight in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=1e-5, rtol=1e-4, msg=name)


def test_lengths_bound_what_batches_are_made_from() -> None:
    one = task()
    examples = one.examples("train", 1)
    by_formula = examples.lengths_NA
    by_hand = np.array([(len(example.chosen), len(example.tokens)) for example in examples])
    assert np.array_equal(by_formula[:, 1], by_hand[:, 1])
    assert (by_hand[:, 0] <= by_formula[:, 0]).all()


def test_pseudo_perplexity_hides_one_token_at_a_time() -> None:
    one = task(validation="the cat talked.\nthe dog walked on the mat.", documents="apart")
    model = model_for(one)
    session = Session(model, CPU, Greedy())
    scores = one.score(session, "validation")
    examples, losses = one.examples("validation", 0), []
    for place in range(len(examples)):
        plain = torch.from_numpy(examples.items.plain(place))  # type: ignore[attr-defined]
        for position in range(1, len(plain) - 1):
            shown = plain.clone()
            shown[position] = MASK
            logits_SW = model.head(model(shown[None], torch.tensor([len(plain)])))[0].detach()
            losses.append(float(functional.cross_entropy(logits_SW[position], plain[position])))
    assert scores["pseudo_tokens"] == len(losses)
    assert scores["pseudo_perplexity"] == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4)
    assert scores["masked_perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["tokens"] == sum(len(example.chosen) for example in examples)
    fewer = task(pseudo=7).score(session, "validation")
    assert 5 <= fewer["pseudo_tokens"] <= 7
    assert "pseudo_perplexity" not in task(pseudo=0).score(session, "validation")


def test_what_does_not_go_together_is_refused() -> None:
    characters = CharacterTokenizer().train([TEXT])
    with pytest.raises(RecipeError, match=r'tokenizer\.kind = "wordpiece", or .*: none that hides a word'):
        MaskedLanguageModelConfig().build(Corpus({}, Ledger()), texts_by(characters), 1)
    with pytest.raises(RecipeError, match="are more than all; lower one of them"):
        parse(MaskedLanguageModelConfig, {"masked": 0.9, "random": 0.2})
    one = task()
    writer = parse(Recipe, {"model": {"kind": "gpt", "layers": 1, "width": 12, "heads": 3}}).model
    with pytest.raises(OptionError, match=r'Gpt has no head .*choose model\.kind = "bert"'):
        one.sums(writer.build(one.ports()), one.collate([one.examples("train", 0)[0]]))  # type: ignore[attr-defined]


# -- a run ------------------------------------------------------------------------------------------------------

TREE: dict[str, Any] = {
    "data": {"kind": "world-english", "train_size": 80, "validation_size": 8, "test_size": 6},
    "tokenizer": {"kind": "wordpiece", "vocabulary": 150},
    "model": {"kind": "bert", "layers": 1, "width": 16, "heads": 2, "pooler": "tanh"},
    "task": {"kind": "masked-language-model", "max_length": 20, "words": "whole"},
    "training": {
        "steps": 9, "batch_tokens": 150, "learning_rate": 3e-3, "checkpoint_every": 2, "validate_every": 4,
        "threads": 1, "optimizer": {"kind": "muon"}, "schedule": {"kind": "constant"},
    },
}  # fmt: skip


class StopsAfter(NullObserver):
    """An accident after a step, checkpoint or not."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, step: int, figures: Any) -> None:
        if step == self.step:
            raise KeyboardInterrupt


def test_a_run_that_was_interrupted_ends_with_the_same_weights(tmp_path: Path) -> None:
    """Over the end of an epoch: what is hidden next must not depend on having been there before."""
    whole = regard.train(TREE, tmp_path / "whole")
    for step in (3, 8):
        with pytest.raises(KeyboardInterrupt):
            regard.train(TREE, tmp_path / "parted", resume=step > 3, observers=[StopsAfter(step)])
    again = regard.train(TREE, tmp_path / "parted", resume=True)
    assert again.weights_sha256 == whole.weights_sha256
    scores = evaluate(regard.load(tmp_path / "whole"))
    assert scores["split"] == "test"
    assert 0 <= scores["masked_accuracy"] <= 1
    assert scores["pseudo_perplexity"] > 1


# -- what follows -------------------------------------------------------------------------------------------------


def test_pairs_are_halves_of_one_text_or_of_two() -> None:
    one = task(second="next", documents="apart", share=0.3)
    pairs = one.examples("train", 0)
    halves = pairs.items.halves  # type: ignore[attr-defined]
    sos, eos = one.tokenizer.specials.sos, one.tokenizer.specials.eos
    ways = set()
    for place in range(len(pairs)):
        pair = pairs[place]
        whole = pair.tokens.copy()
        whole[pair.chosen] = pair.answers
        assert (whole[0], whole[pair.second - 1], whole[-1]) == (sos, eos, eos)
        first, second = whole[1 : pair.second - 1], whole[pair.second : -1]
        own_first, own_second = halves(place)
        assert first.tolist() == own_first.tolist()
        if pair.follows:
            assert second.tolist() == own_second.tolist()
        else:
            invalid_tags = (halves(other)[1] for other in range(len(pairs)) if other != place)
            assert second.tolist() in [half[: len(own_second)].tolist() for half in invalid_tags]
        ways.add(pair.follows)
    assert ways == {0, 1}
    assert [tuple(map(str, pairs[2]))] == [tuple(map(str, one.examples("train", 0)[2]))]


def test_what_follows_is_learned_beside_the_guesses(tmp_path: Path) -> None:
    """A text of two halves that share a word: whether the second belongs to the first can be seen."""
    lines = [" ".join([f"w{n}"] * 8) for n in range(12)] * 25
    (tmp_path / "t.txt").write_text("\n".join(lines), encoding="utf-8")
    table = {
        "data": {"kind": "text", "train": str(tmp_path / "t.txt"), "documents": "line", "validation_share": 0.1},
        "tokenizer": {"kind": "wordpiece", "vocabulary": 80, "min_frequency": 1},
        "model": {"kind": "bert", "layers": 2, "width": 32, "heads": 2, "dropout": 0.0, "pooler": "tanh",
                  "relation": "next", "position": {"max_length": 32}},
        "task": {"kind": "masked-language-model", "max_length": 24, "documents": "apart", "second": "next",
                 "pseudo": 0},
        "training": {"steps": 150, "batch_tokens": 1024, "threads": 1, "learning_rate": 2e-3,
                     "schedule": {"kind": "constant"}, "optimizer": {"kind": "adamw"}},
    }  # fmt: skip
    regard.train(table, tmp_path / "run")
    run = regard.load(tmp_path / "run")
    scores = evaluate(run)
    assert scores["next_accuracy"] > 0.9
    table["model"]["relation"] = "none"  # type: ignore[index]
    with pytest.raises(OptionError, match=r'set model\.relation = "next"'):
        regard.train(table, tmp_path / "other")


def test_the_sums_of_pairs_add_over_examples() -> None:
    one = task(second="next", documents="apart")
    table = {"kind": "bert", "layers": 1, "width": 12, "heads": 3, "relation": "next", "dropout": 0.0}
    config: Any = parse(Recipe, {"model": table}).model
    torch.manual_seed(2)
    model = config.build(one.ports()).eval()
    pairs = one.examples("train", 0)
    chosen = [pairs[place] for place in range(4)]
    whole = one.sums(model, one.collate(chosen))
    parts = [one.sums(model, one.collate(part)) for part in (chosen[:1], chosen[1:])]
    for name in whole.sums:
        assert sum(part.mean(name) * part.counts[name] for part in parts) == pytest.approx(
            whole.mean(name) * whole.counts[name], rel=1e-5
        )
        assert sum(part.counts[name] for part in parts) == whole.counts[name]

"""BLEU and chrF: hand-computed values, parity with sacreBLEU, the paired test, and messages."""

from __future__ import annotations

import os
import sys

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from regard.core.errors import DataError, OptionError
from regard.tasks.metrics.bleu import bleu, check_bleu_tokenizer, chrf, paired_significance

COLOURS = ("red", "blue", "green")
REFERENCES = [f"the {colour} dog number {i} runs over a hill ." for i in range(7) for colour in COLOURS]
GOOD = [line.replace("red", "blue") for line in REFERENCES]
BAD = [line.replace("runs over", "sleeps under").replace("green", "grey") for line in REFERENCES]


def test_bleu_by_hand() -> None:
    # Precisions 6/7, 5/6, 4/5, 3/4; their product is 3/7; nothing is missing, so there is no brevity penalty.
    found = bleu(["the cat sat on the mat today"], ["the cat sat on the mat"], confidence=False)
    assert found.score == pytest.approx(100 * (3 / 7) ** 0.25)
    assert (found.low, found.high) == (None, None)
    assert found.figures("bleu") == {"bleu": found.score}


def test_bleu_is_sacrebleu() -> None:
    metric = BLEU()
    expected = metric.corpus_score(BAD, [REFERENCES], n_bootstrap=200)
    found = bleu(BAD, REFERENCES, samples=200)
    assert found.score == expected.score
    assert found.low == pytest.approx(expected._mean - expected._ci)
    assert found.high == pytest.approx(expected._mean + expected._ci)
    assert found.low < found.score < found.high
    assert found.signature == str(metric.get_signature())
    assert set(found.figures("bleu")) == {"bleu", "bleu_low", "bleu_high"}


def test_signature_holds_what_was_asked() -> None:
    found = bleu(GOOD, REFERENCES, tokenize="char", lowercase=True, samples=50, seed=7)
    for part in ("nrefs:1", "bs:50", "seed:7", "case:lc", "tok:char", f"version:{sacrebleu.__version__}"):
        assert part in found.signature.split("|")


def test_seed_is_obeyed_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    first, again, other = (bleu(BAD, REFERENCES, samples=60, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.low != other.low
    assert os.environ["SACREBLEU_SEED"] == "99"
    monkeypatch.delenv("SACREBLEU_SEED")
    bleu(BAD, REFERENCES, samples=60)
    assert "SACREBLEU_SEED" not in os.environ


def test_several_references() -> None:
    hypotheses = ["a small dog runs fast", "it is raining hard today"]
    sets = [
        ["a little dog runs fast", "it rains hard today"],
        ["a small dog runs", "it is raining hard today"],
    ]
    found = bleu(hypotheses, sets, confidence=False)
    assert found.score == BLEU().corpus_score(hypotheses, sets).score
    assert found.score > max(bleu(hypotheses, one, confidence=False).score for one in sets)
    assert "nrefs:2" in found.signature


def test_tokenised_text_is_split_at_spaces_only(caplog: pytest.LogCaptureFixture) -> None:
    references = ["isn't it odd , he said ."] * 120
    hypotheses = ["isn't it odd, he said ."] * 120
    found = bleu(hypotheses, references, tokenize="none", confidence=False)
    assert found.score < 100
    assert "tok:none" in found.signature
    assert not caplog.records
    assert bleu(hypotheses, references, confidence=False).score == pytest.approx(100)


def test_chrf_is_sacrebleu() -> None:
    metric = CHRF(word_order=2)
    expected = metric.corpus_score(BAD, [REFERENCES], n_bootstrap=100)
    found = chrf(BAD, REFERENCES, word_order=2, samples=100)
    assert found.score == expected.score
    assert found.low == pytest.approx(expected._mean - expected._ci)
    assert found.signature == str(metric.get_signature())
    assert chrf(REFERENCES, REFERENCES, samples=50).score == 100


def test_interval_stays_on_the_scale() -> None:
    found = bleu(REFERENCES, REFERENCES, samples=50)
    assert (found.low, found.high) == (pytest.approx(100), pytest.approx(100))
    assert found.high <= 100
    nothing = bleu(["x"], ["a b c d e"], samples=50)
    assert nothing.low == nothing.high == nothing.score == 0


@pytest.mark.parametrize("metric, name", [("bleu", "BLEU"), ("chrf", "chrF2")])
def test_paired_significance(metric: str, name: str) -> None:
    found = paired_significance(BAD, GOOD, REFERENCES, metric=metric, samples=100)
    assert found.difference == pytest.approx(found.score_b - found.score_a)
    assert found.difference > 0
    assert found.significant
    assert "bs:100" in found.signature
    assert found.sentence.startswith(f"System B scores {found.difference:.2f} {name} more than system A (")
    assert "the difference is significant (p = 0." in found.sentence
    turned = paired_significance(GOOD, BAD, REFERENCES, metric=metric, samples=100)
    assert turned.difference == -found.difference
    assert turned.sentence.startswith("System A scores")


def test_chance_is_called_chance() -> None:
    one, other = list(REFERENCES), list(REFERENCES)
    one[0], other[1] = BAD[0], BAD[1].replace("hill", "rock")
    found = paired_significance(one, other, REFERENCES, samples=100)
    assert found.p_value > 0.05
    assert "may well be chance" in found.sentence


def test_equal_systems_do_not_differ() -> None:
    found = paired_significance(GOOD, GOOD, REFERENCES, samples=50)
    assert (found.difference, found.p_value, found.significant) == (0, 1, False)
    assert "no difference" in found.sentence


def test_messages() -> None:
    with pytest.raises(DataError, match=r"the hypotheses has 1 lines(.|\n)*reference set 1 has 2 lines"):
        bleu(["a"], ["a", "b"])
    with pytest.raises(DataError, match="system B has 1 lines"):
        paired_significance(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(DataError, match="nothing to score"):
        bleu([], [])
    with pytest.raises(OptionError, match=r"unknown BLEU tokenizer '13b' \(did you mean '13a'"):
        bleu(["a"], ["a"], tokenize="13b")
    with pytest.raises(OptionError, match="samples is 39, but a 95 % interval needs at least 40"):
        bleu(["a"], ["a"], samples=39)
    with pytest.raises(OptionError, match="seed is 0"):
        bleu(["a"], ["a"], seed=0)
    with pytest.raises(OptionError, match=r"unknown metric 'blue' \(did you mean 'bleu'"):
        paired_significance(["a"], ["a"], ["a"], metric="blue")


def test_chrf_of_answers_that_share_nothing_with_some_references() -> None:
    """Some resamples score exactly 0: sacreBLEU alone fails on such data."""
    found = chrf(["xyz", "le chat", "qqq"], ["un chien", "le chat", "la souris"])
    assert found.low is not None and 0 < found.score < 100  # noqa: PT018


def test_a_tokenizer_that_needs_more_packages_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)  # as if sacreBLEU's extra for Japanese were not installed
    with pytest.raises(OptionError, match=r"'ja-mecab' needs more than is installed: pip install 'sacrebleu\[ja\]'"):
        check_bleu_tokenizer("ja-mecab")

"""Given answers get the log-probabilities that a search would have given them."""

import pytest
from automata import Machine, sentences

from regard.core.symbols import EOS
from regard.decoding import beam, scoring
from regard.decoding.options import Beam
from regard.decoding.scoring import score_given
from regard.decoding.sentences import Sentences

TARGETS = [(3, 4, 5), (), (6,), (6, 6, 3, 4, 4, 5, 3)]
KEYS = [3, 14, 15, 92]


@pytest.mark.parametrize("rows_at_once", [1, 4, 12, 10_000])
def test_token_by_token(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "ROWS_AT_ONCE", rows_at_once)
    machine = Machine(seed=6)
    found = score_given(machine, sentences(KEYS, 1), TARGETS)
    for key, target, gains in zip(KEYS, TARGETS, found):
        assert len(gains) == len(target) + 1
        for end in range(1, len(gains) + 1):
            expected = machine.log_probability(key, [*target, EOS][:end])
            assert sum(gains[:end]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("rows_at_once", [1, 4, 10_000])
def test_an_opening_is_read_but_not_scored(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "ROWS_AT_ONCE", rows_at_once)
    machine = Machine(seed=6)
    question = Sentences.of([5, 7], [1, 1], prompts=[(3, 4, 5, 6), (6, 6, 6, 3)])
    found = score_given(machine, question, [(4, 4), (5,)])
    whole = machine.log_probability(5, [3, 4, 5, 6, 4, 4, EOS])
    assert sum(found[0]) == pytest.approx(whole - machine.log_probability(5, [3, 4, 5, 6]), abs=1e-5)
    assert [len(gains) for gains in found] == [3, 2]


def test_agrees_with_the_search() -> None:
    machine = Machine(seed=9)
    answers = [best for (best,) in beam.search(machine, sentences(KEYS, 30), Beam(length_penalty=0.0))]
    assert all(best.finished for best in answers)
    gains = score_given(machine, sentences(KEYS, 1), [best.tokens for best in answers])
    assert [sum(own) for own in gains] == pytest.approx([best.log_probability for best in answers], abs=1e-5)


def test_nothing_to_score() -> None:
    assert score_given(Machine(), sentences([], []), []) == []

"""Greedy choice takes the most probable token, ends at the end, and drops sentences that are done."""

import math

import pytest
from automata import Chain, Machine, sentences

from regard.core.symbols import EOS, PAD, SOS
from regard.decoding import greedy
from regard.decoding.options import Greedy


def test_the_most_probable_token_at_every_step() -> None:
    chain = Chain({SOS: {3: 0.6, 4: 0.4}, 3: {PAD: 0.5, 4: 0.3, EOS: 0.2}, 4: {EOS: 0.7, 3: 0.3}}, words=5)
    (best,) = greedy.search(chain, sentences([0], 9), Greedy())[0]
    assert best.tokens == (3, 4)
    assert best.finished
    assert best.log_probability == best.score == pytest.approx(math.log(0.6 * 0.3 * 0.7))


def test_an_answer_is_cut_at_its_limit() -> None:
    chain = Chain({SOS: {3: 1.0}, 3: {3: 0.9, EOS: 0.1}}, words=4)
    answers = greedy.search(chain, sentences([0, 0, 0], [1, 4, 2]), Greedy())
    assert [(best.tokens, best.finished) for (best,) in answers] == [
        ((3,), False),
        ((3, 3, 3, 3), False),
        ((3, 3), False),
    ]


def test_the_closing_symbol_counts_towards_the_limit() -> None:
    chain = Chain({SOS: {3: 1.0}, 3: {EOS: 1.0}}, words=4)
    assert [a[0].finished for a in greedy.search(chain, sentences([0, 0], [1, 2]), Greedy())] == [False, True]


def test_batched_equals_alone_and_done_sentences_leave() -> None:
    machine = Machine(seed=2)
    keys, limits = list(range(40)), [1 + key % 9 for key in range(40)]
    together = greedy.search(machine, sentences(keys, limits), Greedy())
    rows = machine.rows_seen[:]
    assert rows[0] == 40
    assert rows == sorted(rows, reverse=True)
    assert rows[1] <= 35, "five sentences have limit 1"
    assert sum(rows) == sum(len(best.tokens) + best.finished for (best,) in together), "no row is in vain"
    alone = [greedy.search(machine, sentences([key], [limit]), Greedy()) for key, limit in zip(keys, limits)]
    assert together == [answers for (answers,) in alone]

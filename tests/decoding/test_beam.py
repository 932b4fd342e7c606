"""Beam search against brute force, greedy choice, hand-made cases, and itself on single sentences."""

import math
from dataclasses import replace

import pytest
import torch
from automata import Chain, Machine, all_answers, check_answers, sentences
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.errors import RegardError
from regard.core.symbols import EOS, PAD, SOS
from regard.decoding import beam, greedy
from regard.decoding.beam import length_penalty
from regard.decoding.options import Beam, Greedy
from regard.decoding.sentences import Sentences, Symbols
from regard.decoding.trace import Trace

wild = settings(max_examples=25, deadline=None)


def brute_force(machine: Machine, key: int, limit: int, alpha: float) -> list[tuple[float, tuple[int, ...]]]:
    scored = []
    for answer in all_answers(machine.words, limit):
        total = machine.log_probability(key, [*answer, EOS])
        scored.append((total / ((5 + len(answer) + 1) / 6) ** alpha, answer))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5])
def test_a_beam_as_wide_as_the_tree_finds_what_brute_force_finds(alpha: float) -> None:
    machine = Machine(words=6, seed=3)
    keys, limits = [5, 11, 2], [4, 3, 2]
    found = beam.search(machine, sentences(keys, limits), Beam(size=4**4, n_best=9, length_penalty=alpha))
    for key, limit, answers in zip(keys, limits, found):
        expected = brute_force(machine, key, limit, alpha)
        finished = [answer for answer in answers if answer.finished]
        assert len(finished) == min(9, len(expected))
        assert [answer.tokens for answer in finished] == [tokens for _, tokens in expected[:9]]
        scores = [score for score, _ in expected[:9]]
        assert [answer.score for answer in finished] == pytest.approx(scores, abs=1e-5)


@wild
@given(seed=some.integers(0, 999), alpha=some.floats(0, 3), limit=some.integers(1, 5))
def test_the_stopping_rule_never_changes_the_winner(seed: int, alpha: float, limit: int) -> None:
    machine = Machine(words=5, seed=seed, sharpness=2.0)
    best = beam.search(machine, sentences([seed], limit), Beam(size=3**5, length_penalty=alpha))[0][0]
    score, _ = brute_force(machine, seed, limit, alpha)[0]
    assert best.finished
    assert best.score == pytest.approx(score, abs=1e-5)


@wild
@given(
    seed=some.integers(0, 999),
    alpha=some.floats(0, 3),
    keys=some.lists(some.integers(0, 50), min_size=1, max_size=6),
)
def test_a_beam_of_one_is_greedy_choice(seed: int, alpha: float, keys: list[int]) -> None:
    machine = Machine(seed=seed)
    batch = sentences(keys, 8)
    chosen = greedy.search(machine, batch, Greedy())
    plain = beam.search(machine, batch, Beam(size=1, length_penalty=0.0))
    full = beam.search(machine, batch, Beam(size=1, length_penalty=alpha, stop="full"))
    for (one,), (two,), (three,) in zip(chosen, plain, full):
        assert one == two
        assert one == replace(three, score=three.log_probability)


@wild
@given(
    seed=some.integers(0, 999),
    pairs=some.lists(some.tuples(some.integers(0, 500), some.integers(1, 12)), min_size=1, max_size=9),
    size=some.integers(1, 6),
    alpha=some.floats(0, 3),
    stop=some.sampled_from(["exact", "likely", "full"]),
)
def test_batched_equals_alone(
    seed: int, pairs: list[tuple[int, int]], size: int, alpha: float, stop: str
) -> None:
    machine = Machine(seed=seed, sharpness=2.0)
    keys, limits = zip(*pairs)
    options = Beam(size=size, n_best=(size + 1) // 2, length_penalty=alpha, stop=stop)
    together = beam.search(machine, sentences(keys, limits), options)
    alone = [beam.search(machine, sentences([key], [limit]), options)[0] for key, limit in pairs]
    assert together == alone
    for (key, limit), answers in zip(pairs, together):
        assert 1 <= len(answers) <= options.n_best
        check_answers(machine, key, limit, answers)
        for answer in answers:
            penalty = length_penalty(len(answer.tokens) + answer.finished, alpha)
            assert answer.score == pytest.approx(answer.log_probability / penalty, abs=1e-5)


def test_the_length_penalty_changes_the_winner() -> None:
    # "end" at once: ln 0.4 = -0.916, |Y| = 1. "3 4 end": ln (0.6 · 0.7 · 0.9) = -0.973, |Y| = 3.
    chain = Chain({SOS: {EOS: 0.4, 3: 0.6}, 3: {4: 0.7, EOS: 0.3}, 4: {EOS: 0.9, 3: 0.1}}, words=5)
    plain = beam.search(chain, sentences([0], 6), Beam(size=3, length_penalty=0.0))[0][0]
    assert plain.tokens == ()
    assert plain.score == pytest.approx(math.log(0.4))
    longer = beam.search(chain, sentences([0], 6), Beam(size=3, length_penalty=1.0))[0][0]
    assert longer.tokens == (3, 4)
    assert longer.log_probability == pytest.approx(math.log(0.378))
    assert longer.score == pytest.approx(math.log(0.378) / (8 / 6))


def test_the_penalty_is_that_of_the_paper() -> None:
    assert length_penalty(1, 0.7) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0
    assert length_penalty(19, 0.0) == 1.0


def test_stopping_at_a_full_pool_can_miss_what_the_exact_rule_finds() -> None:
    # A beam of one ends at once with 0.5; "3 4 5 end" has 0.45 and wins by its length.
    chain = Chain({SOS: {EOS: 0.52, 3: 0.48}, 3: {4: 1.0}, 4: {5: 1.0}, 5: {EOS: 1.0}}, words=6)
    assert beam.search(chain, sentences([0], 9), Beam(size=1, stop="full"))[0][0].tokens == ()
    assert beam.search(chain, sentences([0], 9), Beam(size=1, stop="exact"))[0][0].tokens == (3, 4, 5)


def test_the_likely_rule_stops_where_ending_next_would_not_help() -> None:
    # After "end" (0.52) a beam of two holds "3" (0.48): ending next it would score ln 0.48 / lp(2) > ln 0.52, so it
    # goes on. At "3 4" the chance has sunk to 0.048 and no ending at the third token can win, but a later one could.
    chain = Chain({SOS: {EOS: 0.52, 3: 0.48}, 3: {4: 0.1, EOS: 0.01, 5: 0.89}, 4: {EOS: 1.0}, 5: {EOS: 1.0}}, words=6)
    assert beam.search(chain, sentences([0], 9), Beam(size=2, stop="likely"))[0][0].tokens == (3, 5)
    low = Chain({SOS: {EOS: 0.6, 3: 0.4}, 3: {4: 1.0}, 4: {5: 1.0}, 5: {EOS: 1.0}}, words=6)
    # ln 0.4 / lp(2) = -0.785 < ln 0.6 = -0.511 ends the likely search; ln 0.4 / lp(4) = -0.611 < -0.511 loses anyway,
    # with α = 2 the longer answer wins: -0.407, and only the exact rule waits for it.
    assert beam.search(low, sentences([0], 9), Beam(size=2, stop="likely"))[0][0].tokens == ()
    assert beam.search(low, sentences([0], 9), Beam(size=2, length_penalty=2.0, stop="likely"))[0][0].tokens == ()
    assert beam.search(low, sentences([0], 9), Beam(size=2, length_penalty=2.0))[0][0].tokens == (3, 4, 5)


def test_equal_scores_go_to_the_lower_token_and_the_earlier_prefix() -> None:
    quarters = {3: 0.25, 4: 0.25, 5: 0.25, EOS: 0.25}
    chain = Chain(dict.fromkeys((SOS, 3, 4, 5), quarters), words=6)
    answers = beam.search(chain, sentences([0], 3), Beam(size=4, n_best=4, length_penalty=0.0))[0]
    assert [answer.tokens for answer in answers] == [(), (3,), (4,), (5,)]
    cut = beam.search(chain, sentences([0], 1), Beam(size=3, n_best=3, length_penalty=0.0))[0]
    assert [(answer.tokens, answer.finished) for answer in cut] == [((), True), ((3,), False), ((4,), False)]


def test_an_unfinished_answer_is_given_when_nothing_finishes() -> None:
    chain = Chain({SOS: {3: 1.0}, 3: {3: 0.75, 4: 0.25}, 4: {3: 1.0}}, words=5)
    best, second = beam.search(chain, sentences([0], 3), Beam(size=2, n_best=2))[0]
    assert (best.tokens, best.finished) == ((3, 3, 3), False)
    assert best.score == pytest.approx(math.log(0.75**2) / (8 / 6))
    # 1 · 0.25 · 1 is more than the 1 · 0.75 · 0.25 of "3 3 4".
    assert (second.tokens, second.finished) == ((3, 4, 3), False)


def test_finished_answers_come_before_better_unfinished_ones() -> None:
    chain = Chain({SOS: {3: 0.9, EOS: 0.1}, 3: {3: 1.0}}, words=4)
    best, second = beam.search(chain, sentences([0], 4), Beam(size=2, n_best=2))[0]
    assert (best.tokens, best.finished) == ((), True)
    assert (second.tokens, second.finished) == ((3, 3, 3, 3), False)
    assert second.score > best.score


def test_pad_and_start_are_never_chosen_and_keep_their_probability() -> None:
    chain = Chain({SOS: {PAD: 0.5, SOS: 0.3, 3: 0.2}, 3: {PAD: 0.9, EOS: 0.1}}, words=4)
    best = beam.search(chain, sentences([0], 5), Beam(size=2))[0][0]
    assert best.tokens == (3,)
    assert best.log_probability == pytest.approx(math.log(0.02))


def test_other_symbols_can_open_close_and_be_forbidden() -> None:
    chain = Chain({5: {0: 0.6, 4: 0.4}, 0: {4: 0.5, 1: 0.5}, 1: {4: 1.0}}, words=6)
    question = Sentences.of([0], [5], start=5)
    assert beam.search(chain, question, Beam(size=2), Symbols(5, 4, ()))[0][0].tokens == (0, 1)
    assert beam.search(chain, question, Beam(size=2), Symbols(5, 4, (1,)))[0][0].tokens in [(), (0,)]


def test_finished_sentences_leave_the_batch() -> None:
    machine = Machine()
    beam.search(machine, sentences([1, 2, 3], [2, 5, 3]), Beam(size=4, length_penalty=3.0, n_best=4))
    assert machine.rows_seen[:2] == [3, 12]
    later = machine.rows_seen[1:]
    assert later == sorted(later, reverse=True)
    assert all(rows % 4 == 0 for rows in machine.rows_seen[1:])
    assert len(machine.rows_seen) <= 5
    assert machine.rows_seen[2] <= 8, "the sentence with limit 2 has left"


def test_a_prompt_is_read_at_once_and_not_repeated_in_the_answer() -> None:
    machine = Machine(seed=8)
    prompts = [(3, 4, 6), (5, 5, 3)]
    question = Sentences.of([4, 9], [5, 5], prompts=prompts)
    for key, prompt, (best,) in zip([4, 9], prompts, beam.search(machine, question, Beam(size=5))):
        tail = [EOS] if best.finished else []
        whole = machine.log_probability(key, [*prompt, *best.tokens, *tail])
        assert best.log_probability == pytest.approx(whole - machine.log_probability(key, prompt), abs=1e-5)


def test_the_trace_shows_what_was_weighed() -> None:
    chain = Chain({SOS: {3: 0.5, 4: 0.3, EOS: 0.2}, 3: {EOS: 0.6, 4: 0.4}, 4: {EOS: 1.0}}, words=5)
    trace = Trace()
    question = sentences([0, 0], [2, 1], indices=[10, 20])
    beam.search(chain, question, Beam(size=2, length_penalty=1.0, n_best=2), trace=trace)
    first, second = trace.of(10)
    assert [step.position for step in trace.of(20)] == [1]
    assert [(step.sentence, step.position) for step in (first, second)] == [(10, 1), (10, 2)]
    assert [(c.parent, c.token, c.place, c.finished) for c in first.candidates] == [
        (0, 3, 0, False),
        (0, 4, 1, False),
        (0, EOS, -1, False),  # third of a beam of two: too weak an ending
    ]
    assert [math.exp(c.log_probability) for c in second.candidates] == pytest.approx([0.3, 0.3, 0.2])
    assert [math.exp(c.step_log_probability) for c in second.candidates] == pytest.approx([0.6, 1.0, 0.4])
    assert [(c.parent, c.token, c.place, c.finished) for c in second.candidates] == [
        (0, EOS, -1, True),
        (1, EOS, -1, True),
        (0, 4, 0, False),
    ]
    assert second.candidates[0].score == pytest.approx(math.log(0.3) / (7 / 6))


def test_tracing_changes_nothing() -> None:
    machine = Machine(seed=4)
    batch = sentences([3, 8, 1], [6, 9, 2])
    assert beam.search(machine, batch, Beam(), trace=Trace()) == beam.search(machine, batch, Beam())


def test_the_models_own_logits_are_left_alone() -> None:
    machine = Machine()
    before = machine.table.clone()
    beam.search(machine, sentences([1], 5), Beam())
    assert torch.equal(machine.table, before)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_numbers_are_an_error(poison: float) -> None:
    machine = Machine()
    machine.table[:] = poison
    with pytest.raises(RegardError, match=r"leaves no token to choose.*take an earlier checkpoint"):
        beam.search(machine, sentences([1], 5), Beam())


def test_no_sentences_no_answers() -> None:
    assert beam.search(Machine(), sentences([], []), Beam()) == []

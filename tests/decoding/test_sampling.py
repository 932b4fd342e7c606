"""Sampling draws what the model says, with numbers that belong to the sentence and not to its batch."""

import math
from collections import Counter

import pytest
import torch
from automata import Chain, Machine, check_answers, sentences
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.symbols import EOS, PAD, SOS
from regard.decoding import greedy, sampling
from regard.decoding.options import Greedy, Sampling
from regard.decoding.sampling import UsedTokens, draw
from regard.decoding.sentences import Sentences

CHI_SQUARE_99_9 = {3: 16.27, 4: 18.47}


def test_frequencies_match_the_distribution() -> None:
    shares = {(3,): 0.5, (4,): 0.25, (5,): 0.15, (): 0.1}
    end = {EOS: 1.0}
    chain = Chain({SOS: {3: 0.5, 4: 0.25, 5: 0.15, EOS: 0.1}, 3: end, 4: end, 5: end}, words=6)
    count = 4000
    answers = sampling.search(chain, sentences([0] * count, 3), Sampling(seed=7))
    found = Counter(best.tokens for (best,) in answers)
    assert found.keys() == shares.keys()
    chi_square = sum((found[key] - count * share) ** 2 / (count * share) for key, share in shares.items())
    assert chi_square < CHI_SQUARE_99_9[3]


def test_many_samples_of_one_sentence_match_it_too() -> None:
    chain = Chain({SOS: {3: 0.4, EOS: 0.6}, 3: {3: 0.4, EOS: 0.6}}, words=4)
    rounds = [sampling.search(chain, sentences([0], 30), Sampling(seed=seed, n_best=1000))[0] for seed in (5, 6, 7, 8)]
    answers = [answer for one in rounds for answer in one]
    found = Counter(min(len(answer.tokens), 4) for answer in answers)
    shares = {n: 0.6 * 0.4**n for n in range(4)} | {4: 0.4**4}
    chi_square = sum((found[n] - 4000 * share) ** 2 / (4000 * share) for n, share in shares.items())
    assert chi_square < CHI_SQUARE_99_9[4]


def test_forbidden_symbols_are_left_out_and_the_score_is_the_models() -> None:
    chain = Chain({SOS: {PAD: 0.5, SOS: 0.3, 3: 0.2}, 3: {EOS: 1.0}}, words=4)
    for (best,) in sampling.search(chain, sentences([0] * 50, 3), Sampling(temperature=2.0)):
        assert best.tokens == (3,)
        assert best.log_probability == pytest.approx(math.log(0.2))


def test_low_temperature_is_greedy_choice() -> None:
    machine = Machine(seed=11, sharpness=3.0)
    batch = sentences(range(25), 9)
    cold = sampling.search(machine, batch, Sampling(temperature=0.001))
    assert cold == greedy.search(machine, batch, Greedy())
    assert sampling.search(machine, batch, Sampling(top_k=1)) == cold
    assert sampling.search(machine, batch, Sampling(min_p=1.0)) == cold


any_options = some.builds(
    Sampling,
    seed=some.integers(0, 2**40),
    n_best=some.integers(1, 3),
    top_k=some.integers(0, 9),
    top_p=some.floats(0.05, 1.0),
    min_p=some.floats(0.0, 1.0),
    temperature=some.floats(0.001, 1000.0),
)
any_pairs = some.lists(some.tuples(some.integers(0, 500), some.integers(1, 12)), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(pairs=any_pairs, options=any_options)
def test_batched_equals_alone(pairs: list[tuple[int, int]], options: Sampling) -> None:
    machine = Machine(seed=1)
    keys, limits = zip(*pairs)
    together = sampling.search(machine, sentences(keys, limits), options)
    for index, (key, limit) in enumerate(pairs):
        assert together[index] == sampling.search(machine, sentences([key], [limit], [index]), options)[0]
    for (key, limit), answers in zip(pairs, together):
        assert len(answers) == options.n_best
        check_answers(machine, key, limit, answers)


def test_seed_and_place_in_the_input_decide() -> None:
    machine = Machine(seed=1)

    def tokens(index: int, seed: int) -> tuple[int, ...]:
        return sampling.search(machine, sentences([4], [30], [index]), Sampling(seed=seed))[0][0].tokens

    assert tokens(0, 1) == tokens(0, 1)
    assert len({tokens(index, seed) for index in range(4) for seed in range(4)}) > 8


def test_draw_never_takes_what_has_no_probability() -> None:
    logits_RW = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]])
    chance_RM = torch.tensor([[0.0, 0.49, 0.5, 0.75, 1.0 - 2**-24, 1.0]])
    assert draw(logits_RW, chance_RM).tolist() == [[1, 1, 3, 3, 3, 3]]


def test_draw_follows_the_cumulated_probabilities() -> None:
    logits_RW = torch.tensor([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]]).log()
    chance_RM = torch.tensor([[0.05, 0.15, 0.35], [0.65, 0.75, 0.95]])
    assert draw(logits_RW, chance_RM).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_penalty_lowers_what_was_said_and_nothing_else() -> None:
    """Positive logits are divided, negative ones multiplied; by hand: 3 / 1.5 = 2, −4 · 1.5 = −6."""
    asked = Sentences.of(None, [5, 5], prompts=[[3], [4, 0]], start=None)
    said = UsedTokens(asked, Sampling(repetition_penalty=1.5))
    logits_RW = torch.tensor([[1.0, -1.0, 0.5, 3.0, 2.0], [-4.0, 6.0, 7.0, 8.0, -2.0]])
    found = said.penalise_repetition(logits_RW, torch.tensor([0, 1]))
    torch.testing.assert_close(found, torch.tensor([[1.0, -1.0, 0.5, 2.0, 2.0], [-6.0, 6.0, 7.0, 8.0, -3.0]]))
    said.add(torch.tensor([0, 1]), torch.tensor([[1], [2]]), torch.tensor([1, 0]))
    found = said.penalise_repetition(logits_RW, torch.tensor([0, 1]))
    assert found[0, 1] == -1.5
    assert found[1, 2] == 7.0, "still reading its opening: what it chose was not heard"

"""The engine sorts, batches and restores: what comes out does not show it."""

from __future__ import annotations

import pytest
import torch
from automata import Machine, MachineState
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.seams import Engine
from regard.core.symbols import EOS
from regard.decoding.engine import TorchEngine, batches
from regard.decoding.options import Beam, Greedy, Sampling, Strategy
from regard.decoding.sentences import Symbols


class Seen(nn.Module):
    """A machine inside a module, which notes in what mode it was asked."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.frozen_part = nn.Linear(2, 3)
        self.notes: set[tuple[bool, bool, bool]] = set()

    def start(self, source: list[int]) -> MachineState:
        return self.machine.start(source)

    def step(self, tokens_BT: Tensor, state: MachineState) -> tuple[Tensor, MachineState]:
        self.notes.add((self.training, self.frozen_part.training, torch.is_inference_mode_enabled()))
        return self.machine.step(tokens_BT, state)


def keys_of(inputs: list[tuple[int, ...]]) -> list[int]:
    return [sum((place + 1) * token for place, token in enumerate(one)) for one in inputs]


def engine_of(machine: Machine, budget: int = 300, **others: Symbols) -> TorchEngine:
    return TorchEngine(machine, keys_of, budget=budget, **others)


inputs_of_any_length = some.lists(some.lists(some.integers(3, 6), max_size=7).map(tuple), max_size=12)


@settings(max_examples=20, deadline=None)
@given(
    inputs=inputs_of_any_length,
    budget=some.integers(1, 400),
    options=some.sampled_from([Greedy(), Beam(size=3, n_best=2), Sampling(n_best=2), Beam(max_length=3)]),
)
def test_order_is_kept_and_the_batch_does_not_matter(
    inputs: list[tuple[int, ...]], budget: int, options: Strategy
) -> None:
    machine = Machine(seed=5)
    whole = engine_of(machine, budget=10**6).predict(inputs, options)
    assert len(whole) == len(inputs)
    assert engine_of(machine, budget).predict(inputs, options) == whole
    search = options.build()
    engine = engine_of(machine)
    for place, answers in enumerate(whole):
        sentences = engine._sentences(inputs, [place], options, [()] * len(inputs), range(len(inputs)))
        assert search(machine, sentences)[0] == answers


def test_inputs_may_be_asked_in_several_calls() -> None:
    """Random numbers follow an input's number among all, wherever it stands in a call."""
    options, inputs = Sampling(temperature=3.0, n_best=2, seed=5), [(3, 4, 5)] * 7
    whole = engine_of(Machine()).predict(inputs, options)
    parts = [engine_of(Machine()).predict([inputs[place]], options, numbers=[place])[0] for place in range(7)]
    assert parts == whole
    assert whole[0] != whole[1]
    with pytest.raises(OptionError, match="1 numbers for 7 inputs"):
        engine_of(Machine()).predict(inputs, options, numbers=[0])


def test_an_empty_input_gets_an_answer() -> None:
    ((best,),) = engine_of(Machine()).predict([()], Beam())
    assert len(best.tokens) + best.finished <= 10


def test_no_inputs() -> None:
    assert engine_of(Machine()).predict([], Beam()) == []
    assert engine_of(Machine()).score([], []) == []


def test_the_engine_keeps_the_seam() -> None:
    engine: Engine = engine_of(Machine())
    assert engine.predict([(3,)], Greedy())


def test_evaluation_mode_inside_and_the_old_modes_afterwards() -> None:
    model = Seen(Machine())
    model.frozen_part.eval()
    engine = TorchEngine(model, keys_of)
    engine.predict([(3, 4)], Greedy())
    engine.score([(3, 4)], [(5,)])
    assert model.notes == {(False, False, True)}
    assert model.training
    assert not model.frozen_part.training


def test_modes_are_restored_after_an_error() -> None:
    model = Seen(Machine())
    model.machine.table[:] = torch.nan
    with pytest.raises(Exception, match="no token to choose"):
        TorchEngine(model, keys_of).predict([(3, 4)], Greedy())
    assert model.training
    assert model.frozen_part.training


def test_progress_counts_inputs() -> None:
    told: list[tuple[int, int]] = []
    engine = engine_of(Machine(), budget=20)
    engine.predict([(3,)] * 5, Greedy(), progress=lambda *counts: told.append(counts))
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_prompts_of_unlike_length_are_answered_in_order() -> None:
    machine = Machine(seed=3)
    inputs = [(3, 4), (5,), (), (3, 4)]
    prompts = [(3,), (), (4, 5, 6), (6,)]
    engine = engine_of(machine)
    together = engine.predict(inputs, Beam(), prompts=prompts)
    alone = [engine.predict([one], Beam(), prompts=[prompt])[0] for one, prompt in zip(inputs, prompts)]
    assert together == alone
    assert together[0] != together[3]


def test_explain_gives_the_same_answers_and_their_trace() -> None:
    engine = engine_of(Machine(seed=3))
    answers, trace = engine.explain((3, 5, 4), Beam(n_best=3))
    assert answers == engine.predict([(3, 5, 4)], Beam(n_best=3))[0]
    assert trace.of(0) == trace.steps
    assert trace.steps[0].position == 1


def test_score_in_the_order_of_the_inputs() -> None:
    machine = Machine(seed=3)
    inputs = [(3,), (4, 4, 4, 4, 5), (), (6, 6)]
    targets = [(5, 5), (), (3, 4, 5, 6, 3, 4, 5, 6, 3, 4, 5), (6,)]
    found = engine_of(machine, budget=25).score(inputs, targets)
    for key, target, gains in zip(keys_of(inputs), targets, found):
        assert sum(gains) == pytest.approx(machine.log_probability(key, [*target, EOS]), abs=1e-5)


def test_the_start_symbol_is_the_engines() -> None:
    machine = Machine(seed=3)
    engine = engine_of(machine, symbols=Symbols(start=6, forbidden=(0,)))
    ((best,),) = engine.predict([(3,)], Greedy())
    chosen = [*best.tokens, EOS] if best.finished else best.tokens
    assert best.log_probability == pytest.approx(machine.log_probability(3, chosen, start=6), abs=1e-5)


def test_numbers_that_do_not_fit_are_refused() -> None:
    engine = engine_of(Machine())
    with pytest.raises(OptionError, match="1 prompts for 2 inputs; give one for each input"):
        engine.predict([(3,), (4,)], Greedy(), prompts=[(3,)])
    with pytest.raises(OptionError, match="3 targets for 2 inputs"):
        engine.score([(3,), (4,)], [(), (), ()])


@settings(max_examples=60, deadline=None)
@given(
    pairs=some.lists(some.tuples(some.integers(0, 60), some.integers(0, 2))),
    rows=some.integers(1, 6),
    budget=some.integers(1, 900),
)
def test_batches_hold_everything_once_and_fit(pairs: list[tuple[int, int]], rows: int, budget: int) -> None:
    lengths, openings = [length for length, _ in pairs], [opening for _, opening in pairs]
    made = list(batches(lengths, openings, rows, budget))
    assert sorted(place for batch in made for place in batch) == list(range(len(pairs)))
    for batch in made:
        assert len({openings[place] for place in batch}) == 1
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * rows * max(longest, 10) <= budget

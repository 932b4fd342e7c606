"""Our own engine: any decodable model and strategy, in batches that fit, answers in the inputs' order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn

from regard.core.errors import OptionError
from regard.core.seams import Decodable, Hypothesis
from regard.decoding import beam
from regard.decoding.options import Beam, Greedy, Strategy
from regard.decoding.scoring import score_given
from regard.decoding.sentences import STANDARD, Sentences, Symbols
from regard.decoding.trace import Trace
from regard.decoding.walk import Watch

BUDGET = 6400
"""Rows × length of a batch: 64 sentences of 20 tokens in a beam of 5."""
SHORTEST = 10
"""Shorter inputs count as this long: their answers are not shorter in proportion, and rows cost as such."""

SPREAD = 64
"""Openings that differ by no more tokens than this are read together."""

Progress = Callable[[int, int], None]
Result = TypeVar("Result")


class TorchEngine:
    """Implements ``Engine`` with a model in this process.

    ``collate`` makes the model's source batch, on the model's device, from a list of inputs; ``length`` tells how
    long an input is; ``room`` is the most tokens that the model can choose for one (0: no limit). With ``prompts`` an
    answer begins after its prompt, and only what follows is returned.
    """

    name = "torch"

    def __init__(
        self,
        model: Decodable,
        collate: Callable[[list[Any]], Any],
        *,
        symbols: Symbols = STANDARD,
        device: torch.device | str = "cpu",
        budget: int = BUDGET,
        length: Callable[[Any], int] = len,
        room: Callable[[Any], int] = lambda one: 0,
    ) -> None:
        self.model = model
        self.collate = collate
        self.symbols = symbols
        self.device = device
        self.budget = budget
        self.length = length
        self.room = room

    def predict(
        self,
        inputs: Sequence[Any],
        options: Strategy,
        *,
        prompts: Sequence[Sequence[int]] | None = None,
        progress: Progress | None = None,
        watch: Callable[[Sequence[int]], Watch] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:
        """One list of hypotheses, best first, for each input, in the order of the inputs.

        ``watch`` makes, for the places of a batch, somebody who is shown its tokens as they are chosen and may end
        an answer; a beam, whose tokens are not settled before the end, has no use for one.
        """
        if prompts is None:
            prompts = [()] * len(inputs)
        numbers = range(len(inputs)) if numbers is None else numbers
        _same_number("prompts", prompts, inputs)
        _same_number("numbers", numbers, inputs)
        search, openings = options.build(), [len(prompt) for prompt in prompts]
        lengths = [self.length(one) + opening for one, opening in zip(inputs, openings)]
        spread = 0 if isinstance(options, Beam) else SPREAD

        def answer(places: list[int]) -> list[list[Hypothesis]]:
            sentences = self._sentences(inputs, places, options, prompts, numbers)
            watching = {} if watch is None or isinstance(options, Beam) else {"watch": watch(places)}
            return search(self.model, sentences, symbols=self.symbols, **watching)

        plan = batches(lengths, openings, options.rows, self.budget, spread)
        return self._run(plan, answer, len(inputs), progress)

    def explain(
        self, one_input: Any, options: Beam, *, prompt: Sequence[int] = ()
    ) -> tuple[list[Hypothesis], Trace]:
        """The answers to one input, and how the beam came to them."""
        trace = Trace()
        with evaluating(self.model):
            sentences = self._sentences([one_input], [0], options, [prompt], [0])
            found = beam.search(self.model, sentences, options, self.symbols, trace)
        return found[0], trace

    def score(
        self, inputs: Sequence[Any], targets: Sequence[Sequence[int]], *, progress: Progress | None = None
    ) -> list[tuple[float, ...]]:
        """For each input the log-probabilities of its given answer's tokens and of the closing symbol."""
        _same_number("targets", targets, inputs)
        lengths = [max(self.length(one), len(target)) for one, target in zip(inputs, targets)]

        def score(places: list[int]) -> list[tuple[float, ...]]:
            sentences = self._sentences(inputs, places, Greedy(), [()] * len(inputs), range(len(inputs)))
            return score_given(self.model, sentences, [targets[place] for place in places], self.symbols)

        return self._run(batches(lengths, [0] * len(inputs), 1, self.budget), score, len(inputs), progress)

    def _run(
        self,
        plan: Iterator[list[int]],
        work: Callable[[list[int]], list[Result]],
        total: int,
        progress: Progress | None,
    ) -> list[Result]:
        """The work on every batch of places, its results put back into those places."""
        results: dict[int, Result] = {}
        with evaluating(self.model):
            for places in plan:
                results.update(zip(places, work(places), strict=True))
                if progress is not None:
                    progress(len(results), total)
        return [results[place] for place in range(total)]

    def _sentences(
        self, inputs: Sequence[Any], places: list[int], options: Strategy, prompts: Sequence[Sequence[int]],
        numbers: Sequence[int],
    ) -> Sentences:  # fmt: skip
        chosen = [inputs[place] for place in places]
        return Sentences.of(
            self.collate(chosen),
            [min(options.limit(self.length(one)), self.room(one) or sys.maxsize) for one in chosen],
            prompts=[prompts[place] for place in places],
            indices=[numbers[place] for place in places],
            start=self.symbols.start,
            device=self.device,
        )


def batches(
    lengths: Sequence[int], openings: Sequence[int], rows: int, budget: int, spread: int = 0
) -> Iterator[list[int]]:
    """Places of inputs of like length, longest first, as many as the budget allows and at least one.

    The openings of a batch differ in length by ``spread`` at most: a model is fed rectangles, and what an opening
    has more than the shortest is read token by token.
    """
    batch: list[int] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda place: (-openings[place], -lengths[place])):
        if batch and (len(batch) >= room or openings[batch[0]] - openings[place] > spread):
            yield batch
            batch = []
        if not batch:
            # Longest first, so the first of a batch says how wide it is.
            room = budget // (rows * max(lengths[place], SHORTEST))
        batch.append(place)
    if batch:
        yield batch


@contextmanager
def evaluating(model: Decodable) -> Iterator[None]:
    """No gradients and no dropout; afterwards every part that was training is training again."""
    training = [part for part in model.modules() if part.training] if isinstance(model, nn.Module) else []
    try:
        for part in training:
            part.training = False
        with torch.inference_mode():
            yield
    finally:
        for part in training:
            part.training = True


def _same_number(what: str, found: Sequence[Any], inputs: Sequence[Any]) -> None:
    if len(found) != len(inputs):
        raise OptionError(
            f"{len(found)} {what} for {len(inputs)} inputs; give one for each input, in the same order"
        )

"""A record of a beam search, step by step, which shows why an answer won."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prefix and one more token, as the search weighed it.

    ``parent`` is the place of the prefix among the living ones of the step before, ``place`` its own among
    those that live on, or -1. ``log_probability`` is that of all tokens so far, ``step_log_probability`` that
    of the last one, ``score`` what finished hypotheses are ranked by.
    """

    parent: int
    token: int
    step_log_probability: float
    log_probability: float
    score: float
    place: int
    finished: bool


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What one sentence could choose from at one position (the first is 1), best first."""

    sentence: int
    position: int
    candidates: tuple[Candidate, ...]


@dataclass(slots=True)
class Trace:
    """Steps of all sentences in the order in which they happened; hand one to a search and it is filled."""

    steps: list[TraceStep] = field(default_factory=list)

    def of(self, sentence: int) -> list[TraceStep]:
        """The steps of one sentence, named by its place in the input."""
        return [step for step in self.steps if step.sentence == sentence]

    def record(
        self, sentences: list[int], position: int, penalty: float, columns: tuple[Tensor, ...]
    ) -> None:
        """Columns, all by sentence and candidate: parent, token, gain, total, place, finished."""
        for sentence, *fields in zip(sentences, *(column.tolist() for column in columns)):
            candidates = tuple(
                Candidate(parent, token, gain, total, total / penalty, place, finished)
                for parent, token, gain, total, place, finished in zip(*fields)
                if total > float("-inf")
            )
            self.steps.append(TraceStep(sentence, position, candidates))

"""Decoding strategies as settings: greedy, beam and sampling, each of which builds its search."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from regard.core.config import Part

if TYPE_CHECKING:
    from regard.decoding.sentences import Search


MOST_ROWS = 1000
"""Of a batch for one sentence; with more the memory of most machines is full before the first token."""


class Strategy(Part):
    """What every strategy has: a limit for the answer, rows that it needs for a sentence, and its search."""

    max_length: int = Field(default=0, ge=0)
    """The most tokens that are chosen, the closing symbol among them; 0: 2 × source length + 10."""

    def limit(self, source_length: int) -> int:
        """Depends on this sentence only, so that an answer does not depend on its neighbours in a batch."""
        return self.max_length or 2 * source_length + 10

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows of a batch one sentence takes."""

    @property
    def answers(self) -> int:
        """How many answers each input gets."""
        return 1

    def with_seed_offset(self, by: int) -> Strategy:
        """The same with another seed, where chance has a part in it."""
        return self

    def single_row(self) -> Strategy:
        """The same with one row for each input, where rows do not depend on one another."""
        return self

    @abstractmethod
    def build(self) -> Search:
        """The search with these settings."""


class Greedy(Strategy):
    """The most probable token at every step."""

    kind: str = "greedy"

    @property
    def rows(self) -> int:
        return 1

    def build(self) -> Search:
        from regard.decoding import greedy

        return partial(greedy.search, options=self)


class SeveralAnswers(Strategy):
    """Strategies that may give ``n_best`` answers to one input."""

    n_best: int = Field(default=1, ge=1, le=MOST_ROWS)

    @property
    def answers(self) -> int:
        return self.n_best


class Beam(SeveralAnswers):
    """The most probable prefixes at every step, ``size`` of them for a sentence.

    ``length_penalty`` is the α of Wu et al. (2016), equation 14; 0 ranks by plain log-probability. A sentence
    is done when no living prefix can still reach the best ``n_best`` finished ones, however long it grows (``stop =
    "exact"``), or already when none would reach them by ending at the next step (``"likely"``), or when ``size`` of
    them have finished (``"full"``): fewer steps, and a longer answer that would have won is now and then missed.
    """

    kind: str = "beam"
    size: int = Field(default=5, ge=1, le=MOST_ROWS)
    length_penalty: float = Field(default=1.0, ge=0.0, le=10.0)
    stop: Literal["exact", "likely", "full"] = "exact"

    @model_validator(mode="after")
    def _check_size(self) -> Beam:
        if self.n_best > self.size:
            raise ValueError(
                f"n_best is {self.n_best}, but a beam of size {self.size} only gathers {self.size}; "
                f"set size to {self.n_best} or more"
            )
        return self

    @property
    def rows(self) -> int:
        return self.size

    def build(self) -> Search:
        from regard.decoding import beam

        return partial(beam.search, options=self)


class Sampling(SeveralAnswers):
    """Tokens by chance: repetition penalty, temperature, top-k, top-p, min-p, each on what the last one left."""

    kind: str = "sampling"
    temperature: float = 1.0
    top_k: int = Field(default=0, ge=0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    min_p: float = Field(default=0.0, ge=0.0, le=1.0)
    repetition_penalty: float = Field(default=1.0, gt=0.0, le=100.0)  # above 1: what was said becomes less probable
    seed: int = Field(default=1, ge=0)

    @field_validator("temperature")
    @classmethod
    def _check_temperature(cls, temperature: float) -> float:
        if not 0.001 <= temperature <= 1000.0:
            raise ValueError(
                f"found {temperature}, expected 0.001 to 1000; "
                'for the most probable token at every step choose kind = "greedy"'
            )
        return temperature

    @property
    def rows(self) -> int:
        return self.n_best

    def with_seed_offset(self, by: int) -> Sampling:
        return self.model_copy(update={"seed": self.seed + by})

    def single_row(self) -> Sampling:
        return self.model_copy(update={"n_best": 1})

    def build(self) -> Search:
        from regard.decoding import sampling

        return partial(sampling.search, options=self)

"""Strings of digits as keypad tones, made here: clean ones, noisy ones, and which of them are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from regard.data import MOST_MADE, DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.splits import gathered

if TYPE_CHECKING:
    from regard.data.modalities.audio.sounds import SpokenText

ORIGIN = "keypad"
SHORTEST_OF_MANY = 4  # digits; with fewer there are not enough different strings


class Keypad(DataPart):
    """No string is in two splits. ``test`` is clean, ``noisy`` has the same strings in noise."""

    files_kind: ClassVar[str] = "speech"

    kind: str = "keypad"
    train_size: int = Field(default=4000, ge=1, le=MOST_MADE)
    validation_size: int = Field(default=200, ge=0, le=MOST_MADE)
    test_size: int = Field(default=1000, ge=0, le=MOST_MADE)
    min_length: int = Field(default=SHORTEST_OF_MANY, ge=1, le=50)  # digits
    max_length: int = Field(default=8, ge=1, le=50)
    decibels: tuple[float, float] = (-3.0, 30.0)  # of training tones over their noise, from the least to the most
    noisy: float = 0.0  # decibels of the noisy test split

    @model_validator(mode="after")
    def _fits(self) -> Keypad:
        if self.min_length > self.max_length:
            raise ValueError(
                f"min_length {self.min_length} is greater than max_length {self.max_length}"
            )
        if self.decibels[0] > self.decibels[1]:
            raise ValueError(f"decibels = {list(self.decibels)} is not a range; give the smaller number first")
        there = sum(10**length for length in range(self.min_length, self.max_length + 1))
        wanted = self.train_size + self.validation_size + self.test_size
        if there < 2 * wanted:
            raise ValueError(
                f"there are {there:,} strings of {self.min_length} to {self.max_length} digits, which are too "
                f"few for {wanted:,} different examples; raise max_length, or make the splits smaller"
            )
        return self

    def load(self, seed: int, ledger: Ledger) -> Corpus[SpokenText]:
        from regard.data.modalities.audio.goertzel import GoertzelBank
        from regard.data.modalities.audio.keypad import CLEAN

        generator = np.random.default_rng(seed)
        sizes = {"train": self.train_size, "validation": self.validation_size, "test": self.test_size}
        strings = iter(self.strings(sum(sizes.values()), generator))
        splits: dict[str, list[Any]] = {}
        for number, (split, size) in enumerate(sizes.items()):
            own = [next(strings) for _ in range(size)]
            levels = generator.uniform(*self.decibels, size)
            splits[split] = self.made(own, [CLEAN] * size if split == "test" else levels.tolist(), seed, number)
        noisy = [one.target for one in splits["test"]]
        splits["noisy"] = self.made(noisy, [self.noisy] * len(noisy), seed, len(sizes))
        return Corpus(gathered(splits, ORIGIN, ledger), ledger, methods={"Goertzel filter bank": GoertzelBank()})

    def strings(self, count: int, generator: np.random.Generator) -> list[str]:
        """Different ones, every length equally often."""
        found: dict[str, None] = {}
        while len(found) < count:
            length = int(generator.integers(self.min_length, self.max_length + 1))
            found["".join(map(str, generator.integers(10, size=length)))] = None
        return list(found)

    def made(self, strings: list[str], levels: list[float], seed: int, number: int) -> list[SpokenText]:
        from regard.data.modalities.audio.keypad import KeypadSound
        from regard.data.modalities.audio.sounds import SpokenText

        first = (4 * seed + number) * MOST_MADE
        return [
            SpokenText(KeypadSound(digits, first + line, level), digits, line=line, origin=ORIGIN)
            for line, (digits, level) in enumerate(zip(strings, levels, strict=True), start=1)
        ]

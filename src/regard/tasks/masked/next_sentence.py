"""Next-sentence prediction: half of the time the second text is from elsewhere (Devlin et al. 2019, task 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.tasks.masked.masking import Ids, MaskedWindows

FAR = 7919
"""Keeps the draws of pairs apart from those of masks."""


class HiddenPair(NamedTuple):
    """Two parts as the model reads them: where the second starts, and whether it belongs there."""

    tokens: Ids
    chosen: Ids
    answers: Ids
    second: int
    follows: int


class Pairs(Sequence[HiddenPair]):
    """Each stretch in two halves. Another epoch finds other strangers; the same place in the same epoch the same."""

    def __init__(self, stretches: MaskedWindows) -> None:
        long_N = stretches.spans_N2[:, 1] - stretches.spans_N2[:, 0] >= 2
        self.stretches = MaskedWindows(
            stretches.tokens, stretches.spans_N2[long_N], stretches.masking, stretches.opening, stretches.closing,
            stretches.key,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.stretches)

    def __getitem__(self, place: Any) -> Any:
        generator = np.random.default_rng((*self.stretches.key, int(place), FAR))
        first, second = self.halves(place)
        follows = bool(generator.random() < 0.5) or len(self) == 1
        if not follows:
            stranger = int(generator.integers(len(self) - 1))
            second = self.halves(stranger + (stranger >= place))[1][: len(second)]
        hidden = self.stretches.masking.hide(np.concatenate((first, second)), generator)
        opening, closing = [self.stretches.opening], [self.stretches.closing]
        parts = (opening, hidden.tokens[: len(first)], closing, hidden.tokens[len(first) :], closing)
        shifted = hidden.chosen + np.where(hidden.chosen < len(first), 1, 2)
        return HiddenPair(np.concatenate(parts), shifted, hidden.answers, len(first) + 2, int(follows))

    def halves(self, place: int) -> tuple[Ids, Ids]:
        tokens = self.stretches.plain(place)[1:-1]
        return tokens[: len(tokens) // 2], tokens[len(tokens) // 2 :]

    def lengths(self) -> Ids:
        """As those of the stretches, with one more closing symbol; a stranger may be shorter."""
        return self.stretches.lengths() + np.array([0, 1])

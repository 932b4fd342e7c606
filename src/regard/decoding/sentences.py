"""The input of a search: the sentences of one batch, and the special symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.core.symbols import EOS, PAD, SOS, Specials


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbol that opens an answer (None: its prompt does), the one that closes it, and those never chosen."""

    start: int | None = SOS
    end: int = EOS
    forbidden: tuple[int, ...] = (PAD, SOS)

    def __post_init__(self) -> None:
        assert self.end not in self.forbidden, "an answer could never end"

    @classmethod
    def of(cls, specials: Specials) -> Symbols:
        """Those of a vocabulary; some open an answer with what pads others."""
        return cls(specials.sos, specials.eos, tuple(dict.fromkeys((specials.pad, specials.sos))))


STANDARD = Symbols()


@dataclass(frozen=True, slots=True)
class Sentences:
    """One batch: the source, the tokens that open the answers, their limits, their numbers among all inputs.

    ``rest`` is what some openings have more than the shortest; a search reads it before it chooses.
    """

    source: Any
    first_BT: Tensor
    limits: tuple[int, ...]
    indices: tuple[int, ...]
    rest: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        assert len(self.first_BT) == len(self.limits) == len(self.indices), "one limit and index a sentence"
        assert self.first_BT.shape[1] >= 1, "a model needs a token to begin with"
        assert min(self.limits, default=1) >= 1, "a search chooses at least one token"

    @classmethod
    def of(
        cls,
        source: Any,
        limits: Sequence[int],
        *,
        prompts: Sequence[Sequence[int]] | None = None,
        indices: Sequence[int] | None = None,
        start: int | None = SOS,
        device: torch.device | str = "cpu",
    ) -> Sentences:
        """Answers that open with the start symbol and a prompt."""
        opening = [] if start is None else [start]
        openings = [[*opening, *prompt] for prompt in (prompts if prompts is not None else [()] * len(limits))]
        width = min(map(len, openings), default=1)
        first_BT = torch.tensor([one[:width] for one in openings], dtype=torch.long, device=device)
        rest = tuple(tuple(one[width:]) for one in openings)
        places = tuple(range(len(limits)) if indices is None else indices)
        return cls(source, first_BT.view(len(limits), width), tuple(limits), places, rest if any(rest) else ())


class Search(Protocol):
    """Chooses answers for a batch of sentences.

    Law: for each sentence a list of hypotheses, finished ones first, then by score; their tokens are what
    follows the opening, without the closing symbol; their log-probability is the model's own. What is
    chosen for a sentence does not depend on the others of its batch.
    """

    def __call__(
        self, model: Decodable, sentences: Sentences, *, symbols: Symbols = STANDARD
    ) -> list[list[Hypothesis]]: ...

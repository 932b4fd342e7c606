"""What a search is asked: the sentences of one batch, and the symbols that mean something to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.core.symbols import EOS, PAD, SOS


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbol that opens an answer, the one that closes it, and those that are never chosen."""

    start: int = SOS
    end: int = EOS
    forbidden: tuple[int, ...] = (PAD, SOS)

    def __post_init__(self) -> None:
        assert self.end not in self.forbidden, "an answer could never end"


STANDARD = Symbols()


@dataclass(frozen=True, slots=True)
class Sentences:
    """One batch: the source, the tokens that open the answers, their limits, their places in the input."""

    source: Any
    first_BT: Tensor
    limits: tuple[int, ...]
    indices: tuple[int, ...]

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
        start: int = SOS,
        device: torch.device | str = "cpu",
    ) -> Sentences:
        """Answers that open with the start symbol and a prompt, of the same length for a whole batch."""
        openings = [[start, *prompt] for prompt in (prompts if prompts is not None else [()] * len(limits))]
        width = max(map(len, openings), default=1)
        first_BT = torch.tensor(openings, dtype=torch.long, device=device).view(len(limits), width)
        return cls(source, first_BT, tuple(limits), tuple(range(len(limits)) if indices is None else indices))


class Search(Protocol):
    """Chooses answers for a batch of sentences.

    Law: for each sentence a list of hypotheses, finished ones first, then by score; their tokens are what
    follows the first tokens, without the closing symbol; their log-probability is the model's own. What is
    chosen for a sentence does not depend on the others of its batch.
    """

    def __call__(
        self, model: Decodable, sentences: Sentences, *, symbols: Symbols = STANDARD
    ) -> list[list[Hypothesis]]: ...

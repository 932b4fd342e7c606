"""Small machines that can be decoded: every score is a look-up, every misuse of a state is caught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.core.seams import Hypothesis
from regard.core.symbols import EOS, PAD, SOS
from regard.decoding.sentences import Sentences

PLACES = 997


@dataclass
class MachineState:
    """One key a sentence, one place a row; which sentence a row belongs to is found from the rows alone."""

    key_S: Tensor
    sentence_R: Tensor
    place_R: Tensor
    consumed: bool = False

    def consume(self) -> None:
        assert not self.consumed, "a state was used twice"
        self.consumed = True

    def reorder(self, rows: Tensor) -> MachineState:
        self.consume()
        owners_R = self.sentence_R[rows]
        kept, sentence_R, counts = owners_R.unique_consecutive(return_inverse=True, return_counts=True)
        assert len(set(kept.tolist())) == len(kept), "rows of one sentence must stand together"
        assert len(set(counts.tolist())) == 1, "every sentence must have the same number of rows"
        return MachineState(self.key_S[kept], sentence_R, self.place_R[rows])


@dataclass
class Machine:
    """Logits depend on the sentence's key and on every token so far, so a row in the wrong place shows."""

    words: int = 7
    seed: int = 0
    sharpness: float = 1.0
    rows_seen: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        self.table = torch.randn(PLACES, self.words, generator=generator) * self.sharpness

    def start(self, source: Sequence[int]) -> MachineState:
        key_S = torch.tensor(source, dtype=torch.long)
        return MachineState(key_S, torch.arange(len(key_S)), torch.zeros_like(key_S))

    def step(self, tokens_BT: Tensor, state: MachineState) -> tuple[Tensor, MachineState]:
        state.consume()
        assert len(tokens_BT) == len(state.place_R)
        self.rows_seen.append(len(tokens_BT))
        key_R, place_R = state.key_S[state.sentence_R], state.place_R
        logits = []
        for token_R in tokens_BT.unbind(1):
            place_R = (place_R * 31 + token_R * 7 + key_R + 1) % PLACES
            logits.append(self.table[place_R])
        return torch.stack(logits, dim=1), MachineState(state.key_S, state.sentence_R, place_R)

    def log_probability(self, key: int, tokens: Sequence[int], start: int = SOS) -> float:
        """Of the given tokens, as they stand, by the definition."""
        logits_BTW, _ = self.step(torch.tensor([[start, *tokens]]), self.start([key]))
        table_TW = logits_BTW[0].log_softmax(dim=-1)
        return sum(table_TW[place, token].item() for place, token in enumerate(tokens))


class Chain:
    """A Markov chain given by the probabilities of what follows each token; the same for every sentence."""

    def __init__(self, following: dict[int, dict[int, float]], words: int) -> None:
        self.table = torch.full((words, words), -math.inf)
        for token, row in following.items():
            for successor, probability in row.items():
                self.table[token, successor] = math.log(probability)

    def start(self, source: Sequence[int]) -> MachineState:
        return MachineState(torch.zeros(len(source)), torch.arange(len(source)), torch.zeros(len(source)))

    def step(self, tokens_BT: Tensor, state: MachineState) -> tuple[Tensor, MachineState]:
        state.consume()
        return self.table[tokens_BT], MachineState(state.key_S, state.sentence_R, state.place_R)


def sentences(
    keys: Sequence[int], limits: Sequence[int] | int, indices: Sequence[int] | None = None
) -> Sentences:
    limits = [limits] * len(keys) if isinstance(limits, int) else limits
    return Sentences.of(list(keys), limits, indices=indices)


def all_answers(words: int, limit: int) -> list[tuple[int, ...]]:
    """Every finished answer of at most ``limit`` tokens, the closing symbol among them."""
    choices = [word for word in range(words) if word not in (PAD, SOS, EOS)]
    return [answer for length in range(limit) for answer in itertools.product(choices, repeat=length)]


def check_answers(machine: Machine, key: int, limit: int, answers: Sequence[Hypothesis]) -> None:
    """The best first, each within its limit and as probable as the machine says."""
    order = [(not answer.finished, -answer.score) for answer in answers]
    assert order == sorted(order)
    for answer in answers:
        chosen = [*answer.tokens, EOS] if answer.finished else answer.tokens
        assert len(chosen) <= limit
        assert answer.finished or len(chosen) == limit
        assert not {PAD, SOS, EOS} & set(answer.tokens)
        assert math.isclose(answer.log_probability, machine.log_probability(key, chosen), rel_tol=1e-6, abs_tol=1e-4)

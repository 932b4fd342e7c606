"""Rows of different ages share a batch: who joins or leaves while it is decoded changes nobody else's answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.laws.subjects import SUBJECTS, Subject, collate

PROMPTS = [(1,), (1, 5, 7, 9), (1, 4, 4), (1, 11, 3, 6, 8, 10), (1, 12)]
SOURCES = [(5, 6, 7), (4,), (9, 3, 12, 8, 11, 4, 7), (10, 10), (3, 4, 5, 6, 7, 8, 9, 10, 11)]
PADDED_WITH = 12  # any symbol at all: padding is not read


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject.name)
def model(request: pytest.FixtureRequest) -> Iterator[Any]:
    subject: Subject = request.param
    with torch.inference_mode():
        yield subject.build()


def together(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, texts))
    padded = [[*text, *[PADDED_WITH] * (longest - len(text))] for text in texts]
    return torch.tensor(padded), torch.tensor([len(text) for text in texts])


@dataclass
class Batch:
    """Rows by the number of their sentence, decoded greedily; the logits behind every choice are kept."""

    model: Any
    rows: list[int] = field(default_factory=list)
    state: Any = None
    seen: dict[int, list[Tensor]] = field(default_factory=dict)
    said: dict[int, list[int]] = field(default_factory=dict)

    def enter(self, *sentences: int) -> None:
        """Reads the prompts of new rows, which then join those that are there."""
        state = self.model.start(collate(self.model, [SOURCES[number] for number in sentences]))
        tokens_BT, lengths_B = together([PROMPTS[number] for number in sentences])
        logits_BTW, state = self.model.step(tokens_BT, state, lengths_B)
        self.state = state if self.state is None else self.state.join(state)
        self.rows += sentences
        self.choose(sentences, logits_BTW[torch.arange(len(sentences)), lengths_B - 1])

    def leave(self, *sentences: int) -> None:
        kept = [place for place, number in enumerate(self.rows) if number not in sentences]
        self.state = self.state.reorder(torch.tensor(kept))
        self.rows = [self.rows[place] for place in kept]

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            tokens_B1 = torch.tensor([[self.said[number][-1]] for number in self.rows])
            logits_B1W, self.state = self.model.step(tokens_B1, self.state)
            self.choose(self.rows, logits_B1W[:, -1])

    def choose(self, sentences: Sequence[int], logits_BW: Tensor) -> None:
        for number, logits_W in zip(sentences, logits_BW, strict=True):
            self.seen.setdefault(number, []).append(logits_W)
            self.said.setdefault(number, []).append(int(logits_W.argmax()))


def alone(model: Any, number: int, steps: int) -> Batch:
    """One sentence by itself, its prompt read token by token."""
    state = model.start(collate(model, [SOURCES[number]]))
    for token in PROMPTS[number][:-1]:
        _, state = model.step(torch.tensor([[token]]), state)
    batch = Batch(model, [number], state, said={number: [PROMPTS[number][-1]]})
    batch.go_on(steps)
    batch.said[number].pop(0)
    return batch


def same_as_alone(batch: Batch) -> None:
    for number, logits in batch.seen.items():
        expected = alone(batch.model, number, len(logits))
        assert batch.said[number] == expected.said[number]
        torch.testing.assert_close(
            torch.stack(logits), torch.stack(expected.seen[number]), atol=2e-5, rtol=1e-4
        )


def test_prompts_of_different_lengths_share_a_batch(model: Any) -> None:
    batch = Batch(model)
    batch.enter(0, 1, 2, 3, 4)
    batch.go_on(4)
    same_as_alone(batch)


def test_who_joins_and_leaves_changes_nobody_elses_answer(model: Any) -> None:
    batch = Batch(model)
    batch.enter(2, 0)
    batch.go_on(3)
    batch.enter(3)
    batch.go_on(2)
    batch.leave(2)
    batch.go_on(1)
    batch.enter(1, 4)
    batch.leave(0)
    batch.go_on(2)
    batch.leave(3, 1)
    batch.go_on(13)
    assert {number: len(own) for number, own in batch.said.items()} == {0: 7, 1: 3, 2: 6, 3: 6, 4: 16}
    same_as_alone(batch)


def test_rows_that_become_equally_old_go_on_together(model: Any) -> None:
    """Sentence 2 has three tokens and sentence 4 two: a step later they are of one age."""
    batch = Batch(model)
    batch.enter(4)
    batch.go_on(1)
    batch.enter(2)
    batch.go_on(2)
    same_as_alone(batch)


def test_a_stretch_is_read_by_some_rows_while_others_have_no_token_in_it(model: Any) -> None:
    texts = [(1, 5, 7), (1,), (1, 9, 9, 4)]
    more = [(8, 3), (), (6,)]
    state = model.start(collate(model, SOURCES[:3]))
    _, state = model.step(*_fed(texts, state))
    _, state = model.step(*_fed(more, state))
    logits_B1W, _ = model.step(torch.full((3, 1), 10), state)
    for number, (text, rest) in enumerate(zip(texts, more)):
        by_itself = model.start(collate(model, [SOURCES[number]]))
        expected, _ = model.step(torch.tensor([[*text, *rest, 10]]), by_itself)
        torch.testing.assert_close(logits_B1W[number, -1], expected[0, -1], atol=2e-5, rtol=1e-4)


def _fed(texts: Sequence[Sequence[int]], state: Any) -> tuple[Tensor, Any, Tensor]:
    tokens_BT, lengths_B = together(texts)
    return tokens_BT, state, lengths_B


def test_beams_of_one_sentence_and_single_rows_share_a_batch(model: Any) -> None:
    """Three rows that share a source join two that have one each: whoever shares goes on as before."""
    state = model.start(collate(model, SOURCES[:1]))
    _, state = model.step(torch.tensor([PROMPTS[1]]), state)
    state = state.reorder(torch.tensor([0, 0, 0]))
    _, state = model.step(torch.tensor([[3], [4], [5]]), state)
    others = model.start(collate(model, SOURCES[1:3]))
    _, others = model.step(torch.tensor([[1], [1]]), others)
    logits_B1W, state = model.step(torch.tensor([[6], [7], [8], [9], [10]]), state.join(others))
    logits_B1W, _ = model.step(torch.tensor([[11], [12]]), state.reorder(torch.tensor([4, 1])))
    for found_W, source, text in zip(logits_B1W[:, -1], (2, 0), ((1, 10, 11), (*PROMPTS[1], 4, 7, 12))):
        expected, _ = model.step(torch.tensor([text]), model.start(collate(model, [SOURCES[source]])))
        torch.testing.assert_close(found_W, expected[0, -1], atol=2e-5, rtol=1e-4)

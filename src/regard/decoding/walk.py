"""The loop that greedy decoding and sampling share: rows are decoded independently of one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.sentences import Sentences, Symbols
from regard.decoding.top import check_choosable, next_log_probabilities
from regard.decoding.tree import ROOT, Tree


class Choose(Protocol):
    """tokens_BN for the running sentences, N ways each; at first a sentence has only one row of scores.

    ``logits_RW`` are the model's own, ``scores_RW`` their log-probabilities with what is forbidden at -inf.
    ``chosen_B`` says how many tokens each sentence has chosen when these are in; below 1, its choice is not heard.
    """

    def __call__(self, logits_RW: Tensor, scores_RW: Tensor, chosen_B: Tensor, running_B: Tensor) -> Tensor: ...


Watch = Callable[[Tensor, Tensor], "Tensor | None"]
"""Is shown the running sentences and their new tokens_BN as they are chosen; says which ways end here, if any do."""


def walk(
    model: Decodable,
    sentences: Sentences,
    symbols: Symbols,
    rows: int,
    choose: Choose,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Goes ``rows`` ways from each sentence until all of its ways have ended or its limit is reached."""
    device = sentences.first_BT.device
    limits_B = torch.tensor(sentences.limits, device=device)
    running_B = torch.arange(len(limits_B), device=device)
    rest = _Rest(sentences, device)
    ways = _Ways(len(limits_B), rows, device)
    tree = Tree()
    tokens_RT, state = sentences.first_BT, model.start(sentences.source)
    for position in range(1, max(sentences.limits, default=0) + rest.longest + 1):
        logits_BTW, state = model.step(tokens_RT, state)
        scores_RW = next_log_probabilities(logits_BTW, symbols)
        check_choosable(scores_RW.amax(dim=1))
        chosen_B = position - rest.lengths_A[running_B]
        tokens_BN = choose(logits_BTW[:, -1], scores_RW, chosen_B, running_B)
        if position <= rest.longest:
            tokens_BN = rest.read(tokens_BN, chosen_B, running_B)
        gains_BN = scores_RW.gather(1, tokens_BN.view(len(scores_RW), -1)).view_as(tokens_BN)
        ended_BN = ways.go_on(running_B, tokens_BN, gains_BN, symbols.end, tree, chosen_B < 1)
        heard_B = chosen_B >= 1  # what is read of an opening was not chosen
        if watch is not None and bool(heard_B.any()):
            halted_BN = watch(running_B[heard_B], tokens_BN[heard_B])
            if halted_BN is not None:
                ended_BN[heard_B] |= halted_BN
                ended_BN = ways.end(running_B, ended_BN)
        keep_B = ~ended_BN.all(dim=1) & (limits_B[running_B] > chosen_B)
        lead_BN = _leaders(ended_BN)
        tokens_RT = tokens_BN.gather(1, lead_BN)[keep_B].view(-1, 1)
        if not len(tokens_RT):
            break
        row_R = torch.arange(len(scores_RW), device=device)
        wanted_R = row_R.view(len(running_B), -1).expand_as(lead_BN).gather(1, lead_BN)[keep_B].flatten()
        if not torch.equal(wanted_R, row_R):
            state = state.reorder(wanted_R)
        running_B = running_B[keep_B]
    return ways.hypotheses(tree)


class _Rest:
    """What is left of the longer openings after the first tokens: it is read, not chosen."""

    def __init__(self, sentences: Sentences, device: torch.device) -> None:
        rest = sentences.rest or ((),) * len(sentences.limits)
        self.lengths_A = torch.tensor([len(own) for own in rest], dtype=torch.long, device=device)
        self.longest = max(map(len, rest), default=0)
        padded = [[*own, *[0] * (self.longest - len(own))] for own in rest]
        self.tokens_AT = torch.tensor(padded, dtype=torch.long, device=device).view(len(rest), self.longest)

    def read(self, tokens_BN: Tensor, chosen_B: Tensor, running_B: Tensor) -> Tensor:
        """The opening's own tokens where a sentence has not come to its end yet."""
        place_B = (self.lengths_A[running_B] + chosen_B - 1).clamp(max=self.longest - 1)
        given_B1 = self.tokens_AT[running_B, place_B][:, None]
        return torch.where((chosen_B < 1)[:, None], given_B1, tokens_BN)


def _leaders(ended_BN: Tensor) -> Tensor:
    """Whom each way follows: itself, or, when it has ended, the first of its sentence that has not.

    The rows of a sentence stay equal in number, and a model is never asked what comes after the end.
    """
    own_BN = torch.arange(ended_BN.shape[1], device=ended_BN.device).expand_as(ended_BN)
    first_living_B1 = ended_BN.to(torch.int8).argmin(dim=1, keepdim=True)
    return torch.where(ended_BN, first_living_B1, own_BN)


class _Ways:
    """Where every way of every sentence stands: its log-probability, its last node, whether it has ended."""

    def __init__(self, sentences: int, rows: int, device: torch.device) -> None:
        self.total_AN = torch.zeros(sentences, rows, device=device)
        self.node_AN = torch.full((sentences, rows), ROOT, device=device)
        self.ended_AN = torch.zeros(sentences, rows, dtype=torch.bool, device=device)

    def go_on(
        self, running_B: Tensor, tokens_BN: Tensor, gains_BN: Tensor, end: int, tree: Tree, reading_B: Tensor
    ) -> Tensor:
        """One token further on each way that has not ended; returns which ways have ended now.

        Sentences that are still ``reading`` their opening have chosen nothing.
        """
        before_BN, node_BN = self.ended_AN[running_B], self.node_AN[running_B]
        reading_B1 = reading_B[:, None]
        ended_BN = before_BN | ((tokens_BN == end) & ~reading_B1)
        self.total_AN[running_B] += gains_BN.masked_fill(before_BN | reading_B1, 0.0)
        self.node_AN[running_B] = torch.where(ended_BN | reading_B1, node_BN, tree.grow(node_BN, tokens_BN))
        return self.end(running_B, ended_BN)

    def end(self, running_B: Tensor, ended_BN: Tensor) -> Tensor:
        self.ended_AN[running_B] = ended_BN
        return ended_BN

    def hypotheses(self, tree: Tree) -> list[list[Hypothesis]]:
        path = tree.reader()
        columns = zip(self.node_AN.tolist(), self.total_AN.tolist(), self.ended_AN.tolist())
        return [
            ranked([Hypothesis(path(node), total, total, ended) for node, total, ended in zip(*ways)])
            for ways in columns
        ]


def ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Finished ones first, an answer that was cut off is worth less than a whole one; then by score."""
    return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))

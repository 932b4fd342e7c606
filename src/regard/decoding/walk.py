"""Rows that go each their own way, without competing: the loop that greedy choice and sampling share."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.sentences import Sentences, Symbols
from regard.decoding.top import next_log_probabilities, refuse_nothing
from regard.decoding.tree import ROOT, Tree


class Choose(Protocol):
    """tokens_BN for the running sentences, N ways each; at first a sentence has only one row of scores."""

    def __call__(self, scores_RW: Tensor, position: int, running_B: Tensor) -> Tensor: ...


def walk(
    model: Decodable, sentences: Sentences, symbols: Symbols, rows: int, choose: Choose
) -> list[list[Hypothesis]]:
    """Goes ``rows`` ways from each sentence until all of its ways have ended or its limit is reached."""
    device = sentences.first_BT.device
    limits_B = torch.tensor(sentences.limits, device=device)
    running_B = torch.arange(len(limits_B), device=device)
    ways = _Ways(len(limits_B), rows, device)
    tree = Tree()
    tokens_RT, state = sentences.first_BT, model.start(sentences.source)
    for position in range(1, max(sentences.limits, default=0) + 1):
        logits_BTW, state = model.step(tokens_RT, state)
        scores_RW = next_log_probabilities(logits_BTW, symbols)
        refuse_nothing(scores_RW.amax(dim=1))
        tokens_BN = choose(scores_RW, position, running_B)
        gains_BN = scores_RW.gather(1, tokens_BN.view(len(scores_RW), -1)).view_as(tokens_BN)
        ended_BN = ways.go_on(running_B, tokens_BN, gains_BN, symbols.end, tree)
        keep_B = ~ended_BN.all(dim=1) & (limits_B[running_B] > position)
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

    def go_on(self, running_B: Tensor, tokens_BN: Tensor, gains_BN: Tensor, end: int, tree: Tree) -> Tensor:
        """One token further on each way that has not ended; returns which ways have ended now."""
        before_BN, node_BN = self.ended_AN[running_B], self.node_AN[running_B]
        ended_BN = before_BN | (tokens_BN == end)
        self.total_AN[running_B] += gains_BN.masked_fill(before_BN, 0.0)
        self.node_AN[running_B] = torch.where(ended_BN, node_BN, tree.grow(node_BN, tokens_BN))
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

"""The finished and running hypotheses that a beam search has found for each sentence, the best in order."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.core.seams import Hypothesis
from regard.decoding.top import IMPOSSIBLE
from regard.decoding.tree import ROOT, Tree


class Pool:
    """The best ``size`` hypotheses of each sentence, best first; an empty place scores -inf."""

    def __init__(self, sentences: int, size: int, device: torch.device) -> None:
        shape = (sentences, size)
        self.score_AN = torch.full(shape, IMPOSSIBLE, device=device)
        self.total_AN = torch.full(shape, IMPOSSIBLE, device=device)
        self.node_AN = torch.full(shape, ROOT, device=device)

    def add(self, sentence_B: Tensor, total_BC: Tensor, penalty: float, node_BC: Tensor) -> None:
        """Candidates for the given sentences; of equal scores those that came earlier stay ahead."""
        score_BC = torch.cat([self.score_AN[sentence_B], total_BC / penalty], dim=1)
        total_BC = torch.cat([self.total_AN[sentence_B], total_BC], dim=1)
        node_BC = torch.cat([self.node_AN[sentence_B], node_BC], dim=1)
        score_BC, order_BC = score_BC.sort(dim=1, descending=True, stable=True)
        size = self.score_AN.shape[1]
        self.score_AN[sentence_B] = score_BC[:, :size]
        self.total_AN[sentence_B] = total_BC.gather(1, order_BC[:, :size])
        self.node_AN[sentence_B] = node_BC.gather(1, order_BC[:, :size])


def hypotheses(tree: Tree, finished: Pool, cut_off: Pool, count: int) -> list[list[Hypothesis]]:
    """The best ``count`` of each sentence: finished ones, then those that were cut off at their limit."""
    score_AN = torch.cat([finished.score_AN, cut_off.score_AN], dim=1)
    total_AN = torch.cat([finished.total_AN, cut_off.total_AN], dim=1)
    node_AN = torch.cat([finished.node_AN, cut_off.node_AN], dim=1)
    size = finished.score_AN.shape[1]
    path = tree.reader()
    answers = []
    for scores, totals, nodes in zip(score_AN.tolist(), total_AN.tolist(), node_AN.tolist()):
        places = [place for place, score in enumerate(scores) if score > IMPOSSIBLE][:count]
        answers.append([Hypothesis(path(nodes[n]), totals[n], scores[n], n < size) for n in places])
    return answers

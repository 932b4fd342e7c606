"""Beam search: the best prefixes of a sentence compete; finished ones are ranked with a length penalty."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.seams import Decodable, Hypothesis
from regard.decoding.options import Beam
from regard.decoding.pool import Pool, hypotheses
from regard.decoding.sentences import STANDARD, Sentences, Symbols
from regard.decoding.top import IMPOSSIBLE, check_choosable, next_log_probabilities, top_tokens
from regard.decoding.trace import Trace
from regard.decoding.tree import ROOT, Tree


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α, Wu et al. (2016), equation 14; |Y| counts the closing symbol."""
    return ((5 + length) / 6) ** alpha


def search(
    model: Decodable, sentences: Sentences, options: Beam, symbols: Symbols = STANDARD, trace: Trace | None = None
) -> list[list[Hypothesis]]:
    """The ``n_best`` answers of each sentence that a beam of ``size`` finds.

    Of equal scores the lower token comes first, then the earlier prefix; an answer that was finished earlier
    stays ahead. Answers that reached their limit unfinished follow after all finished ones.
    """
    assert not sentences.rest, "a beam opens a batch of answers with equally many tokens"
    contest = _BeamState(sentences, options, symbols, trace)
    tokens_RT, state = sentences.first_BT, model.start(sentences.source)
    for position in range(1, max(sentences.limits, default=0) + 1):
        logits_BTW, state = model.step(tokens_RT, state)
        tokens_RT, rows_R = contest.advance(next_log_probabilities(logits_BTW, symbols), position)
        if not len(rows_R):
            break
        state = state.reorder(rows_R)
    return hypotheses(contest.tree, contest.finished, contest.cut_off, options.n_best)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Prefixes with one more token, best first: their log-probability, the place of the prefix, the token."""

    total_BC: Tensor
    parent_BC: Tensor
    token_BC: Tensor


class _BeamState:
    """The living prefixes of the sentences that still run (N of each), and the answers gathered so far."""

    def __init__(self, sentences: Sentences, options: Beam, symbols: Symbols, trace: Trace | None) -> None:
        device, count = sentences.first_BT.device, len(sentences.limits)
        self.options, self.symbols, self.trace, self.names = options, symbols, trace, sentences.indices
        longest = [length_penalty(limit, options.length_penalty) for limit in sentences.limits]
        self.limit_A = torch.tensor(sentences.limits, device=device)
        self.longest_penalty_A = torch.tensor(longest, device=device)
        self.finished = Pool(count, options.size, device)
        self.cut_off = Pool(count, options.size, device)
        self.tree = Tree()
        self.running_B = torch.arange(count, device=device)
        self.total_BN = torch.zeros(count, 1, device=device)
        self.node_BN = torch.full((count, 1), ROOT, device=device)

    def advance(self, scores_RW: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """One token further: the tokens_R1 of the prefixes that live on, and the rows that they continue."""
        best = self._candidates(scores_RW)
        ended_BC = best.token_BC == self.symbols.end
        # Only among the best ``size`` does an ending count: a beam of one then ends where greedy choice does.
        ended_well_BC = ended_BC.clone()
        ended_well_BC[:, self.options.size :] = False
        penalty = length_penalty(position, self.options.length_penalty)
        if self.trace is not None:
            self._record(best, ended_BC, ended_well_BC, position, penalty)
        if ended_well_BC.any():
            total_BC = best.total_BC.masked_fill(~ended_well_BC, IMPOSSIBLE)
            self.finished.add(self.running_B, total_BC, penalty, self.node_BN.gather(1, best.parent_BC))
        alive = _survivors(best, ended_BC, self.options.size)
        width = self.total_BN.shape[1]
        row_BN = alive.parent_BC + torch.arange(len(alive.parent_BC), device=ended_BC.device)[:, None] * width
        self.total_BN = alive.total_BC
        self.node_BN = self.tree.grow(self.node_BN.gather(1, alive.parent_BC), alive.token_BC)
        keep_B = self._close(position, penalty)
        return alive.token_BC[keep_B].view(-1, 1), row_BN[keep_B].flatten()

    def _candidates(self, scores_RW: Tensor) -> _Candidates:
        """The best 2 × size continuations of a sentence: at most ``size`` end here, so ``size`` live on."""
        size, (sentences, width) = self.options.size, self.total_BN.shape
        # Of one prefix no more than its best ``size`` and its ending can matter.
        gain_RK, token_RK = top_tokens(scores_RW, size + 1)
        check_choosable(gain_RK[:, 0])
        count = gain_RK.shape[1]
        total_BC = (self.total_BN.reshape(-1, 1) + gain_RK).view(sentences, width * count)
        # Two stable sorts, by token, then by log-probability: equals stay in the order of their tokens.
        token_BC, by_token_BC = token_RK.reshape(sentences, -1).sort(dim=1, stable=True)
        total_BC, order_BC = total_BC.gather(1, by_token_BC).sort(dim=1, descending=True, stable=True)
        total_BC, order_BC = total_BC[:, : 2 * size], order_BC[:, : 2 * size]
        parent_BC = by_token_BC.gather(1, order_BC) // count
        return _Candidates(total_BC, parent_BC, token_BC.gather(1, order_BC))

    def _close(self, position: int, penalty: float) -> Tensor:
        """Drops the sentences that are done and returns which ones run on."""
        at_limit_B = self.limit_A[self.running_B] <= position
        if at_limit_B.any():
            total_BN, node_BN = self.total_BN[at_limit_B], self.node_BN[at_limit_B]
            self.cut_off.add(self.running_B[at_limit_B], total_BN, penalty, node_BN)
        keep_B = ~(at_limit_B | self._settled(position))
        self.running_B, self.total_BN = self.running_B[keep_B], self.total_BN[keep_B]
        self.node_BN = self.node_BN[keep_B]
        return keep_B

    def _settled(self, position: int) -> Tensor:
        """Whether nothing that can still happen would change a sentence's answer.

        A log-probability never rises and the penalty grows with length, so the most that a living prefix
        can still score is what it has now, divided by the penalty of the longest answer that is allowed. It is
        likely to score no more than if it ended at once.
        """
        score_BN = self.finished.score_AN[self.running_B]
        penalty_B: Tensor | float = self.longest_penalty_A[self.running_B]
        if self.options.stop == "likely":
            penalty_B = length_penalty(position + 1, self.options.length_penalty)
        settled_B = self.total_BN[:, 0] / penalty_B <= score_BN[:, self.options.n_best - 1]
        if self.options.stop == "full":
            settled_B |= score_BN[:, -1] > IMPOSSIBLE
        return settled_B

    def _record(
        self, best: _Candidates, ended_BC: Tensor, ended_well_BC: Tensor, position: int, penalty: float
    ) -> None:
        assert self.trace is not None
        alive_BC = ~_dead(best, ended_BC)
        rank_BC = alive_BC.cumsum(dim=1)
        place_BC = (rank_BC - 1).masked_fill(~alive_BC | (rank_BC > self.options.size), -1)
        gain_BC = best.total_BC - self.total_BN.gather(1, best.parent_BC)
        names = [self.names[sentence] for sentence in self.running_B.tolist()]
        columns = (best.parent_BC, best.token_BC, gain_BC, best.total_BC, place_BC, ended_well_BC)
        self.trace.record(names, position, penalty, columns)


def _dead(best: _Candidates, ended_BC: Tensor) -> Tensor:
    return ended_BC | (best.total_BC == IMPOSSIBLE)


def _survivors(best: _Candidates, ended_BC: Tensor, size: int) -> _Candidates:
    """The best ``size`` candidates that have not ended.

    A small vocabulary may not fill a beam. Empty places then repeat the first one, which keeps their state
    sound, and have no probability, which keeps them from ever counting.
    """
    dead_BC = _dead(best, ended_BC)
    order_BC = dead_BC.to(torch.int8).sort(dim=1, stable=True).indices
    place_N = torch.arange(size, device=dead_BC.device)
    empty_BN = place_N >= (~dead_BC).sum(dim=1, keepdim=True)
    place_BN = order_BC.gather(1, place_N.expand_as(empty_BN).masked_fill(empty_BN, 0))
    total_BN = best.total_BC.gather(1, place_BN).masked_fill(empty_BN, IMPOSSIBLE)
    return _Candidates(total_BN, best.parent_BC.gather(1, place_BN), best.token_BC.gather(1, place_BN))

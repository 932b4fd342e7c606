"""How far a recurrent decoder's attention reaches: everywhere, or a window that walks along or is predicted."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.attention import ReachPart, formulas
from regard.attention.masks import Mask
from regard.attention.mechanism import MatrixMechanism
from regard.attention.softmax import Softmax, softmax_weights
from regard.core.seams import Mechanism


class Monotonic(MatrixMechanism):
    """Local-m: step t looks at the positions t − D … t + D (Luong et al. 2015, section 3.2)."""

    def __init__(self, score: nn.Module, window: int) -> None:
        super().__init__()
        self.score = score
        self.window = window

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        near = Mask(window=self.window + 1).at(mask.places)
        return softmax_weights(self.score(q_BHTK, k_BHSK), mask & near, bias)


class Predictive(MatrixMechanism):
    """Local-p: the query itself says where to look, p_t = S · sigmoid(v_pᵀ tanh(W_p q)), and a Gaussian around
    p_t favours what is near (Luong et al. 2015, eq. 9 and 10). As published, the weights within the window are
    multiplied by the Gaussian after the softmax, so a row sums to one at most.
    """

    def __init__(self, score: nn.Module, window: int, query_width: int) -> None:
        super().__init__()
        self.score = score
        self.window = window
        self.inner = nn.Linear(query_width, query_width, bias=False)
        self.outer = nn.Linear(query_width, 1, bias=False)

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        positions_S = torch.arange(k_BHSK.shape[-2], device=k_BHSK.device)
        centre_BHT1 = self.centre(q_BHTK, mask, len(positions_S))
        near = Mask(dense_BHTS=(positions_S - centre_BHT1).abs() <= self.window).at(mask.places)
        weights_BHTS = softmax_weights(self.score(q_BHTK, k_BHSK), mask & near, bias)
        return weights_BHTS * formulas.gaussian(positions_S, centre_BHT1, self.window)

    def centre(self, q_BHTK: Tensor, mask: Mask, keys: int) -> Tensor:
        """p_t, between the first position and just behind the last one that exists."""
        lengths: Tensor | int = keys if mask.lengths_B is None else mask.lengths_B[:, None, None, None]
        return lengths * torch.sigmoid(self.outer(torch.tanh(self.inner(q_BHTK))))


class GlobalConfig(ReachPart):
    """Every source position may be read at every step."""

    kind: str = "global"

    def build(self, score: nn.Module, query_width: int) -> Mechanism:
        return Softmax(score)


class MonotonicConfig(ReachPart):
    """A window of 2D + 1 positions that walks along with the target."""

    kind: str = "monotonic"
    window: int = Field(10, ge=1)  # D

    def build(self, score: nn.Module, query_width: int) -> Mechanism:
        return Monotonic(score, self.window)


class PredictiveConfig(ReachPart):
    """A window of 2D + 1 positions around a place that the decoder predicts."""

    kind: str = "predictive"
    window: int = Field(10, ge=1)  # D

    def build(self, score: nn.Module, query_width: int) -> Mechanism:
        return Predictive(score, self.window, query_width)

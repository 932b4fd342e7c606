"""Softmax regression on numbers (pixels): one linear layer, fitted to the end with all examples at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

STEPS = 60
LEAST_SPREAD = 1e-6


class SoftmaxRegression(NamedTuple):
    """W (x − mean) / spread + b."""

    mean_F: Tensor
    spread_F: Tensor
    weights_CF: Tensor
    bias_C: Tensor

    def logits(self, features_NF: np.ndarray) -> Tensor:
        x_NF = (torch.from_numpy(features_NF).float() - self.mean_F) / self.spread_F
        return functional.linear(x_NF, self.weights_CF, self.bias_C)

    def predict(self, features_NF: np.ndarray) -> np.ndarray:
        return self.logits(features_NF).argmax(dim=1).numpy()


def fit_softmax_regression(
    features_NF: np.ndarray, labels_N: np.ndarray, classes: int, strength: float = 1.0, spread: float = 0.0
) -> SoftmaxRegression:
    """The least cross-entropy plus ``strength`` · ‖W‖² / 2N, from weights of 0 by L-BFGS: the same data gives the same
    weights. Every feature is brought to a spread of 1; with ``spread`` those alone that spread wider are brought to it,
    as is better for counts: what hardly ever occurs would become large otherwise."""
    features, labels = torch.from_numpy(features_NF).float(), torch.from_numpy(labels_N)
    mean_F, spread_F = features.mean(dim=0), features.std(dim=0, correction=0)
    if spread:
        spread_F = (spread_F / spread).clamp(min=1.0)
    spread_F = torch.where(spread_F < LEAST_SPREAD, torch.ones(()), spread_F)  # a pixel that never changes says nothing
    x_NF = (features - mean_F) / spread_F
    weights_CF = torch.zeros(classes, features.shape[1], requires_grad=True)
    bias_C = torch.zeros(classes, requires_grad=True)
    search = torch.optim.LBFGS([weights_CF, bias_C], max_iter=STEPS, max_eval=2 * STEPS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        search.zero_grad()
        loss = functional.cross_entropy(functional.linear(x_NF, weights_CF, bias_C), labels)
        loss = loss + strength * weights_CF.square().sum() / (2 * len(labels))
        loss.backward()
        return loss

    search.step(closure)
    return SoftmaxRegression(mean_F, spread_F, weights_CF.detach(), bias_C.detach())

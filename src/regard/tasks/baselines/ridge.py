"""Ridge regression: numbers as weighted sums of features, with weights that are kept small (Hoerl & Kennard 1970)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PENALTIES = tuple(10.0**power for power in range(-3, 6))
LEAST_SPREAD = 1e-6


class Ridge(NamedTuple):
    """W (x − mean) / spread + b."""

    mean_F: np.ndarray
    spread_F: np.ndarray
    weights_FC: np.ndarray
    bias_C: np.ndarray
    penalty: float

    def predict(self, features_NF: np.ndarray) -> np.ndarray:
        return (features_NF - self.mean_F) / self.spread_F @ self.weights_FC + self.bias_C


def fit_ridge(features_NF: np.ndarray, numbers_NC: np.ndarray) -> Ridge:
    """The least squared errors plus penalty · ‖W‖²; of nine powers of ten the penalty under which each example is
    best estimated by the others (leave-one-out, in closed form by one singular value decomposition)."""
    mean_F, spread_F = features_NF.mean(axis=0), features_NF.std(axis=0)
    spread_F = np.where(spread_F < LEAST_SPREAD, 1.0, spread_F)
    x_NF, bias_C = (features_NF - mean_F) / spread_F, numbers_NC.mean(axis=0)
    y_NC = numbers_NC - bias_C
    u_NR, s_R, v_RF = np.linalg.svd(x_NF, full_matrices=False)
    uy_RC, found = u_NR.T @ y_NC, []
    for penalty in PENALTIES:
        shrunk_R = s_R**2 / (s_R**2 + penalty)
        leverage_N = np.square(u_NR) @ shrunk_R + 1 / len(y_NC)
        left_out_NC = (y_NC - u_NR @ (shrunk_R[:, None] * uy_RC)) / np.maximum(1 - leverage_N, 1e-9)[:, None]
        found.append((float(np.square(left_out_NC).mean()), penalty))
    penalty = min(found)[1]
    weights_FC = v_RF.T @ ((s_R / (s_R**2 + penalty))[:, None] * uy_RC)
    return Ridge(mean_F, spread_F, weights_FC, bias_C, penalty)

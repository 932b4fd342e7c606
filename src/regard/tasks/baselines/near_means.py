"""The class whose examples are, on the average, nearest to what is asked about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class NearestMean(NamedTuple):
    """argmin_c ‖x − mean_c‖, over classes that were seen."""

    means_CF: np.ndarray
    classes_C: np.ndarray

    def predict(self, features_NF: np.ndarray) -> np.ndarray:
        # ‖x‖² is the same for all classes
        far_NC = np.square(self.means_CF).sum(axis=1) - 2 * features_NF @ self.means_CF.T
        return self.classes_C[far_NC.argmin(axis=1)]


def fit_nearest_mean(features_NF: np.ndarray, labels_N: np.ndarray) -> NearestMean:
    classes_C = np.unique(labels_N)
    return NearestMean(np.stack([features_NF[labels_N == one].mean(axis=0) for one in classes_C]), classes_C)

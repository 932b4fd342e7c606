"""Dynamic time warping: how far two series are apart when either may wait for the other (Sakoe & Chiba 1978)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def nearest(series_NC: np.ndarray, others: Sequence[np.ndarray]) -> int:
    """The place of the one among the others (others_MC of any lengths) that is nearest under time warping."""
    return int(np.argmin(warped_distances(series_NC, others)))


def warped_distances(series_NC: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """distance_O to each: the least sum of squared distances along a path of steps that goes on in either series or in
    both. All others are gone through at once; what is padded comes after each one's own end."""
    lengths_O = np.array([len(one) for one in others])
    padded_OMC = np.zeros((len(others), lengths_O.max(), series_NC.shape[1]))
    for place, one in enumerate(others):
        padded_OMC[place, : len(one)] = one
    path_OM = np.full((len(others), padded_OMC.shape[1] + 1), np.inf)
    path_OM[:, 0] = 0.0
    for value_C in series_NC:
        cost_OM = ((padded_OMC - value_C) ** 2).sum(axis=2)
        before_OM, path_OM = path_OM, np.full_like(path_OM, np.inf)
        for column in range(cost_OM.shape[1]):
            least_O = np.minimum(np.minimum(before_OM[:, column], before_OM[:, column + 1]), path_OM[:, column])
            path_OM[:, column + 1] = cost_OM[:, column] + least_O
    return path_OM[np.arange(len(others)), lengths_O]

"""The final weights of a training: the last ones, an average of checkpoints, or the best by validation loss."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from regard.core.errors import TrainingError
from regard.training import checkpoints


def best_folder(folder: Path) -> Path:
    """Where the weights with the best validation loss so far are kept, beside the checkpoints."""
    return folder / "best"


def averaged_weights(folder: Path, count: int) -> dict[str, Tensor]:
    """The mean of the last ``count`` checkpoints, each of which must be whole."""
    last = checkpoints.folders(folder)[-count:]
    damaged = checkpoints.first_damaged_checkpoint(last)
    if damaged is not None:
        later = [str(one) for one in last if one >= damaged.folder]
        raise TrainingError(
            f"{damaged.complaint}, and it belongs to the average with which this run ends. Remove it and those "
            f"after it, and --resume trains them again: {' '.join(later)}"
        )
    return checkpoints.average(last)


def best_weights(folder: Path) -> dict[str, Tensor] | None:
    """The weights with the best validation loss; None where none were kept."""
    kept = best_folder(folder)
    if not kept.exists():
        return None
    damaged = checkpoints.first_damaged_checkpoint([kept])
    if damaged is not None:
        raise TrainingError(
            f"{damaged.complaint}, and it holds the best weights, with which this run ends. Remove {kept}, and "
            "--resume ends with the last ones"
        )
    return checkpoints.load(kept).weights

"""What a new model computes from training inputs before its first step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from regard.core.errors import DataError
from regard.core.seams.modality import Modality
from regard.core.seams.modules import FitsInputs
from regard.data.examples import HasLabel
from regard.training import checkpoints

SAMPLE = 512
"""Training examples, evenly taken."""


def fit_to_inputs(model: nn.Module, examples: Sequence[Any], modality: Modality, kept: Path) -> None:
    """For all modules that learn from inputs themselves; a checkpoint in ``kept`` has their weights already."""
    modules = [module for module in model.modules() if isinstance(module, FitsInputs)]
    if not modules or checkpoints.latest(kept)[0] is not None:
        return
    places = np.unique(np.linspace(0, len(examples) - 1, SAMPLE).astype(int))
    chosen = [examples[place] for place in places]
    if not all(isinstance(one, HasLabel) for one in chosen):
        names = ", ".join(sorted({type(module).__name__ for module in modules}))
        raise DataError(f"{names} is computed from labelled inputs, and there are none; take it out of model.front")
    inputs = modality.collate(modality.encode([one.input for one in chosen]))
    for module in modules:
        module.fit_inputs(inputs)

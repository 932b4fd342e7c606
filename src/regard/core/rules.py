"""The rules by which defaults and automatic recipes are decided: pure functions of sizes, amounts of data and time.

Each says what it was measured on. Nothing else in the house chooses a number for a user.
"""

from __future__ import annotations

import math

# -- the shape of a model ------------------------------------------------------------------------------------------


def heads(width: int) -> int:
    """Heads of 64 numbers, as Vaswani et al. (2017) have them; narrow models have four at least, of 16 or more."""
    most = max(1, min(4, width // 16), width // 64)
    return next(count for count in range(most, 0, -1) if width % count == 0)


def hidden_width(width: int) -> int:
    """A feed-forward network four times as wide as its model (Vaswani et al. 2017, section 3.3)."""
    return 4 * width


def gated_hidden_width(width: int) -> int:
    """A gated one has three matrices for two: 8/3 of the width has as many weights (Shazeer 2020), in eighths."""
    return max(8, round(8 * width / 3 / 8) * 8)


# -- the course of training ----------------------------------------------------------------------------------------


def warmup(steps: int) -> int:
    """A twentieth of training, 400 steps at most: with small steps of clipped gradients more is lost time."""
    return max(1, min(400, steps // 20))


def paper_warmup(steps: int) -> int:
    """The 4,000 of 100,000 steps of Vaswani et al. (2017), a tenth of a shorter training."""
    return max(1, min(4000, steps // 10))


def validations(steps: int) -> int:
    """Steps between validations: ten points of a curve."""
    return max(1, steps // 10)


def dropout(epochs: float) -> float:
    """The more often an example is seen again, the more is dropped; what is seen once needs none.

    On 29,000 captions: 0.1 after 3 epochs, 0.375 after 33.
    """
    if epochs <= 1:
        return 0.0
    return round(min(0.4, 0.1 * math.log2(epochs) * 0.75), 2)

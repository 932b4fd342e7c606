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


def adam_rate(width: int) -> float:
    """1e-3 for a model 128 wide, less with the root of the width, as in the schedule of Vaswani et al. (2017)."""
    return round(1e-3 * min(1.0, (128 / width) ** 0.5), 6)


def muon_rate(width: int) -> float:
    """Steps of one size for every width (Liu et al. 2025): 3e-3 to 4e-3 were best for models 128 to 384 wide."""
    return 4e-3 if width <= 256 else round(4e-3 * (256 / width) ** 0.5, 6)


def batch_tokens(examples: int, positions: int) -> int:
    """2,048 tokens or 64 pictures, fewer where an epoch would have less than 50 steps, 8 examples at the least."""
    if positions <= examples:  # whole pictures
        return max(8, min(64, examples // 50))
    each = -(-positions // max(1, examples))
    return max(8 * each, min(2048, positions // 50))


def steps(examples: int, positions: int, batch: int) -> int:
    """Thirty epochs, but no more than what two cores do in some half an hour: 20 million tokens, 600,000 pictures."""
    most = 600_000 if positions <= examples else 20_000_000
    return max(300, min(30 * positions, most) // batch)


def warmup(steps: int) -> int:
    """A twentieth of training, 400 steps at most: with small steps of clipped gradients more is lost time."""
    return max(1, min(400, steps // 20))


def paper_warmup(steps: int) -> int:
    """The 4,000 of 100,000 steps of Vaswani et al. (2017), a tenth of a shorter training."""
    return max(1, min(4000, steps // 10))


VALIDATIONS = 10
"""Points of a curve."""


def validate_every(steps: int) -> int:
    """Steps between validations."""
    return max(1, steps // VALIDATIONS)


USUAL_DROPOUT = 0.1
"""Where nothing is known of the data (Vaswani et al. 2017, section 5.4)."""


def dropout(epochs: float) -> float:
    """The more often an example is seen again, the more is dropped; what is seen once needs none.

    On 29,000 captions: 0.1 after 3 epochs, 0.375 after 33.
    """
    if epochs <= 1:
        return 0.0
    return round(min(0.4, 0.1 * math.log2(epochs) * 0.75), 2)

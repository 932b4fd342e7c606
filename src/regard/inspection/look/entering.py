"""What enters the first layer: the tokens' embeddings, what their positions add, and the sum."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from regard.inspection.look.packing import written_floats
from regard.inspection.recording import Record
from regard.layers.headed import body_of

TOKENS, WIDTH = 64, 1024  # the most that is drawn


@torch.inference_mode()
def entering(seen: Record, prefix: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Pictures for the page and their numbers; nothing of a model that keeps no embedding where it is looked for."""
    pictures, numbers = [], {}
    for (side, _, position), x_BTD in seen.embedded.items():
        places: Any = cast(Any, body_of(seen.model).get_submodule(position))
        x_TD, sum_TD = x_BTD[0], places.embed(x_BTD)[0]
        kept = slice(TOKENS), slice(WIDTH)
        key = f"{prefix}entering.{side}"
        numbers[key] = written_floats(x_TD[kept], (sum_TD - x_TD)[kept])
        pictures.append(
            {"side": side, "key": key, "rows": min(len(x_TD), TOKENS), "width": min(x_TD.shape[1], WIDTH),
             "all_rows": len(x_TD), "all_width": x_TD.shape[1], "added": _adds(sum_TD, x_TD)}
        )  # fmt: skip
    return pictures, numbers


def _adds(sum_TD: Tensor, x_TD: Tensor) -> bool:
    """Whether positions are added here at all; rotary ones and biases act later."""
    return not torch.equal(sum_TD, x_TD)

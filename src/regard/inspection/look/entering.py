"""What enters the first layer: the tokens' embeddings, what their positions add, and the sum."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.core.anatomy import anatomy_of
from regard.inspection.asking import Question
from regard.inspection.look.packing import written_floats
from regard.layers.headed import body_of
from regard.runs.load import Run

TOKENS, WIDTH = 64, 1024  # the most that is drawn

@torch.inference_mode()
def entering(run: Run, asked: Question, prefix: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Pictures for the page and their numbers; nothing of a model that keeps no embedding where it is looked for."""
    body = body_of(run.model)
    pictures, numbers = [], {}
    for side, embedding, position in anatomy_of(body).entrances:
        if not all(_is_there(body, path) for path in (embedding, position)):
            continue  # a head took the place of what writes
        embeds, places = (cast(Any, body.get_submodule(path)) for path in (embedding, position))
        ids = asked.source_ids if side == "source" else asked.ids
        x_TD = embeds(torch.tensor([ids], device=run.device))[0]
        sum_TD = places.embed(x_TD[None])[0]
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


def _is_there(model: nn.Module, path: str) -> bool:
    return any(name == path for name, _ in model.named_modules(remove_duplicate=False))

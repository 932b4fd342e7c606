"""What enters the first layer: the tokens' embeddings, what their positions add, and the sum."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.inspection.asking import Question
from regard.inspection.look.packing import written_floats
from regard.runs.load import Run

TOKENS, WIDTH = 64, 1024  # the most that is drawn
SIDES = (
    ("source", "source_embedding", "encoder.position"),
    ("tokens", "target_embedding", "decoder.position"),
    ("tokens", "embedding", "stack.position"),
    ("tokens", "embedding", "position"),
)
"""Which tokens they are, where a family keeps their embedding, and where the positions that go with it."""


@torch.inference_mode()
def entering(run: Run, asked: Question, prefix: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Pictures for the page and their numbers; nothing of a model that keeps no embedding where it is looked for."""
    body = "body." if hasattr(run.model, "body") else ""
    pictures, numbers = [], {}
    for side, embedding, position in SIDES:
        embeds, places = (_module(run.model, body + path) for path in (embedding, position))
        if embeds is None or places is None:
            continue
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


def _module(model: nn.Module, path: str) -> Any:
    try:
        return model.get_submodule(path)
    except AttributeError:
        return None

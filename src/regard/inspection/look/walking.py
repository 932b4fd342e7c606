"""Data for the walk from one query to its output: queries, keys, values, mask and bias of a head."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.attention.formulas import dot_scores, normalise
from regard.attention.softmax import DotScore, ScaledDot, ScaledDotScore, Softmax
from regard.core.taps import Attention
from regard.inspection.look.packing import written_floats

CLOSE = 1e-4  # how far the walk's weights may be from the mechanism's before it is no walk to them


def walk(attention: Attention, v_BHSV: Tensor, head: int, weights_TS: Tensor) -> Mapping[str, Any] | None:
    """The numbers of one head; None where its weights are no softmax of scores (a Gaussian took its share)."""
    q_TK = torch.cat([_head(q_BHTK, head) for q_BHTK, *_ in attention.calls])
    k_SK, v_SV = _head(attention.calls[-1][1], head), _head(v_BHSV, head)
    if len(k_SK) != weights_TS.shape[-1] or len(v_SV) != len(k_SK):
        return None
    divisor, temperature = _dividing(attention.mechanism, q_TK.shape[-1])
    parts: dict[str, Tensor] = {"q": q_TK, "k": k_SK, "v": v_SV}
    if divisor:
        scores_TS = dot_scores(q_TK, k_SK) / divisor
    elif isinstance(attention.mechanism, Softmax):
        scores_TS = attention.mechanism.score(q_TK[None, None], k_SK[None, None])[0, 0]
        parts["scores"] = scores_TS
    else:
        return None
    bias_TS, seen_TS = _beside(attention, head, *scores_TS.shape)
    if bias_TS is not None:
        parts["bias"], scores_TS = bias_TS, scores_TS + bias_TS
    mask = _mask_named(seen_TS)
    if mask == "given":
        parts["seen"] = seen_TS.float()
    if (normalise(scores_TS, seen_TS, temperature) - weights_TS).abs().max() > CLOSE:
        return None
    return {
        "shapes": {name: list(part.shape) for name, part in parts.items()},
        "divisor": divisor,
        "temperature": temperature,
        "mask": mask,
        "numbers": written_floats(*parts.values()),
    }


def _dividing(mechanism: Any, width: int) -> tuple[float, float]:
    """What q·k is divided by (0: the score is no product of the two), and the softmax's temperature."""
    if isinstance(mechanism, ScaledDot):
        return math.sqrt(width), 1.0
    if not isinstance(mechanism, Softmax):
        return 0.0, 1.0
    known = {DotScore: 1.0, ScaledDotScore: math.sqrt(width)}
    return known.get(type(mechanism.score), 0.0), mechanism.temperature


def _beside(attention: Attention, head: int, queries: int, keys: int) -> tuple[Tensor | None, Tensor]:
    """bias_TS, where there is one, and who may look at whom, over all calls."""
    biases, seen = [], []
    for q_BHTK, k_BHSK, mask, bias in attention.calls:
        rows, columns = q_BHTK.shape[-2], k_BHSK.shape[-2]
        may_look = mask.dense(rows, columns, q_BHTK.device)
        whole = torch.ones(1, 1, rows, columns, dtype=torch.bool) if may_look is None else may_look
        seen.append(_head(whole, head).expand(rows, columns).cpu())
        if bias is not None:
            shaped = bias.view((1,) * (4 - bias.dim()) + bias.shape)
            biases.append(_head(shaped, head).expand(rows, columns))
    assert sum(map(len, seen)) == queries
    return (torch.cat(biases) if biases else None), torch.cat(seen)


def _head(tensor_BHTX: Tensor, head: int) -> Tensor:
    """One head of the only sentence; what all heads share stands once."""
    return tensor_BHTX[0, head if tensor_BHTX.shape[1] > 1 else 0].cpu()


def _mask_named(seen_TS: Tensor) -> str:
    if bool(seen_TS.all()):
        return "none"
    rows, columns = seen_TS.shape
    causal = rows == columns and bool((seen_TS == torch.ones(rows, columns, dtype=torch.bool).tril()).all())
    return "causal" if causal else "given"

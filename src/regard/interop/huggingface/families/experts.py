"""Experts as Hugging Face writes them: three matrices for each, which stand in two of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from regard.interop.huggingface.tensors import Pairing, Same, Stacked


class ExpertNames(NamedTuple):
    """What a family calls the network of a layer, in it the gate's two halves and the way out of every expert."""

    block: str
    gate: str
    up: str
    down: str


def expert_tensors(table: Mapping[str, Any], names: ExpertNames) -> tuple[Pairing, ...]:
    """The router, and all experts below one another."""
    network, every = table["feed_forward"], range(table["feed_forward"]["experts"])
    inner = tuple(
        f"{names.block}.experts.{expert}.{name}.weight" for expert in every for name in (names.gate, names.up)
    )
    outer = tuple(f"{names.block}.experts.{expert}.{names.down}.weight" for expert in every)
    return (
        Pairing("feed_forward.router.weight", (f"{names.block}.gate.weight",)),
        Pairing("feed_forward.inner.weight", inner, _below(network["width"], len(inner))),
        Pairing("feed_forward.outer.weight", outer, _below(table["width"], len(outer))),
    )


def check_balance(table: Mapping[str, Any], problems: list[str]) -> None:
    """What acts in training only may differ; a bias changes which experts are chosen."""
    if table["feed_forward"]["balance"]["kind"] == "bias":
        problems.append("model.feed_forward.balance.kind = 'bias'; they choose experts by their scores only")


def _below(rows: int, count: int) -> Stacked:
    return Stacked((rows,) * count, (Same(),) * count)

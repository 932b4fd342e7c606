"""Edits a model for the length of a ``with`` block: heads off, other weights, patched activations.

A head is edited where its answer leaves the mechanism, before the heads are joined: what it would have written into
the residual stream changes, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import NoMatrix, OptionError
from regard.core.taps import arguments, attention_points, matching_modules
from regard.inspection.heads.names import HeadAt, check_heads, head_count

NewWeights = Callable[[Tensor], Tensor]
"""From the weights_BTS of a head to others."""
Held = Mapping[str | HeadAt, Sequence[Any]]
"""Outputs of modules (or heads), call by call, as ``taps.record_outputs`` (or ``taps.record_attention_outputs``) keeps
them."""
Edit = Callable[[dict[str, Any], Tensor, list[int] | None], Tensor]
"""From what a mechanism was asked, its answer out_BHTV, and the chosen heads (None: all it has) to another answer."""


@contextmanager
def scaled_heads(model: nn.Module, scales: Mapping[HeadAt, float]) -> Iterator[None]:
    """Multiplies what heads answer: 0 switches a head off, 1 leaves it."""

    def edit_of(name: str) -> Edit:
        own = {head: scale for (owner, head), scale in scales.items() if owner == name}

        def edit(asked: dict[str, Any], out_BHTV: Tensor, heads: list[int] | None) -> Tensor:
            if heads is None:
                return out_BHTV * own[0]
            factor_H = out_BHTV.new_ones(out_BHTV.shape[1])
            for head in heads:
                factor_H[head] = own[head]
            return out_BHTV * factor_H[:, None, None]

        return edit

    with _edited(model, list(scales), edit_of):
        yield


@contextmanager
def without_heads(model: nn.Module, heads: Iterable[HeadAt]) -> Iterator[None]:
    """Switches heads off."""
    with scaled_heads(model, dict.fromkeys(heads, 0.0)):
        yield


@contextmanager
def reweighted(model: nn.Module, heads: Iterable[HeadAt], change: NewWeights) -> Iterator[None]:
    """Lets heads read with other weights: ``change`` gets their exact weights_BTS, see ``uniform`` and ``permuted``."""

    def edit_of(name: str) -> Edit:
        mechanism: Any = attention_points(model)[name]
        if not mechanism.has_matrix:
            raise NoMatrix(f"{name}: {type(mechanism).__name__} never forms weights that could be exchanged")

        def edit(asked: dict[str, Any], out_BHTV: Tensor, heads: list[int] | None) -> Tensor:
            if asked.get("cache") is not None:
                raise OptionError(
                    f"{name}: {type(mechanism).__name__} goes on from a memory of its own, whose weights cannot be "
                    "exchanged; edit a pass over the whole text instead"
                )
            weights_BHTS = mechanism.weights(asked["q"], asked["k"], asked["mask"], asked.get("bias"))
            v_BHSV = asked["v"].expand(-1, weights_BHTS.shape[1], -1, -1)
            out_BHTV = out_BHTV.clone()
            for head in range(weights_BHTS.shape[1]) if heads is None else heads:
                out_BHTV[:, head] = change(weights_BHTS[:, head]) @ v_BHSV[:, head]
            return out_BHTV

        return edit

    with _edited(model, list(heads), edit_of):
        yield


def uniform(weights_BTS: Tensor) -> Tensor:
    """The same weight for every key that has any; the total of a row stays."""
    seen_BTS = weights_BTS > 0
    return seen_BTS * weights_BTS.sum(-1, keepdim=True) / seen_BTS.sum(-1, keepdim=True).clamp(min=1)


def permuted(seed: int) -> NewWeights:
    """The weights of every row in random order among the keys that have any."""
    generator = torch.Generator().manual_seed(seed)

    def change(weights_BTS: Tensor) -> Tensor:
        seen_BTS = weights_BTS > 0
        noise_BTS = torch.rand(weights_BTS.shape, generator=generator).to(weights_BTS.device)
        in_order_BTS = seen_BTS.int().argsort(dim=-1, descending=True, stable=True)  # those with weight stand first
        shuffled_BTS = noise_BTS.masked_fill(~seen_BTS, 2.0).argsort(dim=-1)
        return weights_BTS.scatter(-1, in_order_BTS, weights_BTS.gather(-1, shuffled_BTS))

    return change


@contextmanager
def patched(model: nn.Module, held: Held, rows: Sequence[int] | None = None) -> Iterator[None]:
    """Puts what was held of another input in the place of what the named modules, or heads, give now.

    Calls are played back in their order. With ``rows`` only these positions are exchanged; then the two inputs may
    differ in length.
    """
    heads = {place: calls for place, calls in held.items() if isinstance(place, tuple)}
    modules = {place: calls for place, calls in held.items() if isinstance(place, str)}
    handles = []
    for name, calls in modules.items():
        module = matching_modules(model, name)[name]
        handles.append(module.register_forward_hook(_replay_outputs(name, list(calls), rows)))
    try:
        with _edited(model, list(heads), lambda name: _replay_heads(name, heads, rows)):
            yield
    finally:
        for handle in handles:
            handle.remove()


def _replay_outputs(name: str, calls: list[Any], rows: Sequence[int] | None) -> Callable[..., Any]:
    tape = _Tape(name, calls, rows)

    def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
        return tape.exchange(output)

    return hook


def _replay_heads(name: str, held: Mapping[HeadAt, Sequence[Any]], rows: Sequence[int] | None) -> Edit:
    own = {head: list(calls) for (owner, head), calls in held.items() if owner == name}
    tapes = {head: _Tape(f"{name}, head {head}", calls, rows) for head, calls in own.items()}

    def edit(asked: dict[str, Any], out_BHTV: Tensor, heads: list[int] | None) -> Tensor:
        if heads is None:
            return tapes[0].exchange(out_BHTV)
        out_BHTV = out_BHTV.clone()
        for head in heads:
            out_BHTV[:, head] = tapes[head].exchange(out_BHTV[:, head], head)
        return out_BHTV

    return edit


class _Tape:
    """Plays outputs back, call by call; ``rows`` are positions counted over all calls, along the second last axis."""

    def __init__(self, name: str, calls: list[Any], rows: Sequence[int] | None) -> None:
        self.name, self.calls, self.rows = name, iter(calls), None if rows is None else set(rows)
        self.first = 0

    def exchange(self, now: Any, head: int | None = None) -> Any:
        try:
            then = next(self.calls)
        except StopIteration:
            told = f"{self.name} is called more often now than when it was recorded; run the same passes"
            raise OptionError(told) from None
        then = then if head is None else then[:, head]
        if self.rows is None:
            if isinstance(now, Tensor) and now.shape != then.shape:
                raise OptionError(
                    f"{self.name} gives {list(now.shape)} now and gave {list(then.shape)} when it was recorded; "
                    "take inputs of the same number of tokens, or choose rows"
                )
            return then
        if not isinstance(now, Tensor) or now.dim() < 3:
            raise OptionError(f"{self.name} gives no tensor with positions; patch it as a whole, without rows")
        common = min(now.shape[-2], then.shape[-2])
        own = [row - self.first for row in sorted(self.rows) if 0 <= row - self.first < common]
        self.first += now.shape[-2]
        changed = now.clone()
        changed[..., own, :] = then[..., own, :]
        return changed


@contextmanager
def _edited(model: nn.Module, heads: Sequence[HeadAt], edit_of: Callable[[str], Edit]) -> Iterator[None]:
    check_heads(model, heads)
    points = attention_points(model)
    handles = []
    for name in dict.fromkeys(name for name, _ in heads):
        # A recurrent decoder has one head, and the rows of a sentence stand where others have theirs.
        chosen = None if head_count(model, name) == 1 else [head for own, head in heads if own == name]
        handles.append(points[name].register_forward_hook(_editor(edit_of(name), chosen), with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _editor(edit: Edit, heads: list[int] | None) -> Callable[..., Tensor]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], out_BHTV: Tensor) -> Tensor:
        return edit(arguments(inputs, named), out_BHTV, heads)

    return hook

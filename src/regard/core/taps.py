"""Taps: reading or replacing what flows through a model, by name, for the length of a ``with`` block.

Every mechanism, sub-layer and block is a module called through ``__call__``, so a forward hook on a named
module sees all of it, and training stays on its fast kernels. What is recorded of a mechanism are its
queries, keys, mask and bias; the exact weights are computed from them when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.errors import OptionError


@dataclass
class Attention:
    """What one mechanism was asked during the recording, call by call."""

    name: str
    mechanism: Any
    heads: Sequence[int] | None = None
    calls: list[tuple[Tensor, Tensor, Any, Tensor | None]] = field(default_factory=list)

    @property
    def weights(self) -> Tensor:
        """weights_BHTS over all calls of one batch; a decoder that asks once a step has its steps along T."""
        if not self.calls:
            raise OptionError(f"{self.name} was not called while it was recorded; run the model inside the block")
        with torch.no_grad():
            found = [self._select(self.mechanism.weights(q, k, mask, bias)) for q, k, mask, bias in self.calls]
        if len({weights_BHTS.shape[0] for weights_BHTS in found}) > 1:
            raise OptionError(
                f"{self.name} was asked about batches of different sizes, whose weights do not form one tensor; "
                "record one batch at a time (with greedy decoding or teacher forcing), or read .calls one by one"
            )
        keys = max(weights_BHTS.shape[-1] for weights_BHTS in found)
        # Over its own past a decoder sees more keys with every step; what did not exist yet had no weight.
        return torch.cat([functional.pad(weights, (0, keys - weights.shape[-1])) for weights in found], dim=-2)

    def _select(self, weights_BHTS: Tensor) -> Tensor:
        return weights_BHTS if self.heads is None else weights_BHTS[:, list(self.heads)]


class Recording(Mapping[str, Attention]):
    """Recorded attention by the name of the module that asked; in the order of the model."""

    def __init__(self) -> None:
        self._found: dict[str, Attention] = {}

    def __getitem__(self, name: str) -> Attention:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@contextmanager
def record(model: nn.Module, pattern: str, heads: Sequence[int] | None = None) -> Iterator[Recording]:
    """Records the attention below every module whose name matches, as in ``record(model, "decoder.*.cross")``."""
    recording, handles = Recording(), []
    mechanisms = attention_points(model)
    for name, mechanism in mechanisms.items():
        if not fnmatchcase(name, pattern):
            continue
        tapped = Attention(name, mechanism, heads)
        recording._found[name] = tapped
        handles.append(mechanism.register_forward_pre_hook(_recorder(tapped), with_kwargs=True))
    if not recording:
        raise OptionError(
            f"no attention in this model is called {pattern!r}; there is: {', '.join(mechanisms) or 'none at all'}"
        )
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()


def _recorder(tapped: Attention) -> Callable[..., None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        asked = dict(zip(("q", "k", "v", "mask", "bias"), inputs)) | named
        bias = asked.get("bias")
        recorded = None if bias is None else bias.detach()
        tapped.calls.append((asked["q"].detach(), asked["k"].detach(), asked["mask"], recorded))

    return hook


def attention_points(model: nn.Module) -> dict[str, nn.Module]:
    """Every mechanism of the model, under the name of the heads (or cell) that own it."""
    return {
        name.removesuffix(".mechanism"): module
        for name, module in model.named_modules()
        if hasattr(module, "has_matrix") and callable(getattr(module, "weights", None))
    }


@contextmanager
def outputs(model: nn.Module, *names: str) -> Iterator[dict[str, Any]]:
    """Keeps what the named modules gave last, by name: ``with outputs(model, "layers.0", "layers.1") as seen:``."""
    modules = dict(model.named_modules())
    unknown = [name for name in names if name not in modules]
    if unknown:
        raise OptionError(
            f"no module of this model is called {', '.join(map(repr, unknown))}; there is: "
            f"{', '.join(filter(None, modules))}"
        )
    seen: dict[str, Any] = {}
    handles = [modules[name].register_forward_hook(_changer(name, seen.__setitem__)) for name in names]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def replace(model: nn.Module, pattern: str, change: Callable[[str, Any], Any]) -> Iterator[list[str]]:
    """Passes the output of every matching module through ``change(name, output)`` while the block lasts."""
    names = [name for name, _ in model.named_modules() if fnmatchcase(name, pattern)]
    if not names:
        every = ", ".join(name for name, _ in model.named_modules() if name)
        raise OptionError(f"no module of this model is called {pattern!r}; there is: {every}")
    handles = [model.get_submodule(name).register_forward_hook(_changer(name, change)) for name in names]
    try:
        yield names
    finally:
        for handle in handles:
            handle.remove()


def _changer(name: str, change: Callable[[str, Any], Any]) -> Callable[..., Any]:
    def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
        return change(name, output)

    return hook

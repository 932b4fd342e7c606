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
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.errors import NoMatrix, OptionError
from regard.core.seams import Mechanism

Call = tuple[Tensor, Tensor, Any, Tensor | None]
"""Queries, keys, mask and bias, as one mechanism was asked once."""


@dataclass
class Attention:
    """What one mechanism was asked during the recording, call by call; of ``heads`` and ``rows`` if they are given.

    Rows are the queries in the order in which they came, counted from 0 over all calls: the T axis of the weights.
    """

    name: str
    mechanism: Mechanism
    heads: Sequence[int] | None = None
    rows: Sequence[int] | None = None
    calls: list[Call] = field(default_factory=list)
    asked: int = 0  # queries so far, kept or not
    continued: bool = False  # whether it went on from a memory of its own, which its calls do not show
    _cuts: list[list[int] | None] = field(default_factory=list)  # rows to take of each call's weights; None: all

    @property
    def weights(self) -> Tensor:
        """weights_BHTS over all calls of one batch; a decoder that asks once a step has its steps along T."""
        self._check_found()
        with torch.no_grad():
            found = [
                weights_BHTS if cut is None else weights_BHTS[:, :, cut]
                for weights_BHTS, cut in zip((self.mechanism.weights(*call) for call in self.calls), self._cuts)
            ]
        if len({weights_BHTS.shape[0] for weights_BHTS in found}) > 1:
            raise OptionError(
                f"{self.name} was asked about batches of different sizes, whose weights do not form one tensor; "
                "record one batch at a time (with greedy decoding or teacher forcing), or read .calls one by one"
            )
        keys = max(weights_BHTS.shape[-1] for weights_BHTS in found)
        # Over its own past a decoder sees more keys with every step; what did not exist yet had no weight.
        return torch.cat([functional.pad(weights, (0, keys - weights.shape[-1])) for weights in found], dim=-2)

    def _check_found(self) -> None:
        if not self.mechanism.has_matrix:
            raise NoMatrix(
                f"{self.name}: {type(self.mechanism).__name__} never forms attention weights, so there are none to "
                "show; read its outputs with regard.core.taps.record_attention_outputs, or choose other names"
            )
        if self.continued:
            raise OptionError(
                f"{self.name}: {type(self.mechanism).__name__} went on from a memory of its own, step by step, and "
                "what stands in it is not recorded; record a pass over the whole text instead"
            )
        if not self.asked:
            raise OptionError(f"{self.name} was not called while it was recorded; run the model inside the block")
        late = [str(row) for row in self.rows or () if row >= self.asked]
        if late:
            raise OptionError(
                f"{self.name} was asked {self.asked} times, from row 0 to row {self.asked - 1}; "
                f"there is no row {', '.join(late)}"
            )

    def keep(self, q_BHTK: Tensor, k_BHSK: Tensor, mask: Any, bias: Tensor | None = None) -> None:
        """Keeps of a call what was asked for, in memory of its own, so that the rest can be freed."""
        first, self.asked = self.asked, self.asked + q_BHTK.shape[-2]
        if not self.mechanism.has_matrix:
            return
        rows = None if self.rows is None else [row - first for row in self.rows if first <= row < self.asked]
        if rows == []:
            return
        q_BHTK, k_BHSK, bias = q_BHTK.detach(), k_BHSK.detach(), None if bias is None else bias.detach()
        if self.heads is not None:
            self._check_heads(q_BHTK.shape[1])
            mask = mask.part(heads=self.heads)
            q_BHTK, k_BHSK = _chosen(q_BHTK, self.heads), _chosen(k_BHSK, self.heads)
            bias = None if bias is None else _chosen(bias, self.heads)
        if rows is None:
            self._append((q_BHTK, k_BHSK, mask, bias))
            return
        k_BHSK = k_BHSK.clone() if self.heads is None else k_BHSK
        if not self.mechanism.cacheable:  # it cannot be asked about later queries alone
            self._append((q_BHTK.clone(), k_BHSK, mask, bias), rows)
            return
        for start, stop in _stretches(rows):
            part = slice(start, stop)
            beside = bias[..., part, :].clone() if bias is not None and bias.shape[-2] > 1 else bias
            self._append((q_BHTK[:, :, part].clone(), k_BHSK, mask.part(part), beside))

    def _append(self, call: Call, cut: list[int] | None = None) -> None:
        self.calls.append(call)
        self._cuts.append(cut)

    def _check_heads(self, number: int) -> None:
        beyond = [str(head) for head in self.heads or () if not 0 <= head < number]
        if beyond:
            raise OptionError(f"{self.name} has {number} heads, counted from 0; there is no head {', '.join(beyond)}")


def _chosen(tensor: Tensor, heads: Sequence[int]) -> Tensor:
    """A copy with the given heads along the third axis from the end; what all heads share stays as it is."""
    if tensor.dim() < 3 or tensor.shape[-3] == 1:
        return tensor
    return tensor.index_select(-3, torch.tensor(list(heads), device=tensor.device))


def _stretches(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rows in order become stretches without gaps, each from its first to one past its last."""
    start = previous = rows[0]
    for row in rows[1:]:
        if row > previous + 1:
            yield start, previous + 1
            start = row
        previous = row
    yield start, previous + 1


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
def record(
    model: nn.Module, pattern: str, heads: Sequence[int] | None = None, rows: Sequence[int] | None = None
) -> Iterator[Recording]:
    """Records the attention below every module whose name matches, as in ``record(model, "decoder.*.cross")``.

    With ``heads`` and ``rows`` (queries, counted from 0; in ascending order) nothing else is kept in memory.
    """
    if rows is not None:
        if min(rows, default=-1) < 0:
            raise OptionError(f"rows are counted from 0, and at least one is needed; found {list(rows)}")
        rows = sorted(set(rows))
    recording, handles = Recording(), []
    for name, mechanism in matching_attention(model, pattern).items():
        tapped = Attention(name, cast(Mechanism, mechanism), heads, rows)
        recording._found[name] = tapped
        handles.append(mechanism.register_forward_pre_hook(_recorder(tapped), with_kwargs=True))
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()


def _recorder(tapped: Attention) -> Callable[..., None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        asked = arguments(inputs, named)
        tapped.continued |= asked.get("cache") is not None
        tapped.keep(asked["q"], asked["k"], asked["mask"], asked.get("bias"))

    return hook


def arguments(inputs: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """What a mechanism was called with, by name."""
    return {**dict(zip(("q", "k", "v", "mask", "bias", "cache"), inputs)), **named}


def attention_points(model: nn.Module) -> dict[str, nn.Module]:
    """Every mechanism of the model, under the name of the heads (or cell) that own it."""
    return {
        name.removesuffix(".mechanism"): module
        for name, module in model.named_modules()
        if is_mechanism(module)
    }


@runtime_checkable
class ReadsByWeights(Protocol):
    """What can be tapped: a mechanism, or any module that reads with weights and says whether it has a matrix."""

    has_matrix: bool

    def weights(self, *inputs: Any) -> Tensor: ...


def is_mechanism(module: object) -> bool:
    return isinstance(module, ReadsByWeights)


def matching_attention(model: nn.Module, pattern: str) -> dict[str, nn.Module]:
    """The mechanisms whose names match; where none does, what there is."""
    points = attention_points(model)
    found = {name: mechanism for name, mechanism in points.items() if fnmatchcase(name, pattern)}
    if not found:
        raise OptionError(
            f"no attention in this model is called {pattern!r}; available: {', '.join(points) or 'none at all'}"
        )
    return found


def matching_modules(model: nn.Module, pattern: str) -> dict[str, nn.Module]:
    """The modules whose names match; where none does, what there is."""
    every = {name: module for name, module in model.named_modules() if name}
    found = {name: module for name, module in every.items() if fnmatchcase(name, pattern)}
    if not found:
        raise OptionError(f"no module of this model is called {pattern!r}; available: {', '.join(every)}")
    return found


@contextmanager
def last_outputs(model: nn.Module, *names: str) -> Iterator[dict[str, Any]]:
    """Keeps what the named modules gave last, by name: ``with outputs(model, "layers.0", "layers.1") as seen:``."""
    modules = dict(model.named_modules())
    unknown = [name for name in names if name not in modules]
    if unknown:
        raise OptionError(
            f"no module of this model is called {', '.join(map(repr, unknown))}; available: "
            f"{', '.join(filter(None, modules))}"
        )
    seen: dict[str, Any] = {}
    with _changed({name: modules[name] for name in names}, seen.__setitem__):
        yield seen


@contextmanager
def record_outputs(model: nn.Module, *patterns: str) -> Iterator[dict[str, list[Any]]]:
    """Keeps everything that matching modules give, call by call."""
    modules = {name: one for pattern in patterns for name, one in matching_modules(model, pattern).items()}
    seen: dict[str, list[Any]] = {name: [] for name in modules}
    with _changed(modules, lambda name, output: seen[name].append(output)):
        yield seen


@contextmanager
def record_attention_outputs(model: nn.Module, pattern: str) -> Iterator[dict[str, list[Tensor]]]:
    """Keeps what matching attention answers, out_BHTV by head, call by call; also where there is no matrix."""
    mechanisms = matching_attention(model, pattern)
    seen: dict[str, list[Tensor]] = {name: [] for name in mechanisms}
    with _changed(mechanisms, lambda name, output: seen[name].append(output.detach())):
        yield seen


@contextmanager
def replace(model: nn.Module, pattern: str, change: Callable[[str, Any], Any]) -> Iterator[list[str]]:
    """Passes the output of every matching module through ``change(name, output)`` while the block lasts."""
    modules = matching_modules(model, pattern)
    with _changed(modules, change):
        yield list(modules)


@contextmanager
def _changed(modules: Mapping[str, nn.Module], change: Callable[[str, Any], Any]) -> Iterator[None]:
    handles = [module.register_forward_hook(_changer(name, change)) for name, module in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _changer(name: str, change: Callable[[str, Any], Any]) -> Callable[..., Any]:
    def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
        return change(name, output)

    return hook

"""Which mechanisms are measured, with which settings, and the three things that each is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import MECHANISMS, AttentionContext, MechanismPart
from regard.attention.cache import AttentionCache
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.attention.softmax import scaled_dot_attention
from regard.core.config import override, parse
from regard.core.errors import OptionError, RecipeError
from regard.core.seams import Mechanism, SharesKeys
from regard.inspection.attention_costs.peak_memory import memory_of

Pass = Literal["forward", "both", "step"]
PASSES: tuple[Pass, ...] = ("forward", "both", "step")
FULL = "softmax"
USUAL: Mapping[str, Mapping[str, Any]] = {
    FULL: {},
    "window": {"size": 256},
    "longformer": {"size": 256, "globals": 16},
    "sinks": {"size": 256, "sinks": 4},
    "bigbird": {},
    "top-k": {"keys": 32},
    "linear": {},
    "performer": {"features": 256},
    "linformer": {"rows": 256},
    "reformer": {"buckets": 256},
}
"""Measured where nobody says which; what is set here differs from the default so that sizes compare."""
ROOM = 64  # more positions in a cache that is filled: steps are timed, not the making of room
SAMPLED = 128  # queries whose answers are compared with full attention's: all of them would cost n²


@dataclass(frozen=True)
class Subject:
    """A mechanism and its settings."""

    part: MechanismPart

    @property
    def name(self) -> str:
        return self.part.kind

    @property
    def settings(self) -> dict[str, Any]:
        return {key: value for key, value in self.part.model_dump().items() if key != "kind"}

    def build(self, width: int, heads: int, length: int) -> tuple[nn.Module, Mask]:
        """The mechanism, always the same weights, and the triangle under which it reads, if it can be causal."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            try:
                return self._built(width, heads, length, causal=True), CAUSAL
            except RecipeError:
                return self._built(width, heads, length, causal=False), EVERYTHING

    def _built(self, width: int, heads: int, length: int, *, causal: bool) -> nn.Module:
        mechanism = self.part.build(AttentionContext(width, width, heads, length, causal=causal))
        assert isinstance(mechanism, nn.Module)
        return mechanism


def subjects(kinds: Sequence[str], settings: Sequence[str]) -> list[Subject]:
    """These mechanisms, with ``KIND.KEY=VALUE`` settings; full attention is always the first, to compare with."""
    chosen = [FULL, *(kind for kind in dict.fromkeys(kinds) if kind != FULL)]
    for setting in settings:
        kind = setting.partition(".")[0]
        if kind not in chosen:
            raise OptionError(f"--set {setting}: {kind!r} is not measured; measured are {', '.join(chosen)}")
    tree = override({kind: dict(USUAL.get(kind, {})) for kind in chosen}, settings)
    return [
        Subject(parse(MECHANISMS.resolve(kind), {"kind": kind, **tree[kind]}, where=f"attention {kind!r}"))
        for kind in chosen
    ]


@dataclass(frozen=True)
class Given:
    """Queries, keys and values that all mechanisms are asked with."""

    q_BHTK: Tensor
    k_BHSK: Tensor
    v_BHSV: Tensor

    @classmethod
    def random(cls, heads: int, length: int, width: int, spread: float, device: torch.device) -> Given:
        generator = torch.Generator().manual_seed(length)
        q, k, v = (torch.randn(1, length, heads, width, generator=generator).transpose(1, 2) for _ in range(3))
        return cls((q * spread).to(device), (k * spread).to(device), v.to(device))

    @property
    def length(self) -> int:
        return self.q_BHTK.shape[-2]

    def for_mechanism(self, mechanism: nn.Module) -> Given:
        """The same, keys being the queries' directions where a mechanism takes both for one."""
        if not isinstance(mechanism, SharesKeys):
            return self
        return replace(self, k_BHSK=functional.normalize(self.q_BHTK, dim=-1))


def pass_of(mechanism: nn.Module, mask: Mask, given: Given, *, backward: bool) -> Callable[[], object]:
    """One pass over the sequence, or one there and back."""
    if not backward:
        return torch.no_grad()(lambda: mechanism(given.q_BHTK, given.k_BHSK, given.v_BHSV, mask))
    inputs = [one.detach().requires_grad_() for one in (given.q_BHTK, given.k_BHSK, given.v_BHSV)]
    pull_BHTV = torch.ones_like(given.v_BHSV)
    wished = [*inputs, *(weight for weight in mechanism.parameters() if weight.requires_grad)]
    return lambda: torch.autograd.grad(mechanism(*inputs, mask), wished, pull_BHTV)


class Step:
    """One token after ``length`` others, again and again: the text grows by a token a call, as in decoding."""

    def __init__(self, mechanism: Mechanism, given: Given) -> None:
        self.mechanism = mechanism
        self.last = [one[:, :, -1:] for one in (given.q_BHTK, given.k_BHSK, given.v_BHSV)]
        self.cache, taken = memory_of(partial(filled_cache, mechanism, given), given.q_BHTK.device)
        self.remembered = taken.kept

    @torch.no_grad()
    def __call__(self) -> Tensor:
        q_BHTK, k_BHTK, v_BHTV = self.last
        if not self.mechanism.keeps_keys:
            return self.mechanism(q_BHTK, k_BHTK, v_BHTV, CAUSAL, None, self.cache)
        k_BHSK, v_BHSV = self.cache.extend(k_BHTK, v_BHTV)
        return self.mechanism(q_BHTK, k_BHSK, v_BHSV, CAUSAL.at(k_BHSK.shape[-2] - 1))


@torch.no_grad()
def filled_cache(mechanism: Mechanism, given: Given) -> AttentionCache:
    """What a mechanism remembers of a text, with room for a few more tokens."""
    _, heads, length, width = given.k_BHSK.shape
    cache = mechanism.new_cache(1, heads, width, width, given.k_BHSK, length + ROOM)
    if mechanism.keeps_keys:
        cache.extend(given.k_BHSK, given.v_BHSV)
    else:
        mechanism(given.q_BHTK, given.k_BHSK, given.v_BHSV, CAUSAL, None, cache)
    return cache


@torch.no_grad()
def error_against_full(mechanism: nn.Module, mask: Mask, given: Given) -> float:
    """‖out − full‖ / ‖full‖ over queries spread evenly over the sequence."""
    length = given.length
    rows_T = torch.linspace(0, length - 1, min(SAMPLED, length), device=given.q_BHTK.device).long().unique()
    read = mechanism(given.q_BHTK, given.k_BHSK, given.v_BHSV, mask)[:, :, rows_T]
    beside = mask.at(rows_T[None])
    full = scaled_dot_attention(given.q_BHTK[:, :, rows_T], given.k_BHSK, given.v_BHSV, beside)
    return float((read - full).norm() / full.norm())

"""The heads of a model: the name of the attention that owns them, and what each of them reads."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal, Protocol, runtime_checkable

from torch import nn

from regard.attention.heads import HeadShape
from regard.core.errors import OptionError, enumerate_problems
from regard.core.seams.anatomy import anatomy_of
from regard.core.taps import attention_points, matching_attention

HeadAt = tuple[str, int]
"""A head: the name of its attention, and its number there, counted from 0."""
Kind = Literal["cross", "encoder", "decoder", "text"]
"""What an attention reads: from the answer the source, the source itself, the answer itself, or the only text."""


@runtime_checkable
class HasHeads(Protocol):
    """An attention that divides its width among several heads."""

    shape: HeadShape


def check_has_attention(model: nn.Module) -> None:
    if not attention_points(model):
        raise OptionError(
            f"{type(model).__name__} has no attention, so there is nothing of it to see; name the run of a model that "
            "has (bahdanau, luong, convolution, transformer, gpt, llama, bert)"
        )


def head_count(model: nn.Module, name: str) -> int:
    """How many heads an attention has; a recurrent decoder's has one."""
    owner = model.get_submodule(name)
    return owner.shape.heads if isinstance(owner, HasHeads) else 1


def every_head(model: nn.Module, pattern: str = "*") -> list[HeadAt]:
    """All heads of the attentions whose names match, in the order of the model."""
    check_has_attention(model)
    return [(name, head) for name in matching_attention(model, pattern) for head in range(head_count(model, name))]


def check_heads(model: nn.Module, heads: Iterable[HeadAt]) -> None:
    """Names every head that the model does not have, and what it has."""
    points = attention_points(model)
    wrong = [
        f"head {head} of {name!r}"
        for name, head in heads
        if name not in points or not 0 <= head < head_count(model, name)
    ]
    if wrong:
        there = ", ".join(f"{name} (0 to {head_count(model, name) - 1})" for name in points)
        raise OptionError(enumerate_problems("no such head", wrong) + f"; available: {there or 'none at all'}")


def kind_of(model: nn.Module, name: str) -> Kind:
    """What the attention of this name reads."""
    pattern = anatomy_of(model).source_attention
    if not pattern:
        return "text"
    if fnmatchcase(name, pattern):
        return "cross"
    return "encoder" if name.split(".")[0] == "encoder" else "decoder"

"""Settings under two names, between config.json and our ``[model]`` table, and which of them must agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.interop.huggingface.harmless import HARMLESS

TIED = {True: "output", False: "none"}
ACTIVATIONS = {
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu": "gelu",
    "relu": "relu",
    "relu2": "squared-relu",
    "silu": "silu",
    "swish": "silu",
}
"""Theirs to ours; of two words for one thing the first is written."""
SOFTMAX = {
    "head_norm.kind": "none",
    "attention.kind": "softmax",
    "attention.score": "scaled-dot",
    "attention.temperature": 1.0,
}
"""What is fixed where weights are a softmax of scaled products."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``default`` is theirs where config.json is silent; ``words`` translates values.

    Where their default is null ("as usual"), it is our ``usual``.
    """

    theirs: str
    ours: str
    default: Any
    words: Mapping[Any, Any] | None = None
    usual: Any = 0

    def read(self, config: Mapping[str, Any], problems: list[str]) -> Any:
        found = config.get(self.theirs, self.default)
        if self.words is None:
            return self.usual if found is None else found
        if not isinstance(found, str | bool) or found not in self.words:
            problems.append(f"{self.theirs} = {found!r}; known: {', '.join(map(repr, self.words))}")
        else:
            found = self.words[found]
        return found

    def write(self, table: Mapping[str, Any], problems: list[str]) -> Any:
        value = at(table, self.ours)
        if self.words is None:
            return None if self.default is None and value == self.usual else value
        for theirs, ours in self.words.items():
            if ours == value:
                return theirs
        problems.append(f"model.{self.ours} = {value!r}; they know {', '.join(map(repr, self.words.values()))}")
        return None


STACK = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")


def stack_sizes(usual: Sequence[int], theirs: Sequence[str] = STACK) -> tuple[Setting, ...]:
    """The sizes of a stack of layers: layers, width, heads and, where it is among them, the feed-forward width."""
    ours = ("layers", "width", "heads", "feed_forward.width")
    return tuple(Setting(*one) for one in zip(theirs, ours[: len(theirs)], usual, strict=True))


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a family's config.json may say.

    ``fixed`` are places of our table that the family leaves no choice about; ``required`` settings of theirs that
    must have this value, since we compute nothing else; ``harmless`` ones act in training only, or not at all.
    """

    given: tuple[Setting, ...]
    fixed: Mapping[str, Any]
    required: Mapping[str, Any]
    harmless: frozenset[str]

    def read(self, config: Mapping[str, Any], elsewhere: Iterable[str], problems: list[str]) -> dict[str, Any]:
        """Our model table; ``elsewhere`` names settings that are dealt with apart, or that the user gives up."""
        problems += [
            f"{name} = {config[name]!r}, but only {wanted!r} is supported"
            for name, wanted in self.required.items()
            if config.get(name) not in (None, wanted)
        ]
        problems += [
            f"{name} = {value!r} is not known here; if it changes nothing, say so: --ignore {name}"
            for name, value in self.unknown(config, elsewhere).items()
        ]
        table: dict[str, Any] = {}
        for path, value in self.fixed.items():
            put(table, path, value)
        for setting in self.given:
            put(table, setting.ours, setting.read(config, problems))
        return table

    def unknown(self, config: Mapping[str, Any], elsewhere: Iterable[str]) -> dict[str, Any]:
        """Settings of which nothing is known; what is null, false, 0 or empty asks for nothing."""
        known = {setting.theirs for setting in self.given} | {*self.required, *self.harmless, *HARMLESS, *elsewhere}
        return {name: value for name, value in config.items() if name not in known and value}

    def write(self, table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
        """Their settings; a part of ours that they do not have is a problem. A key that is missing has no effect."""
        strange = {
            path: wanted for path, wanted in self.fixed.items() if path.endswith("kind") and at(table, path) != wanted
        }
        refused = tuple(path.removesuffix("kind") for path in strange)  # a part of another kind has other settings
        for path, wanted in self.fixed.items():
            if path in strange or (at(table, path) not in (None, wanted) and not path.startswith(refused)):
                problems.append(f"model.{path} = {at(table, path)!r}; they have {wanted!r} only")
        return {
            setting.theirs: setting.write(table, problems)
            for setting in self.given
            if not setting.ours.startswith(refused)
        } | dict(self.required)


def with_defaults(settings: Iterable[Setting], **defaults: Any) -> tuple[Setting, ...]:
    """The same settings in a family that means other values where its config.json is silent."""
    return tuple(replace(one, default=defaults.get(one.theirs, one.default)) for one in settings)


def at(table: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as ``norm.epsilon``, or None."""
    value: Any = table
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def overlay(table: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The first tree of tables, in which the second one stands wherever it says something."""
    for key, value in more.items():
        inner = table.get(key)
        table[key] = overlay(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return table


def put(table: dict[str, Any], path: str, value: Any) -> None:
    *outer, last = path.split(".")
    for key in outer:
        table = table.setdefault(key, {})
    table[last] = value

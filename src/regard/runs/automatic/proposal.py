"""A proposal: the settings of a recipe, each with its reason, and the sizes of model that time may choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import tomli_w

from regard.core.config import override
from regard.runs.recipe import Recipe

Tree = dict[str, Any]


class Decision(NamedTuple):
    """One setting of a recipe, by its path, and why it has this value."""

    path: str
    value: Any
    reason: str = ""

    def line(self) -> str:
        """As a recipe would say it."""
        return f"{self.path} = {_written('x', self.value).partition(' = ')[2]}"


class Size(NamedTuple):
    """One rung of the ladder of models: what to set, and how it is called in a sentence."""

    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """What is decided before the data is read whole. ``sizes`` go from small to large; ``epochs`` is how often an
    example is seen at the most."""

    data: Mapping[str, Any]
    decisions: tuple[Decision, ...]
    sizes: tuple[Size, ...]
    epochs: float
    positions_each: float = 1  # as how many positions of a text what is counted in a batch counts, where size is chosen
    name: str = "recipe"
    notes: tuple[str, ...] = field(default=())

    def with_decisions(self, *decisions: Decision) -> Proposal:
        """More of them; one about the same setting takes the place of the earlier one."""
        fresh = {one.path for one in decisions}
        return replace(self, decisions=(*(one for one in self.decisions if one.path not in fresh), *decisions))

    def with_settings(self, settings: Sequence[str]) -> Proposal:
        """With what the user wrote as ``--set``, which has the last word."""
        tree: Tree = override({}, settings)
        return self.with_decisions(*(Decision(path, value, "as given") for path, value in _leaves(tree)))

    def of_size(self, size: Size) -> Proposal:
        return self.with_decisions(*(Decision(path, value) for path, value in size.settings.items()))

    def first(self) -> Proposal:
        """With the smallest size, so that it is a recipe before the others are measured."""
        return self.of_size(self.sizes[0])

    def tree(self) -> Tree:
        """The tables of the recipe."""
        tree: Tree = {"name": self.name, "data": dict(self.data)}
        for path, value, _ in self.decisions:
            *tables, key = path.split(".")
            table = tree
            for name in tables:
                table = table.setdefault(name, {})
            table[key] = deepcopy(value)  # a later decision may change what is inside
        return tree

    def recipe(self, *settings: str) -> Recipe:
        return Recipe.of(self.tree(), settings)

    def to_toml(self) -> str:
        """A short recipe for people: what was decided, the reasons beside it."""
        reasons = {path: reason for path, _, reason in self.decisions if reason}
        lines = [f"# {note}" for note in self.notes]
        for name, table in self.tree().items():
            if not isinstance(table, Mapping):
                lines.append(_written(name, table))
                continue
            lines += ["", f"[{name}]"]
            lines += [_commented(_written(key, value), reasons.get(f"{name}.{key}", _inside(reasons, name, key)))
                      for key, value in table.items()]  # fmt: skip
        return "\n".join(lines) + "\n"


def _leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _inside(reasons: Mapping[str, str], table: str, key: str) -> str:
    """The reasons for what stands in a table within a table, which is written in one line."""
    return "; ".join(reason for path, reason in reasons.items() if path.startswith(f"{table}.{key}."))


def _written(key: str, value: Any) -> str:
    """One line of TOML; a table inside a table in braces."""
    if isinstance(value, Mapping):
        inner = ", ".join(_written(name, one) for name, one in value.items())
        return f"{_key(key)} = {{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"{_key(key)} = [{', '.join(_written('x', one).partition(' = ')[2] for one in value)}]"
    return tomli_w.dumps({key: value}).strip()


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).partition(" = ")[0]


def _commented(line: str, reason: str) -> str:
    return f"{line:<44}  # {reason}" if reason else line

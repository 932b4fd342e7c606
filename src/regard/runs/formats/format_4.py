"""Upgrades recipes from format 3 to 4: keys that had a name of their own get the one that the field uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Tree = dict[str, Any]

TOKENIZERS = {"keep": "theirs", "retrain": "carried"}
"""Values of ``start.tokenizer``, and what they were in ``start.pieces``."""


class Renamed(NamedTuple):
    """A key of one table, for some kinds of it (none named: for all of ours), and what it is called today."""

    table: str
    old: str
    new: str
    kinds: tuple[str, ...] = ()


RENAMED = (
    Renamed("task", "context", "max_length", ("language-model", "masked-language-model")),
    Renamed("task", "spread", "std", ("regression",)),
    Renamed("model", "context", "max_length", ("llama",)),
    Renamed("data", "minimum_length", "min_length", ("toy",)),
    Renamed("data", "maximum_length", "max_length", ("toy",)),
    Renamed("tokenizer", "minimum_frequency", "min_frequency"),
    Renamed("tokenizer.source", "minimum_frequency", "min_frequency"),
    Renamed("tokenizer.target", "minimum_frequency", "min_frequency"),
    Renamed("start", "pieces", "tokenizer"),
)


def to_format_4(tree: Tree) -> Tree:
    """A recipe of format 3 in the keys of format 4."""
    made = tree
    for one in RENAMED:
        if one.old in _table(made, one):
            made = _renamed(made, one.table.split("."), one)
    return made


def keys_of_format_3(tree: Mapping[str, Any]) -> list[str]:
    """Every key of format 3 that has another name, each with what to write today."""
    return [*_told(tree)]


def _told(tree: Mapping[str, Any]) -> Iterator[str]:
    for one in RENAMED:
        table = _table(tree, one)
        if one.old in table:
            told = f"{one.table}.{one.old} is now {one.table}.{one.new}"
            today = _today(one, table[one.old])
            yield told if today == table[one.old] else f'{told}: write {one.table}.{one.new} = "{today}"'


def _table(tree: Any, one: Renamed) -> Mapping[str, Any]:
    """The table in which the key may be; an empty one where it is of another kind, or of a part from outside."""
    for name in one.table.split("."):
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    if not isinstance(tree, Mapping):
        return {}
    kind = str(tree.get("kind", ""))
    return tree if (kind in one.kinds if one.kinds else ":" not in kind) else {}


def _renamed(tree: Mapping[str, Any], path: list[str], one: Renamed) -> Tree:
    """The tree with the key under its new name in the table at the path."""
    if path:
        return {**tree, path[0]: _renamed(tree[path[0]], path[1:], one)}
    return {one.new if key == one.old else key: _today(one, value) if key == one.old else value
            for key, value in tree.items()}  # fmt: skip


def _today(one: Renamed, value: Any) -> Any:
    """The value under the new name."""
    if one.table != "start":
        return value
    return next((today for today, before in TOKENIZERS.items() if before == value), value)

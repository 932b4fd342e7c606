"""Upgrades recipes from format 1 to 2: one way to name files, sizes for generated splits, one name for lengths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

Tree = dict[str, Any]

GENERATED = ("small-world", "world-trees", "world-english", "world-moods", "world-tags", "world-questions", "toy")
SIZES = ("train", "validation", "test", "compositional")
TABLES = (".csv", ".jsonl", ".ndjson", ".json")
JSON = (".jsonl", ".ndjson", ".json")
COMPRESSED = (".gz", ".bz2", ".xz")


def to_format_2(tree: Tree) -> Tree:
    """A recipe of format 1 in the keys of format 2."""
    return rename_lengths(name_files(tree))


def keys_of_format_1(tree: Mapping[str, Any]) -> list[str]:
    """Every key of format 1 that became another, each with what to write today."""
    return [*renamed_data(tree), *renamed_lengths(tree)]


def name_files(tree: Tree) -> Tree:
    data = dict(tree.get("data", {}))
    kind = str(data.get("kind", "small-world"))
    if kind in GENERATED:
        data = {f"{key}_size" if key in SIZES else key: value for key, value in data.items()}
    elif kind == "pairs":
        data = _without_unused(_pairs(data))
    elif kind == "text":
        data = _text(data)
    elif kind in ("labelled", "tagged", "questions", "trees"):
        data = _without_unused(data)
    return {**tree, "data": data}


def _pairs(old: Tree) -> Tree:
    """Stems in a folder and a list of corpora become entries of splits."""
    splits: dict[str, list[Any]] = {}
    folder, corpora = old.get("folder", ""), old.get("corpora", ())
    stems = {"train": "train", "validation": "val", "test": "test2016"}
    languages = [old.get("source", "en"), old.get("target", "de")]
    for split, usual in stems.items() if folder or not corpora else ():
        stem = old.get(split, usual)
        if stem:
            path = str(Path(folder) / stem) if corpora else stem
            source, target = (f"{path}.{language}" for language in languages)
            splits.setdefault(split, []).append({"source": source, "target": target})
    for corpus in corpora:
        splits.setdefault(corpus.get("split", "train"), []).append(_corpus(corpus))
    kept: Tree = {key: old[key] for key in ("kind", "validation_size", "overlap") if key in old}
    if not corpora:
        kept["folder"] = folder
    named = {split: own[0] if len(own) == 1 else own for split, own in splits.items()}
    others = {split: named.pop(split) for split in [*named] if split not in SIZES[:3]}
    return {**kept, **named, **({"other_splits": others} if others else {})}


def _corpus(old: Mapping[str, Any]) -> Any:
    weight = {"weight": old["weight"]} if old.get("weight", 1.0) != 1.0 else {}
    if not old.get("file"):
        return {"source": old.get("source", ""), "target": old.get("target", ""), **weight}
    if _ending(old["file"]) not in JSON:
        return {"file": old["file"], "source_column": 1, "target_column": 2, **weight}
    usual = {"source_key": "source", "target_key": "target"}
    keys = {key: old.get(key, name) for key, name in usual.items()}
    columns = {f"{name}_column": keys[key] for key, name in usual.items()} if keys != usual else {}
    return {"file": old["file"], **columns, **weight} if columns or weight else old["file"]


def _text(old: Tree) -> Tree:
    gone = ("file", "folder", "pattern", *(["validation_share"] if old.get("validation") else []))
    kept = {key: value for key, value in old.items() if key not in gone}
    if old.get("folder"):
        folder = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in old["folder"])
        return {**kept, "train": f"{Path(folder) / '**' / old.get('pattern', '*.txt')}"}
    return {**kept, "train": old.get("file", "")}


def _without_unused(data: Tree) -> Tree:
    """Without keys that never had an effect, which are refused today."""
    named = [data[split] for split in ("train", "validation", "test") if data.get(split)]
    idle = {"validation_size"} if data.get("validation") else set()
    if len(named) < 2 and not data.get("other_splits"):
        idle.add("overlap")
    if data.get("kind") == "tagged" and named:
        tables = [_ending(name) in TABLES for name in named]
        idle |= {"word", "tag"} if all(tables) else set()
        idle |= {"words", "tags"} if not any(tables) and all(map(_ending, named)) else set()
    return {key: value for key, value in data.items() if key not in idle}


def _ending(name: str) -> str:
    path = Path(name)
    return path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix


def renamed_data(tree: Mapping[str, Any]) -> list[str]:
    """Every old key of ``[data]``, with what the user's own values are called today."""
    data = tree.get("data", {})
    if not isinstance(data, Mapping):
        return []
    kind = str(data.get("kind", "small-world"))
    if kind in GENERATED:
        sizes = [key for key in SIZES if key in data]
        return [f"data.{key} is now data.{key}_size: write data.{key}_size = {inline(data[key])}" for key in sizes]
    old = {"pairs": ("corpora", "source", "target"), "text": ("file", "pattern")}.get(kind, ())
    found = [key for key in old if key in data]
    if not found and old and data.get("folder") and "train" not in data:
        found = ["folder"]
    if not found:
        return []
    told = f"{' and '.join(f'data.{key}' for key in found)} of kind {kind!r}"
    if kind == "text":
        return [f"{told} became data.train: write data.train = {inline(_text(dict(data))['train'])}"]
    told += " no longer say which files there are: data.train, data.validation and data.test name them"
    if _is_old(data):
        table = name_files({"data": dict(data)})["data"]
        lines = "".join(f"\n    {key} = {inline(value)}" for key, value in table.items())
        return [f"{told}. Write the same as\n    [data]{lines}"]
    source = data.get("source", "en")
    target = data.get("target", "en" if source == "de" else "de")
    return [f'{told}, as in data.train = {{source = "train.{source}", target = "train.{target}"}}']


def _is_old(data: Mapping[str, Any]) -> bool:
    """Whether pairs have no split in today's form."""
    stems = [data.get(split, "") for split in SIZES[:3]]
    return all(isinstance(stem, str) and _ending(stem) not in (".tsv", *TABLES) for stem in stems)


def inline(value: Any) -> str:
    """A value of a recipe as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {inline(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    return tomli_w.dumps({"value": value}).partition("=")[2].strip()


# -- lengths ---------------------------------------------------------------------------------------------------------

LENGTHS = {"longest": "max_length", "longest_question": "max_question_length", "longest_answer": "max_answer_length"}
DISTANCES = {"longest": "max_distance"}


def rename_lengths(tree: Tree) -> Tree:
    """``longest`` of a task and of positions became ``max_length``; a relative bias counts distances."""
    made = dict(tree)
    if task := _own_table(tree, "task"):
        made["task"] = {LENGTHS.get(key, key): value for key, value in task.items()}
    if position := _own_table(tree.get("model", {}), "position"):
        names = _names_of(position)
        made["model"] = {**tree["model"], "position": {names.get(key, key): value for key, value in position.items()}}
    return made


def renamed_lengths(tree: Mapping[str, Any]) -> list[str]:
    """Every old name of a length, with today's."""
    position = _own_table(tree.get("model", {}), "position")
    tables = (("task", _own_table(tree, "task"), LENGTHS), ("model.position", position, _names_of(position)))
    return [f"{at}.{key} is now {at}.{names[key]}" for at, table, names in tables for key in names if key in table]


def _own_table(tree: Any, name: str) -> Mapping[str, Any]:
    """A table of a part that is ours; one from outside names its keys itself."""
    table = tree.get(name) if isinstance(tree, Mapping) else None
    return table if isinstance(table, Mapping) and ":" not in str(table.get("kind", "")) else {}


def _names_of(position: Mapping[str, Any]) -> Mapping[str, str]:
    return DISTANCES if position.get("kind") == "relative-bias" else LENGTHS

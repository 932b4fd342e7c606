"""Run folders, and folders of Hugging Face's, of which something is missing, broken, or of the wrong kind."""

from __future__ import annotations

import json
import random
import shutil
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import tomli_w
import torch
from safetensors.torch import load_file, save_file

from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import load
from regard.runs.train import train
from tests.fuzzing.trying import Case, Expected

ODD: tuple[Any, ...] = (
    3, -1, 0, 10**9, 10**18, 1e30, -0.5, True, False, "x", "", [], [1, "a"], {}, {"kind": 3}, [[]], "9" * 5000, None,
)  # fmt: skip
GARBAGE = (b"", b"\x00\xff" * 40, b"[" * 100_000, b"null", b"[]", b"3", b"{", b'{"a": 1}', b"\xef\xbb\xbf{}", b"x = [")
HUGE = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "n_embd",
        "n_layer", "n_head", "n_positions", "max_position_embeddings")  # fmt: skip
Change = Callable[[random.Random, Path], Expected]


@cache
def originals() -> dict[str, Path]:
    """A small run that writes, one that translates, and the first as Hugging Face writes it, twice."""
    root = Path(mkdtemp(prefix="regard-fuzzing-"))
    (root / "text.txt").write_text("the small green house on a hill sees two old trees and a river\n" * 60)
    sizes = {"layers": 2, "width": 16, "heads": 2}
    training = {"steps": 1, "batch_tokens": 64, "validate_every": 1, "checkpoint_every": 1}
    for kind in ("gpt", "llama"):
        train({
            "data": {"kind": "text", "train": str(root / "text.txt")}, "tokenizer": {"kind": "character"},
            "model": {"kind": kind, **sizes}, "task": {"kind": "language-model", "max_length": 16},
            "training": training,
        }, out=root / kind)  # fmt: skip
        export(root / kind, "huggingface", root / f"{kind}-folder")
    train({
        "data": {"kind": "toy"}, "tokenizer": {"kind": "whitespace"}, "training": training,
        "model": {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2},
    }, out=root / "toy")  # fmt: skip
    return {name: root / name for name in ("gpt", "toy", "gpt-folder", "llama-folder")}


# -- changes of any folder --------------------------------------------------------------------------------------


def tensors(folder: Path, chance: random.Random, change: Callable[[dict[str, torch.Tensor], str], None]) -> None:
    path = folder / "model.safetensors"
    held = load_file(path)
    change(held, chance.choice([*held]))
    save_file({name: tensor.contiguous() for name, tensor in held.items()}, path)


def missing_tensor(chance: random.Random, folder: Path) -> Expected:
    tensors(folder, chance, lambda held, name: held.__delitem__(name))
    return "refused"


def other_shape(chance: random.Random, folder: Path) -> Expected:
    tensors(folder, chance, lambda held, name: held.update({name: torch.zeros(3, 5, 7)}))
    return "refused"


def other_type(chance: random.Random, folder: Path) -> Expected:
    kind = chance.choice((torch.int8, torch.int64, torch.bool, torch.uint8))
    tensors(folder, chance, lambda held, name: held.update({name: held[name].to(kind)}))
    return "refused"


def broken_weights(chance: random.Random, folder: Path) -> Expected:
    path = folder / "model.safetensors"
    held = path.read_bytes()
    head = b"\xff" * 7 + b"\x7f" + held[8:]
    path.write_bytes(chance.choice((held[: chance.randrange(len(held))], head, *GARBAGE)))
    return "refused"


def missing_file(chance: random.Random, folder: Path) -> Expected:
    names = [name for name in NEEDED if (folder / name).exists()]
    (folder / chance.choice(names)).unlink()
    return "refused"


NEEDED = ("recipe.toml", "model.safetensors", "config.json", "tokenizer.json", "source.json")


def broken_file(chance: random.Random, folder: Path) -> Expected:
    """A file that stands in every folder, and one that might be a folder itself."""
    name = chance.choice([name for name in NEEDED if (folder / name).exists() and name != "model.safetensors"])
    held = (folder / name).read_bytes()
    (folder / name).unlink()
    if chance.random() < 0.2:
        (folder / name).mkdir()
    else:
        (folder / name).write_bytes(chance.choice((held[: chance.randrange(1, max(2, len(held) // 2))], *GARBAGE)))
    return "refused" if name != "recipe.toml" else "either"


# -- settings ---------------------------------------------------------------------------------------------------


def odd_setting(chance: random.Random, folder: Path) -> Expected:
    """One setting, at any depth, is something else; or it is gone."""
    path = folder / ("recipe.toml" if (folder / "recipe.toml").exists() else "config.json")
    is_toml = path.suffix == ".toml"
    tree: Any = tomllib.loads(path.read_text()) if is_toml else json.loads(path.read_text())
    table = tree
    while True:
        key = chance.choice([*table])
        if not isinstance(table[key], dict) or not table[key] or chance.random() < 0.1:
            break
        table = table[key]
    value = chance.choice(ODD[:-1] if is_toml else ODD)
    if chance.random() < 0.1:
        del table[key]
    elif chance.random() < 0.1:
        table[f"{key}_x"] = table.pop(key)
    else:
        table[key] = min(value, 2**63 - 1) if is_toml and isinstance(value, int) else value
    path.write_text(tomli_w.dumps(tree) if is_toml else json.dumps(tree))
    return "either"


def huge_setting(chance: random.Random, folder: Path) -> Expected:
    """A width of a billion, a billion layers."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    key = chance.choice([key for key in HUGE if key in config])
    config[key] = chance.choice((10**9, 10**12, -(10**9), 2**31, 2**63))
    path.write_text(json.dumps(config))
    return "either" if key == "max_position_embeddings" else "refused"  # rotary ones have no table


def no_architecture(chance: random.Random, folder: Path) -> Expected:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["architectures"] = chance.choice((3, "GPT2LMHeadModel", [3], [], {"a": 1}, ["NoModel"], [["Model"]]))
    if chance.random() < 0.5:
        config["model_type"] = chance.choice((3, [], {}, None, "no-model"))
    path.write_text(json.dumps(config))
    return "either"


ANY: tuple[Change, ...] = (
    missing_tensor, other_shape, other_type, broken_weights, missing_file, broken_file, odd_setting, odd_setting,
)  # fmt: skip
CHANGES: tuple[tuple[str, Change], ...] = (
    *(("toy", change) for change in ANY), *(("gpt", change) for change in ANY),
    *((name, change) for name in ("gpt-folder", "llama-folder") for change in (*ANY, huge_setting, no_architecture)),
)  # fmt: skip


RUNS = tuple((name, change) for name, change in CHANGES if not name.endswith("-folder"))
IMPORTED = tuple((name, change) for name, change in CHANGES if name.endswith("-folder"))


def bad_runs(seed: int, number: int, folder: Path) -> Case:
    """The case with this number: the run is loaded and asked."""
    return bad_folder(RUNS, seed, number, folder, lambda copy: copy)


def bad_imports(seed: int, number: int, folder: Path) -> Case:
    """The case with this number: the folder is imported, loaded and asked."""

    def imported(copy: Path) -> Path:
        import_folder(copy, folder / "imported")
        return folder / "imported"

    return bad_folder(IMPORTED, seed, number, folder, imported)


def bad_folder(
    changes: tuple[tuple[str, Change], ...], seed: int, number: int, folder: Path, made: Callable[[Path], Path]
) -> Case:
    chance = random.Random(f"{seed} {number}")
    name, change = changes[number % len(changes)]
    copy = Path(shutil.copytree(originals()[name], folder / name))
    expected = change(chance, copy)

    def run() -> str:
        load(made(copy)).predict(["a b c"])
        return ""

    return Case(f"{name} {change.__name__} {number}", expected, run)

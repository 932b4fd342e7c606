"""A run becomes a folder that others read without any code of ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.files import write_json
from regard.interop import generation
from regard.interop.families import family_of_model
from regard.interop.files import SINGLE
from regard.interop.folders import new_folder, refuse_taken
from regard.interop.importing import CONFIG
from regard.interop.vocabulary import TOKENIZER, symbol_ids, tokenizer_settings
from regard.interop.weights import weights_out
from regard.runs.load import Run, load
from regard.training import checkpoints


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of it; the keys of ``regard export --json``."""

    folder: str
    target: str
    architecture: str
    parameters: int


def export(run: str | Path, to: str, out: str | Path) -> Exported:
    """Writes a run into the new folder ``out`` in the format ``to``."""
    if to not in TARGETS:
        raise OptionError(f"--to {to} is not known{nearest(to, TARGETS)}; known: {', '.join(TARGETS)}")
    target = Path(out).expanduser()
    refuse_taken(target)
    return TARGETS[to](load(run, device="cpu"), target)


def to_huggingface(run: Run, out: Path) -> Exported:
    """config.json, model.safetensors, generation_config.json and the tokenizer's files."""
    family = family_of_model(run.recipe.model.kind, str(run.folder.path))
    table = run.recipe.model.model_dump()
    model: Any = run.model
    longest = model.context or run.recipe.task.context  # type: ignore[attr-defined]
    if "context" in table:
        table["context"] = longest  # they must know one
    tokenizer = run.vocabularies.target
    symbols = symbol_ids(tokenizer.specials)
    config = {**family.config(table, str(run.folder.path)), **symbols, "vocab_size": tokenizer.size}
    weights = weights_out(family, table, checkpoints.weights_of(run.model))
    with new_folder(out) as part:
        write_json(part / CONFIG, config)
        write_json(part / generation.FILE, {**symbols, **generation.generation_settings(run.recipe.decoding)})
        tokenizer.save(part / TOKENIZER)
        own = run.recipe.tokenizer.kind != "imported"
        for name, content in tokenizer_settings(tokenizer, longest, own=own).items():
            write_json(part / name, content)
        save_file(weights, part / SINGLE, metadata={"format": "pt"})
    count = sum(tensor.numel() for tensor in weights.values())
    return Exported(str(out), "huggingface", family.architecture, count)


TARGETS: dict[str, Callable[[Run, Path], Exported]] = {"huggingface": to_huggingface}

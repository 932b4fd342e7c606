"""Exports a run to a folder that other libraries read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers as library
from safetensors.torch import save_file

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.files import write_json, write_text
from regard.core.seams.capabilities import Continues
from regard.data.modalities.text.vocabularies import TARGET
from regard.interop.ctranslate2 import conversion as ctranslate2
from regard.interop.folders import check_empty, check_no_head, new_folder
from regard.interop.huggingface import enclosing, generation
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.known import family_of_model
from regard.interop.huggingface.files import SINGLE
from regard.interop.huggingface.importing import CONFIG
from regard.interop.huggingface.vocabulary import CONFIG as SETTINGS
from regard.interop.huggingface.vocabulary import TOKENIZER, answer_ids, closed, symbol_ids, tokenizer_settings
from regard.interop.huggingface.weights import weights_out
from regard.interop.onnx.export import write_onnx
from regard.layers.positions import TablePosition
from regard.runs.load import Run, load
from regard.tasks.translation import TeacherForcing
from regard.training import checkpoints


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of it; the keys of ``regard export --json``."""

    folder: str
    target: str
    architecture: str
    loader: str
    parameters: int


def export(run: str | Path, to: str, out: str | Path, dtype: str = "") -> Exported:
    """Writes a run into the new folder ``out`` in the format ``to``; ``dtype``: of its weights, if it matters."""
    if to not in TARGETS:
        raise OptionError(f"--to {to} is not known{nearest(to, TARGETS)}; known: {', '.join(TARGETS)}")
    target = TARGETS[to]
    if dtype and dtype not in target.dtypes:
        choice = f"known: {', '.join(target.dtypes)}" if target.dtypes else "it has no choice of it: leave out --dtype"
        raise OptionError(f"--to {to} does not write weights as {dtype!r}{nearest(dtype, target.dtypes)}; {choice}")
    folder = Path(out).expanduser()
    check_empty(folder)
    return target.write(load(run, device="cpu"), folder, dtype or next(iter(target.dtypes), ""))


def to_ctranslate2(run: Run, out: Path, dtype: str) -> Exported:
    """model.bin, config.json, vocabularies, and our tokenizers, whose pieces the model is asked with."""
    spec = ctranslate2.convert(run, out, dtype)
    count = sum(tensor.numel() for tensor in checkpoints.weights_of(run.model).values())
    loader = "Generator" if isinstance(run.task, Continues) else "Translator"
    return Exported(str(out), "ctranslate2", spec.name, loader, count)


def to_huggingface(run: Run, out: Path, dtype: str = "") -> Exported:
    """config.json, model.safetensors, generation_config.json and the tokenizer's files."""
    check_no_head(run)
    where, table = str(run.folder.path), run.recipe.model.settled().model_dump()
    family = family_of_model(table, where)
    context = text_max_length(run) if family.task != "translation" else 0
    if "context" in table:
        table["context"] = context  # they must know one
    tokenizer = run.vocabularies.source
    config = {**family.config(table, where, vocabulary_problems(run)), "vocab_size": tokenizer.size}
    dressed = folder_parts(run, family, context)
    learned = checkpoints.weights_of(run.model)
    with new_folder(out) as part:
        write_json(part / CONFIG, {**config, **dressed.symbols})
        if dressed.generation:
            write_json(part / generation.FILE, {**dressed.symbols, **dressed.generation})
        write_text(part / TOKENIZER, dressed.pieces.to_str(pretty=True))
        if not run.vocabularies.joint:
            write_text(part / TARGET, closed(run.vocabularies.target).to_str(pretty=True))
        for name, content in dressed.files.items():
            write_json(part / name, content)
        save_file(weights_out(family, table, learned), part / SINGLE, metadata={"format": "pt"})
    count = sum(tensor.numel() for tensor in learned.values())
    return Exported(str(out), "huggingface", family.architecture, family.loader, count)


def vocabulary_problems(run: Run) -> list[str]:
    if not run.vocabularies.shared:
        return ["tokenizer.joint = false; they have one tokenizer for both sides only"]
    tables = [module for module in run.model.modules() if isinstance(module, TablePosition)]
    first = max((table.first for table in tables), default=0)
    return enclosing.position_problems(first, run.vocabularies.target.specials)


def text_max_length(run: Run) -> int:
    model: Any = run.model
    task: Any = run.recipe.task
    return model.max_length or task.context


@dataclass(frozen=True, slots=True)
class FolderParts:
    """What goes around the weights: special symbols, how answers are chosen, pieces, and the files beside them."""

    symbols: dict[str, int | None]
    generation: dict[str, Any]
    pieces: library.Tokenizer
    files: dict[str, Any]


def folder_parts(run: Run, family: Family, context: int) -> FolderParts:
    tokenizer, strategy = run.vocabularies.source, run.recipe.decoding
    specials, own = tokenizer.specials, run.recipe.tokenizer.kind != "imported"
    model: Any = run.model
    if family.task == "masked-language-model":
        settings = enclosing.enclosing_settings(tokenizer, context, model.config.segments)
        return FolderParts(symbol_ids(specials), {}, enclosing.enclosed(tokenizer), {SETTINGS: settings})
    if family.task == "language-model":
        files = tokenizer_settings(tokenizer, context, own=own)
        return FolderParts(symbol_ids(specials), generation.generation_settings(strategy), tokenizer.raw, files)
    task = run.recipe.task
    assert isinstance(task, TeacherForcing)
    positions = model.max_lengths[1]
    wanted = strategy.max_length or task.max_length + 1
    chosen = generation.answer_settings(strategy, specials, min(wanted, positions))
    files = tokenizer_settings(tokenizer, positions, own=own)
    return FolderParts(answer_ids(specials), chosen, closed(tokenizer), files)


def to_onnx(run: Run, out: Path, dtype: str = "") -> Exported:
    """Graphs for onnxruntime, tokenizers, and regard.json, which says how to call them."""
    files = write_onnx(run, out)
    count = sum(tensor.numel() for tensor in checkpoints.weights_of(run.model).values())
    return Exported(str(out), "onnx", ", ".join(files), "onnxruntime.InferenceSession", count)


@dataclass(frozen=True, slots=True)
class Target:
    """A format: who writes it, and as what the weights may be written, the usual first; none: as they are."""

    write: Callable[[Run, Path, str], Exported]
    dtypes: tuple[str, ...] = ()


TARGETS = {
    "huggingface": Target(to_huggingface),
    "onnx": Target(to_onnx),
    "ctranslate2": Target(to_ctranslate2, ctranslate2.DTYPES),
}

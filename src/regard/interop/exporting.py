"""Exports a run to a folder that other libraries read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers as library
from safetensors.torch import save_file

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.files import write_json, write_text
from regard.core.seams import reads_segments
from regard.core.seams.capabilities import Continues
from regard.core.seams.modality import Preprocesses
from regard.data.modalities.text.modality import USUAL_LENGTH
from regard.data.modalities.text.tokenizers import ImportedTokenizer
from regard.data.modalities.text.vocabularies import TARGET
from regard.interop.ctranslate2 import conversion as ctranslate2
from regard.interop.folders import check_empty, new_folder
from regard.interop.huggingface import enclosing, generation, preprocessing
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.known import family_of_model
from regard.interop.huggingface.files import SINGLE
from regard.interop.huggingface.importing import CONFIG
from regard.interop.huggingface.vocabulary import CONFIG as SETTINGS
from regard.interop.huggingface.vocabulary import TOKENIZER, answer_ids, closed, symbol_ids, tokenizer_settings
from regard.interop.huggingface.weights import weights_out
from regard.interop.onnx.export import write_onnx
from regard.layers.headed import Headed, body_of
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
    loader = "Generator" if isinstance(run.task, Continues) else "Translator"
    return Exported(str(out), "ctranslate2", spec.name, loader, parameter_count(run))


def to_huggingface(run: Run, out: Path, dtype: str = "") -> Exported:
    """config.json, model.safetensors, and what prepares inputs: tokenizers, or the size and norm of pictures."""
    family = family_of_run(run)
    table, parts = run.recipe.model.settled().model_dump(), folder_parts(run, family)
    if "max_length" in table:
        table["max_length"] = text_max_length(run)  # they must know one
    task = run.recipe.task.model_dump()
    config = family.config(table, task, str(run.folder.path), parts.problems)
    with new_folder(out) as part:
        write_json(part / CONFIG, {**config, **parts.settings})
        for name, content in parts.files.items():
            write_json(part / name, content)
        for name, pieces in parts.tokenizers.items():
            write_text(part / name, pieces.to_str(pretty=True))
        weights = weights_out(family, table, checkpoints.weights_of(run.model))
        save_file(weights, part / SINGLE, metadata={"format": "pt"})
    return Exported(str(out), "huggingface", family.architecture, family.loader, parameter_count(run))


def parameter_count(run: Run) -> int:
    """How many numbers training changes, those that are shared once; buffers in the same file do not count."""
    return sum(weight.numel() for weight in run.model.parameters())


def family_of_run(run: Run) -> Family:
    """The architecture of theirs that computes the same."""
    table, task = run.recipe.model.settled().model_dump(), run.recipe.task.model_dump()
    is_headed = isinstance(run.model, Headed)
    return family_of_model(table, task, str(run.folder.path), headed=is_headed, start=run.recipe.start.run)


def vocabulary_problems(run: Run) -> list[str]:
    if not run.vocabularies.shared:
        return ["tokenizer.joint = false; they have one tokenizer for both sides only"]
    tables = [module for module in run.model.modules() if isinstance(module, TablePosition)]
    first = max((table.first for table in tables), default=0)
    return enclosing.position_problems(first, run.vocabularies.target.specials)


def text_max_length(run: Run) -> int:
    """How many tokens are read at once."""
    model: Any = body_of(run.model)
    task: Any = run.recipe.task
    if isinstance(run.model, Headed):
        return task.max_length or USUAL_LENGTH
    return model.max_length or task.max_length


@dataclass(frozen=True, slots=True)
class FolderParts:
    """What goes around the weights: settings of config.json (special symbols, sizes), further files (how answers are
    chosen, how inputs are prepared), tokenizers; and what cannot be said there."""

    settings: dict[str, Any]
    files: dict[str, Any]
    tokenizers: dict[str, library.Tokenizer]
    problems: list[str]


def folder_parts(run: Run, family: Family) -> FolderParts:
    return picture_parts(run) if family.reads == "pictures" else text_parts(run, family)


def picture_parts(run: Run) -> FolderParts:
    if not isinstance(run.modalities.input, Preprocesses):
        return FolderParts({}, {}, {}, [f"input.kind = {run.recipe.input.kind!r}; theirs reads pictures only"])
    said, problems = run.modalities.input.preprocessing(), list[str]()
    rows, columns = said["shape"]
    size = rows if rows == columns else [rows, columns]
    files = {preprocessing.FILE: preprocessing.written_preprocessing(said, problems)}
    return FolderParts({"image_size": size, "num_channels": said["channels"]}, files, {}, problems)


def text_parts(run: Run, family: Family) -> FolderParts:
    tokenizer, problems = run.vocabularies.source, vocabulary_problems(run)
    symbols, chosen, pieces, files = tokenizer_parts(run, family)
    if chosen:
        files = {generation.FILE: {**symbols, **chosen}, **files}
    tokenizers = {TOKENIZER: pieces}
    if not run.vocabularies.joint:
        tokenizers[TARGET] = closed(run.vocabularies.target)
    return FolderParts({"vocab_size": tokenizer.size, **symbols}, files, tokenizers, problems)


class TokenizerParts(NamedTuple):
    """Special symbols, how answers are chosen, pieces, and the files beside them."""

    symbols: dict[str, int | None]
    generation: dict[str, Any]
    pieces: library.Tokenizer
    files: dict[str, Any]


def tokenizer_parts(run: Run, family: Family) -> TokenizerParts:
    tokenizer, strategy = run.vocabularies.source, run.recipe.decoding
    specials, own = tokenizer.specials, not isinstance(run.recipe.tokenizer, ImportedTokenizer)
    if family.encloses:
        segments = reads_segments(body_of(run.model))
        settings = enclosing.enclosing_settings(tokenizer, text_max_length(run), segments=segments)
        return TokenizerParts(symbol_ids(specials), {}, enclosing.enclosed(tokenizer), {SETTINGS: settings})
    if family.task == "language-model":
        files = tokenizer_settings(tokenizer, text_max_length(run), own=own)
        return TokenizerParts(symbol_ids(specials), generation.generation_settings(strategy), tokenizer.raw, files)
    model: Any = run.model
    task = run.recipe.task
    assert isinstance(task, TeacherForcing)
    positions = model.max_lengths[1]
    wanted = strategy.max_length or task.max_length + 1
    chosen = generation.answer_settings(strategy, specials, min(wanted, positions))
    files = tokenizer_settings(tokenizer, positions, own=own)
    return TokenizerParts(answer_ids(specials), chosen, closed(tokenizer), files)


def to_onnx(run: Run, out: Path, dtype: str = "") -> Exported:
    """Graphs for onnxruntime, tokenizers, and regard.json, which says how to call them."""
    files = write_onnx(run, out)
    return Exported(str(out), "onnx", ", ".join(files), "onnxruntime.InferenceSession", parameter_count(run))


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

"""Imports a Hugging Face folder as a run folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers as library
import torch
from torch import Tensor, nn

from regard.core.config import drop_unused, parse
from regard.core.errors import OptionError, RunError
from regard.core.files import read_json, write_json, write_text
from regard.core.ports import INPUT, Ports, text_ports
from regard.core.seams.capabilities import HasHead
from regard.core.seams.task import Task
from regard.core.symbols import Specials
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.decoding.options import Beam
from regard.interop.folders import check_empty, new_folder
from regard.interop.huggingface import enclosing, preprocessing
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.heads import READ_AT_ONCE
from regard.interop.huggingface.families.known import family_of_config
from regard.interop.huggingface.files import open_weights
from regard.interop.huggingface.generation import decoding_table
from regard.interop.huggingface.vocabulary import (
    Sides,
    check_answering,
    read_tokenizers,
    special_ids,
    symbol_names,
    tokenizer_file,
)
from regard.interop.huggingface.weights import BY_SYMBOL, weights_in
from regard.layers.headed import Headed
from regard.runs.folder import RunFolder
from regard.runs.integrity import write_summary
from regard.runs.recipe import Recipe
from regard.runs.starting import without_prefix
from regard.runs.train import Trained, build_task, headed
from regard.training import checkpoints, machine

CONFIG = "config.json"
LARGEST = 100_000_000
"""Above all sizes that models have; the base of rotary angles is none of them."""
BASE = "theta"


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of it; the keys of ``regard import --json``. ``notes`` say what was left behind."""

    run: str
    architecture: str
    task: str
    parameters: int
    pieces: int
    context: int
    weights_sha256: str
    notes: tuple[str, ...]


def import_folder(
    folder: str | Path,
    out: str | Path,
    *,
    convert: bool = False,
    ignored: Iterable[str] = (),
    named: str = "",
    case: str = "",
) -> Imported:
    """Reads what ``save_pretrained`` wrote, and writes a run folder that ``regard.load`` opens.

    ``convert`` opens pickled weights; ``ignored`` are settings of config.json of which the user knows that they
    change nothing; ``named`` is the family of a folder that does not name one; ``case`` says whether a vocab.txt is for
    lower case ("lower") or not ("keep"), where nothing else does.
    """
    source, target = Path(folder).expanduser(), Path(out).expanduser()
    check_empty(target)
    config = read_config(source)
    where = str(source / CONFIG)
    family = family_of_config(config, where, named)
    table = family.table(config, where, ignored)
    config = {**family.vocabulary, **config}
    notes: list[str] = []
    inputs = READERS[family.reads](source, family, config, notes, case)
    table, stored = family.settle(table, open_weights(source, convert=convert), str(source))
    recipe = recipe_of(source, family, config, table, inputs, notes)
    if not family.headed and recipe.task.generates:
        note_penalty(recipe.decoding, notes)
    task = build_task(recipe, Corpus({}, Ledger()), inputs.modalities)
    table = recipe.model.model_dump()
    weights = weights_in(family, table, empty_model(recipe, task, inputs.ports), stored, str(source))
    weights = {name: cut(name, tensor, inputs.pieces) for name, tensor in weights.items()}
    if family.lacks_head(family.full_names(stored)):
        weights = with_new_head(recipe, task, weights, notes)
    imported = Imported(
        run=str(target),
        architecture=family.architecture,
        task=family.task,
        parameters=sum(tensor.numel() for tensor in weights.values()),
        pieces=inputs.pieces,
        context=max_length_of_table(table),
        weights_sha256=checkpoints.weights_hash(weights),
        notes=tuple(notes),
    )
    with new_folder(target) as part:
        write_run(RunFolder(part), recipe, inputs.modalities, weights, imported)
    return imported


class FolderInputs(NamedTuple):
    """How inputs are read: by these modalities, which the recipe's ``tables`` speak of. ``ports`` are those of their
    weights, whose embedding may have rows that no piece has."""

    modalities: Modalities
    tables: dict[str, Any]
    ports: Ports
    pieces: int


def read_texts(
    folder: Path, family: Family, config: dict[str, Any], notes: list[str], case: str
) -> FolderInputs:
    """Tokenizers, and where their special symbols stand."""
    held = tokenizer_file(folder)
    if READ_AT_ONCE in held:
        config[READ_AT_ONCE] = held[READ_AT_ONCE]
    sides = read_tokenizers(folder, config, notes, case)
    raw = sides.source
    symbols = check_sizes(raw, config["vocab_size"], folder, notes)
    specials = symbols_of(family, folder, raw, config, notes)
    tokenizer = {"kind": "imported", "joint": sides.source is sides.target, **asdict(specials)}
    modalities = Modalities.of_text(vocabularies_of(sides, specials))
    return FolderInputs(
        modalities, {"tokenizer": tokenizer}, text_ports(symbols, symbols, shared=True), raw.get_vocab_size()
    )


def read_pictures(
    folder: Path, family: Family, config: dict[str, Any], notes: list[str], case: str
) -> FolderInputs:
    """How pictures are prepared, which must give what the model's settings say that it reads."""
    if case:
        raise OptionError(f"--case is for texts, and {folder} reads pictures; leave it out")
    usual = f"{family.architecture.partition('For')[0]}ImageProcessor"
    table = preprocessing.read_preprocessing(folder, usual, config["num_channels"])
    wanted = preprocessing.both_sides(config["image_size"]) or tuple(config["image_size"])
    if tuple(table["size"]) != wanted:
        made, reads = (" × ".join(map(str, size)) for size in (table["size"], wanted))
        raise RunError(f"{folder}: {preprocessing.FILE} makes pictures of {made}, the model of {CONFIG} reads {reads}")
    from regard.data.modalities.image.modality import ImagePart  # which needs Pillow

    part = parse(ImagePart, table, where=f"{folder / preprocessing.FILE}, as [input]")
    modality = part.given()
    return FolderInputs(Modalities(modality), {"input": table}, {INPUT: modality.port()}, 0)


READERS = {"text": read_texts, "pictures": read_pictures}
"""By what a family reads."""


def empty_model(recipe: Recipe, task: Task, ports: Ports) -> nn.Module:
    """The run's model without contents."""
    with torch.device("meta"):
        body = recipe.model.build(ports)
        return Headed(body, task.head(body)) if isinstance(task, HasHead) else body


def read_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise RunError(
            f"there is no folder {folder}; download a model first, as with: hf download {folder} --local-dir FOLDER"
        )
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} has no {CONFIG}; name the folder that save_pretrained wrote, or hf download")
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict):
        raise RunError(f"{folder / CONFIG} is not a table of settings")
    large = ((key, number) for key, number in whole_numbers(config) if abs(number) >= LARGEST)
    huge = [f"{key} = {number:.3g}" for key, number in large if BASE not in key]
    if huge:
        raise RunError(f"{folder / CONFIG}: no model is so large: {', '.join(huge)}; download the file again")
    return config


def whole_numbers(tree: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """All of a table and of what it holds, by their keys."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from whole_numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, int):
        yield path, tree


def check_sizes(raw: library.Tokenizer, symbols: Any, folder: Path, notes: list[str]) -> int:
    """How many rows the embedding has: at least one for each piece."""
    pieces = raw.get_vocab_size()
    if not isinstance(symbols, int) or pieces > symbols:
        raise RunError(
            f"{folder}: the tokenizer has {pieces} pieces, but vocab_size in {CONFIG} is {symbols}; "
            "this is not the tokenizer that the model was trained with"
        )
    if symbols > pieces:
        notes.append(f"{symbols - pieces} rows of the embedding belong to no token and were dropped")
    return symbols


def cut(name: str, tensor: Tensor, pieces: int) -> Tensor:
    """Without the rows of symbols that do not exist."""
    return tensor[:pieces].clone() if without_prefix(name) in BY_SYMBOL and len(tensor) > pieces else tensor


def with_new_head(recipe: Recipe, task: Task, weights: dict[str, Tensor], notes: list[str]) -> dict[str, Tensor]:
    """A body that came alone gets a head of random weights, a function of the recipe's seed."""
    fresh = checkpoints.weights_of(headed(recipe, task))
    what = "says which class it is" if isinstance(task, HasHead) else "guesses hidden words"
    notes.append(f"the folder has no head: the run's own, which {what}, is new and untrained")
    return {name: weights.get(name, tensor) for name, tensor in fresh.items()}


def symbols_of(
    family: Family, folder: Path, raw: library.Tokenizer, config: dict[str, Any], notes: list[str]
) -> Specials:
    """An encoder–decoder's answers open with a symbol of their own, and its sources close with one."""
    if family.task == "language-model":
        return special_ids(folder, raw, config, notes)
    if family.encloses:
        needed = ("pad", "sos", "eos") if family.headed else tuple(enclosing.NAMED)
        return enclosing.enclosing_ids(folder, raw, symbol_names(folder, enclosing.NAMED), needed=needed)
    specials = special_ids(folder, raw, {**config, "bos_token_id": config["decoder_start_token_id"]}, notes)
    check_answering(folder, raw, specials, notes)
    return specials


def max_length_of_table(table: dict[str, Any]) -> Any:
    """How many tokens there may be; 0: it reads none."""
    return table.get("max_length") or table["position"].get("max_length", 0)


def vocabularies_of(sides: Sides, specials: Specials) -> Vocabularies:
    source = Tokenizer(sides.source, specials)
    target = source if sides.target is sides.source else Tokenizer(sides.target, specials)
    return Vocabularies(source, target, same_ids=True)


def recipe_of(
    folder: Path, family: Family, config: dict[str, Any], table: dict[str, Any], inputs: FolderInputs, notes: list[str]
) -> Recipe:
    """A complete recipe; its data are still to be named."""
    name = folder.resolve().name
    data = family.data
    tree = {
        "name": name,
        "description": f"{family.architecture} from {name}",
        "data": {"kind": data},
        **inputs.tables,
        "model": table,
        "task": {
            "kind": family.task,
            **({"max_length": max_length_of_table(table)} if data == "text" else {}),
            **family.read_task(config, table, notes),
        },
    }
    if family.reads == "text":
        tree["decoding"] = decoding_table(folder)
    made = parse(Recipe, tree, f"{folder / CONFIG}, as a recipe", drop_unused)
    return made.model_copy(update={"model": made.model.settled()})


def note_penalty(strategy: Any, notes: list[str]) -> None:
    if isinstance(strategy, Beam):
        penalty = f"decoding.length_penalty = {strategy.length_penalty}"
        notes.append(
            f"num_beams = {strategy.size} was imported; {penalty} is our default, since theirs has another formula"
        )


def write_run(
    folder: RunFolder, recipe: Recipe, modalities: Modalities, weights: dict[str, Tensor], imported: Imported
) -> None:
    ledger = Ledger()
    ledger.notes += imported.notes
    ledger.save(folder.ledger)
    folder.checkpoints.mkdir()
    modalities.save(folder.path)
    write_json(folder.environment, machine.environment(torch.device("cpu")))
    untrained = Trained(
        run=imported.run,
        steps=0,
        seconds=0.0,
        tokens_per_second=0.0,
        validation_loss=math.nan,
        weights_sha256=imported.weights_sha256,
    )
    write_summary(folder, asdict(untrained))
    checkpoints.save_tensors(folder.weights, weights)
    write_text(folder.recipe, recipe.to_toml())

"""Trains a recipe into a run folder: data, tokenizers, model, loop, final weights."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from regard.core.auto import is_auto
from regard.core.errors import OptionError, RegardError, RunError
from regard.core.files import write_json, write_text
from regard.core.ports import Ports
from regard.core.seams import Observer
from regard.core.seams.capabilities import ChecksLengths, HasHead
from regard.core.seams.task import Task
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.layers.adapters import add_adapters, merge_adapters
from regard.layers.headed import Headed
from regard.runs.fitting import fit_to_inputs
from regard.runs.folder import RunFolder
from regard.runs.formats.upgrade import read_run_recipe
from regard.runs.integrity import read_summary, save_held_out, write_summary
from regard.runs.journal import MetricsFile, TensorBoard
from regard.runs.memory import check_memory, count_parameters, explain_out_of_memory
from regard.runs.modalities import are_kept, fit_modalities, load_modalities, take_over
from regard.runs.pretrained_vectors import load_pretrained_vectors
from regard.runs.recipe import Recipe
from regard.runs.starting import Origin, check_vocabulary, freeze, load_pretrained, start_from
from regard.runs.teaching import taught_by, teacher_of, with_teachers_answers
from regard.training import checkpoints, machine
from regard.training.config import Extent
from regard.training.loop import Loop
from regard.training.observers import Observers


@dataclass(frozen=True, slots=True)
class Trained:
    """What training reports; the keys of ``regard train --json``."""

    run: str
    steps: int
    seconds: float
    tokens_per_second: float
    validation_loss: float
    weights_sha256: str


def train(
    recipe: Recipe | Mapping[str, Any] | str | Path,
    out: str | Path = "",
    settings: Iterable[str] = (),
    *,
    start: str | Path = "",
    resume: bool = False,
    observers: Iterable[Observer] = (),
    decide: Decide | None = None,
) -> Trained:
    """Trains a recipe into the folder ``out`` (by default ``runs/NAME``) and returns what came of it.

    ``start`` names a run whose model, tokenizer and weights it starts from (``start.run`` in the recipe). ``decide``
    chooses what is left of the recipe once the data is read; a run that is resumed keeps what was decided.
    """
    settings = [*settings, *([f"start.run={json.dumps(str(start))}"] if start else [])]
    made = taught_by(start_from(Recipe.of(recipe, settings), settings))
    made.check_fit()
    folder = RunFolder(Path(out or Path("runs") / (made.name or "run")))
    machine.tune_allocator()
    machine.set_threads(made.training.threads)
    ranks = machine.init_ranks(made.device)
    if ranks.is_main:
        folder.check_same_run(made.to_toml(), resume=resume)
    if resume and folder.recipe.exists():
        made = made.as_decided(read_run_recipe(folder.recipe))
        decide = decide if is_auto(made.training.steps) else None  # a kill may have come before that
    was_empty, loop = folder.is_empty, None
    ranks.barrier()  # until here nobody writes
    if resume and folder.summary.exists() and folder.weights.exists():
        return _finished(folder)
    try:
        with explain_out_of_memory():
            loop = prepare(made, folder, ranks, observers, decide)
            if resume and was_empty:
                loop.observers.on_message(f"there is nothing to resume in {folder.path}: a new run begins")
            elif resume:
                loop.resume()
            loop.run()
    except (RegardError, KeyboardInterrupt):
        if was_empty and ranks.is_main and (loop is None or loop.progress.step <= 1):
            folder.empty()  # nothing was trained yet: with other settings the same place will do
        raise
    loop.finish()
    return _finish(loop, folder, merge=made.start.adapters.merge)


class Gathered(NamedTuple):
    """All that is there before a model is: what was read, what was learned from it, and how much of it there is."""

    recipe: Recipe
    corpus: Corpus[Any]
    modalities: Modalities
    task: Task
    extent: Extent


Decide = Callable[[Gathered], Recipe]
"""What chooses the rest of a recipe once its data is known: the steps of a time budget, the size of a model."""


def prepare(
    recipe: Recipe,
    folder: RunFolder,
    ranks: machine.Ranks,
    observers: Iterable[Observer],
    decide: Decide | None = None,
) -> Loop:
    """Everything up to the first step; what is made here is in the folder before training starts."""
    told = _observers(recipe, folder, observers) if ranks.is_main else Observers()
    gathered = gather(recipe, folder, ranks, told)
    if decide is not None:
        gathered = gathered._replace(recipe=decide(gathered))
    return new_loop(gathered, folder, ranks, told)


def gather(recipe: Recipe, folder: RunFolder, ranks: machine.Ranks, told: Observer) -> Gathered:
    """Reads the data and learns from it what the modalities need; the folder keeps both."""
    told.on_phase("reading the data")
    corpus = load_corpus(recipe)
    recipe = resolve_task(recipe, corpus)
    if ranks.is_main:
        write_text(folder.recipe, recipe.to_toml())  # first: from here on the folder can be resumed
        folder.clear()
        folder.checkpoints.mkdir(exist_ok=True)
        write_json(folder.environment, machine.environment(machine.choose_device(recipe.device)))
    told.on_phase("measuring the training data" if not recipe.input.is_text else "learning the tokenizer")
    modalities = _modalities(recipe, corpus, folder, ranks)
    if ranks.is_main:
        corpus = with_teachers_answers(recipe, corpus, folder, told)
    ranks.barrier()
    if not ranks.is_main:
        corpus = with_teachers_answers(recipe, corpus, folder, told)  # which the folder holds by now
    check_vocabulary(recipe.start, modalities, corpus)
    task = build_task(recipe, corpus, modalities)
    if ranks.is_main:
        save_held_out(folder, corpus)
        corpus.ledger.save(folder.ledger)
    told.on_phase("encoding the examples")
    return Gathered(recipe, corpus, modalities, task, Extent.of(task.examples("train", 0)))


def resolve_auto(recipe: Recipe, gathered: Gathered) -> Recipe:
    """A recipe with every "auto" decided by the data that was gathered."""
    return recipe.settled(gathered.extent, lambda: count_parameters(recipe.model, gathered.task.ports()))


def new_loop(gathered: Gathered, folder: RunFolder, ranks: machine.Ranks, told: Observers) -> Loop:
    """A new model and its training; what of the recipe was undecided is decided, and written."""
    device, task = machine.choose_device(gathered.recipe.device), gathered.task
    check_memory(gathered.recipe.model, task.ports(), device)
    recipe = resolve_auto(gathered.recipe, gathered)
    if ranks.is_main:
        write_text(folder.recipe, recipe.to_toml())
    model = headed(recipe, task)
    if isinstance(task, ChecksLengths):
        task.check_lengths(model, recipe.training.batch_tokens)
    load_pretrained_vectors(recipe, model, gathered.modalities, folder.checkpoints, told)
    if not recipe.start.run:
        fit_to_inputs(model, gathered.corpus.splits["train"], gathered.modalities.input, folder.checkpoints)
    load_pretrained(recipe.start, model, gathered.modalities, folder.checkpoints, told)
    adapt(recipe, model)
    freeze(model, recipe.start.frozen)
    model.to(device)
    teacher = teacher_of(recipe, task, gathered.modalities, device)
    kept = folder.checkpoints
    return Loop(model, task, recipe.training, recipe.seed, kept, device, ranks=ranks, observers=told, teacher=teacher)


def _observers(recipe: Recipe, folder: RunFolder, others: Iterable[Observer]) -> Observers:
    every = recipe.training.log_every
    drawn = [TensorBoard(folder.path / "tensorboard", every)] if recipe.training.tensorboard else []
    return Observers([MetricsFile(folder.metrics, every), *others, *drawn])


def load_corpus(recipe: Recipe) -> Corpus[Any]:
    return recipe.data.load(recipe.data_seed or recipe.seed, Ledger())


def build_task(recipe: Recipe, corpus: Corpus[Any], modalities: Modalities) -> Task:
    if recipe.tokenizer.pair_dropout and not recipe.task.cuts_anew:
        raise OptionError(
            f"tokenizer.dropout is for pairs, which are segmented every epoch, not for {recipe.task.kind}; set it to 0"
        )
    if recipe.input.mixes and not recipe.task.mixes:
        raise OptionError(
            f"input.augmentation mixes pictures, so that their answers are mixtures, which {recipe.task.kind} does not "
            "know; set input.augmentation.mixup and input.augmentation.cutmix to 0"
        )
    return recipe.task.build(corpus, modalities, recipe.seed)


def build_model(recipe: Recipe, ports: Ports) -> nn.Module:
    """A new model whose first weights are a function of the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return recipe.model.build(ports)


def headed(recipe: Recipe, task: Task) -> nn.Module:
    """The model of a recipe, with the head of its task where that has one."""
    model = build_model(recipe, task.ports())
    if not isinstance(task, HasHead):
        return model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return Headed(model, task.head(model))


def adapt(recipe: Recipe, model: nn.Module) -> None:
    """Hangs adapters on the model where the recipe wants some; how they start is a function of the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        add_adapters(model, recipe.start.adapters)


def resolve_task(recipe: Recipe, corpus: Any) -> Recipe:
    """The recipe with what its data decides (labels), so that the run folder needs no data to be loaded again."""
    return recipe.model_copy(update={"task": recipe.task.resolved(corpus)})


def _modalities(recipe: Recipe, corpus: Any, folder: RunFolder, ranks: machine.Ranks) -> Modalities:
    """Learned once and kept: a resumed run reads the files that it wrote."""
    if ranks.is_main and not are_kept(recipe, folder.path):
        if recipe.start.run and recipe.start.tokenizer == "keep":
            take_over(recipe, Origin.at(recipe.start.run).modalities(), corpus).save(folder.path)
        elif recipe.teacher.run and not recipe.start.run:
            take_over(recipe, Origin.at(recipe.teacher.run).modalities(), corpus).save(folder.path)
        else:
            fit_modalities(recipe, corpus).save(folder.path)
    ranks.barrier()
    return load_modalities(recipe, folder.path)


def _finished(folder: RunFolder) -> Trained:
    """What came of a training that is over, as it stands in the folder."""
    held = read_summary(folder)
    if set(held) != {field.name for field in fields(Trained)}:
        raise RunError(
            f"{folder.summary} is not the summary of a training, its keys being {', '.join(held) or 'none'}; "
            "remove it, and --resume writes it again"
        )
    if held["validation_loss"] is None:  # there was no validation split
        held["validation_loss"] = math.nan
    return Trained(**held)


def _finish(loop: Loop, folder: RunFolder, *, merge: bool) -> Trained:
    """Writes the final weights and the summary; the figures are those of the training loop."""
    if merge:
        merge_adapters(loop.model)
    weights = checkpoints.weights_of(loop.model)
    progress = loop.progress
    validation = loop.measure("validation") if loop.config.final != "last" else {}
    trained = Trained(
        run=str(folder.path),
        steps=progress.step,
        seconds=progress.seconds,
        tokens_per_second=progress.tokens / max(progress.seconds, 1e-9),
        validation_loss=validation.get("loss", progress.validation_loss),
        weights_sha256=checkpoints.weights_hash(weights),
    )
    if loop.ranks.is_main:
        write_weights(folder.weights, weights)
        write_summary(folder, asdict(trained))
    loop.ranks.barrier()
    return trained


def write_weights(path: Path, weights: dict[str, torch.Tensor]) -> None:
    from regard.core.files import write_atomically

    try:
        write_atomically(path, lambda part: checkpoints.save_tensors(part, weights))
    except OSError as error:
        raise RunError(f"{path} could not be written: {error}") from error

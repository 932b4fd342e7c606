"""Starts a run from another: its body and tokenizer, frozen weights, and pieces that both vocabularies have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from regard.core.config import Config, drop_overridden, override, parse
from regard.core.errors import RecipeError, RunError, enumerate_problems
from regard.core.seams import HasGrid, Interpolates, Observer
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.modality import TextModality
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.layers.adapters import AdapterConfig, matches, merged_weights
from regard.layers.headed import body_of
from regard.runs.folder import RunFolder
from regard.runs.integrity import check_hashes
from regard.training import checkpoints

BODY = "body."
SAMPLE = 2000
"""Training texts that are looked at to see whether a tokenizer fits them."""


class StartConfig(Config):
    """Which run the weights come from, and what of them may change."""

    run: str = ""  # a run folder; its model, and its tokenizer if that is kept, replace the recipe's
    taken: bool = False  # whether the model and tokenizer of that run stand in this recipe already
    tokenizer: Literal["keep", "retrain"] = "keep"  # retrain: on these texts; tokens that both know keep their vectors
    unknown: float = Field(0.05, ge=0, le=1)  # the largest share of unknown pieces with which a tokenizer fits
    frozen: tuple[str, ...] = ()  # names of weights that stay as they are, as in ["embedding*", "layers.0.*"]
    adapters: AdapterConfig = Field(default_factory=AdapterConfig)

    def unused(self) -> dict[str, str]:
        if not self.run:
            reason = "start.run names no run to start from (--from names one)"
            return dict.fromkeys(("taken", "tokenizer", "unknown"), reason)
        if self.tokenizer == "retrain":
            return {"unknown": 'tokenizer = "retrain", so the tokenizer is trained on these very texts'}
        return {}


class Origin(NamedTuple):
    """The run that is started from."""

    folder: RunFolder
    recipe: Any

    @classmethod
    def at(cls, run: str) -> Origin:
        from regard.runs.recipe import Recipe  # which has a StartConfig in it

        folder = RunFolder(Path(run).expanduser())
        folder.require(folder.recipe, folder.weights)
        return cls(folder, Recipe.of_run(folder.recipe))

    def modalities(self) -> Modalities:
        from regard.runs.modalities import load_modalities  # which knows recipes

        return load_modalities(self.recipe, self.folder.path)

    def grid(self) -> tuple[int, ...]:
        """That which the positions of its body fill, if they fill one; no weights are made."""
        with torch.device("meta"):
            return grid_of(self.recipe.model.build(self.modalities().ports()))


def start_from(recipe: Any, settings: Iterable[str] = ()) -> Any:
    """The recipe with the model and tokenizer of the run that it starts from; ``--set model.…`` and ``--set input.…``
    have the last word."""
    if not recipe.start.run or recipe.start.taken:
        return recipe
    origin = Origin.at(recipe.start.run)
    tree = recipe.model_dump()
    tree["start"]["taken"] = True
    tree["model"] = origin.recipe.model.model_dump()
    if recipe.start.tokenizer == "keep":
        tree["input"] = recipe.input.continued(origin.recipe.input).model_dump()
        if origin.recipe.input.is_text or origin.recipe.answers_in_text:
            tree["tokenizer"] = origin.recipe.tokenizer.model_dump()
            if "dropout" in tree["tokenizer"]:
                tree["tokenizer"]["dropout"] = recipe.tokenizer.pair_dropout
    own = [setting for setting in settings if setting.strip().startswith(("model.", "input."))]
    where = f"the recipe started from {recipe.start.run}"
    return parse(type(recipe), override(tree, own, type(recipe)), where, drop_overridden(own, whole=True))


def check_vocabulary(start: StartConfig, modalities: Modalities, corpus: Any) -> None:
    """A tokenizer that knows too little of the new texts is refused, with what may be done."""
    if not start.run or start.tokenizer == "retrain" or not corpus.splits.get("train"):
        return
    if not isinstance(modalities.input, TextModality):
        return
    vocabularies = modalities.vocabularies
    streams = corpus.training_texts(vocabularies.joint)
    problems = []
    for tokenizer, texts in zip((vocabularies.source, vocabularies.target), streams):
        sample = [text for _, text in zip(range(SAMPLE), texts)]
        ids = [id for row in tokenizer.encode_batch(sample) for id in row]
        unknown = sum(id == tokenizer.specials.unk for id in ids)
        if ids and unknown / len(ids) > start.unknown:
            problems.append(f"{unknown / len(ids):.1%} of the pieces of the training texts are unknown to it")
    if problems:
        raise RunError(
            enumerate_problems(f"the tokenizer of {start.run} does not fit", problems)
            + '. Set start.tokenizer="retrain" to train a tokenizer on these texts (tokens that both know keep their '
            f"vectors), or allow it with start.unknown=1.0 (now {start.unknown})"
        )


def load_pretrained(
    start: StartConfig, model: nn.Module, modalities: Modalities, kept: Path, observer: Observer
) -> None:
    """Fills the model with the weights of the run that it starts from; a checkpoint in ``kept`` has them already."""
    if not start.run or checkpoints.latest(kept)[0] is not None:
        return
    origin = Origin.at(start.run)
    theirs_whole = checkpoints.load_tensors(origin.folder.weights)
    check_hashes(origin.folder, theirs_whole)
    held = merged_weights(theirs_whole, origin.recipe.start.adapters.alpha)
    wanted = checkpoints.weights_of(model)
    theirs = {without_prefix(name): tensor for name, tensor in body_weights(held).items()}
    ours = body_weights(wanted)
    notes: list[str] = []
    if start.tokenizer == "retrain":
        before, after = origin.modalities().vocabularies, modalities.vocabularies
        theirs = {**theirs, **copy_shared_rows(before, after, theirs, ours, notes)}
    grids = origin.grid(), grid_of(model)
    if grids[0] != grids[1]:
        theirs = interpolated(model, theirs, grids[0])
        written = ["×".join(map(str, grid)) for grid in grids]
        notes.append(f"what was learned about the places of {written[0]} patches is interpolated to {written[1]}")
    missing = [
        f"{name} {tuple(tensor.shape)}: {found(theirs.get(without_prefix(name)))}"
        for name, tensor in ours.items()
        if without_prefix(name) not in theirs or theirs[without_prefix(name)].shape != tensor.shape
    ]
    if missing:
        raise RunError(
            enumerate_problems(f"the body of {start.run} does not fit the model of this recipe", missing)
            + "\nStart from a run with a body of the same kind, and leave out --set model.… that changes its shape"
        )
    model.load_state_dict({name: theirs[without_prefix(name)] for name in ours}, strict=False)
    fresh = [name for name in wanted if name not in ours]
    taken = {without_prefix(name) for name in ours}
    left = [name for name in held if without_prefix(name) not in taken]
    notes.insert(0, f"{len(ours)} tensors come from {start.run}" + (f", {len(fresh)} are new" if fresh else "")
                 + (f", {len(left)} of its tensors are not needed" if left else ""))  # fmt: skip
    for note in notes:
        observer.on_message(note)


def grid_of(model: nn.Module) -> tuple[int, ...]:
    body = body_of(model)
    return body.grid if isinstance(body, HasGrid) else ()


def interpolated(model: nn.Module, weights: Mapping[str, Tensor], grid: tuple[int, ...]) -> dict[str, Tensor]:
    """Weights of a body that was trained on this grid, by plain names, as the model's grid needs them."""
    body = body_of(model)
    return body.interpolated(weights, grid) if isinstance(body, Interpolates) else dict(weights)


def without_prefix(name: str) -> str:
    return name.removeprefix(BODY)


def body_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without the head of a task; a model that has none is all body."""
    return {name: tensor for name, tensor in weights.items() if name.startswith(BODY)} or dict(weights)


def found(tensor: Tensor | None) -> str:
    return "there is none" if tensor is None else f"found {tuple(tensor.shape)}"


# -- pieces that both know ------------------------------------------------------------------------------------


def copy_shared_rows(
    old: Vocabularies,
    new: Vocabularies,
    theirs: Mapping[str, Tensor],
    ours: Mapping[str, Tensor],
    notes: list[str],
) -> dict[str, Tensor]:
    """Every tensor with a row for each piece: rows of shared pieces are theirs, the others stay as they start."""
    result: dict[str, Tensor] = {}
    told = set()
    for name, fresh in ours.items():
        held = theirs.get(without_prefix(name))
        side = "source" if "source" in name else "target"
        before, after = (old.source, new.source) if side == "source" else (old.target, new.target)
        if held is None or len(held) != before.size or len(fresh) != after.size or held.shape[1:] != fresh.shape[1:]:
            continue
        pairs = shared_pieces(before, after)
        rows = fresh.clone()
        rows[torch.tensor([to for _, to in pairs])] = held[torch.tensor([of for of, _ in pairs])]
        result[without_prefix(name)] = rows
        if side not in told:
            told.add(side)
            notes.append(f"{len(pairs):,} of {after.size:,} {side} tokens keep their embeddings, others start random")
    return result


def shared_pieces(before: Tokenizer, after: Tokenizer) -> list[tuple[int, int]]:
    """(id before, id after) of pieces that are spelled the same, and of special symbols with the same duty."""
    specials = [
        (before.specials.named()[name], after.specials.named()[name])
        for name in ("pad", "sos", "eos", "unk", "mask")
    ]
    duties = [(of, to) for of, to in specials if of >= 0 and to >= 0]
    special = {of for of, _ in duties} | set(before.specials.known())
    ids = {before.token(id): id for id in range(before.size) if id not in special}
    own = set(after.specials.known())
    pieces = ((ids.get(after.token(id)), id) for id in range(after.size) if id not in own)
    return duties + [(of, to) for of, to in pieces if of is not None]


# -- what stays as it is --------------------------------------------------------------------------------------


def freeze(model: nn.Module, patterns: Sequence[str]) -> list[str]:
    """The weights whose names match are not trained; a pattern that matches nothing is refused."""
    names = {without_prefix(name): parameter for name, parameter in model.named_parameters()}
    idle = [pattern for pattern in patterns if not any(matches(name, [pattern]) for name in names)]
    if idle:
        raise RecipeError(
            f"start.frozen: nothing is called {', '.join(map(repr, idle))}; available: {', '.join(names)}"
        )
    chosen = [name for name in names if matches(name, patterns)]
    for name in chosen:
        names[name].requires_grad_(False)
    if names and not any(parameter.requires_grad for parameter in names.values()):
        raise RecipeError("start.frozen leaves nothing to train; take a pattern out")
    return chosen

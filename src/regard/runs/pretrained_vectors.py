"""Loads pre-trained word vectors into the embeddings of a new model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from torch import nn

from regard.core.errors import DataError, RecipeError
from regard.core.seams import Observer
from regard.core.symbols import SPECIAL_SYMBOLS
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vectors import read_vectors
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.readers import find_file, missing_files
from regard.layers.embeddings import HasEmbedding, PretrainedConfig, PretrainedEmbedding
from regard.runs.recipe import Recipe
from regard.training import checkpoints

_SHOWN = 20


class PretrainedVectors(NamedTuple):
    """Embeddings of one vocabulary, and the file that has the vectors of its words."""

    vocabulary: str
    embeddings: list[PretrainedEmbedding]
    words: list[str]  # what each id says
    file: Path


def load_pretrained_vectors(
    recipe: Recipe, model: nn.Module, modalities: Modalities, kept: Path, observer: Observer
) -> None:
    """Fills the model's borrowed embeddings; where ``kept`` has a whole checkpoint, that has their weights already."""
    config = recipe.model.embedding if isinstance(recipe.model, HasEmbedding) else None
    if not isinstance(config, PretrainedConfig) or checkpoints.latest(kept)[0] is not None:
        return
    files = _pretrained(config, model, modalities.vocabularies)
    absent = [file for file in dict.fromkeys(loan.file for loan in files) if not file.is_file()]
    if absent:
        raise missing_files(absent, "Check model.embedding.source and model.embedding.target")
    missing = {loan.vocabulary: _fill(loan, config.width) for loan in files}
    if config.missing == "refuse" and any(missing.values()):
        complaints = [_too_few_words(loan, missing[loan.vocabulary]) for loan in files if missing[loan.vocabulary]]
        raise DataError(
            "\n".join(complaints)
            + '\nTake a larger file, or set model.embedding.missing="random" to leave their vectors random'
        )
    for one in files:
        observer.on_message(_note(one, missing[one.vocabulary]))


# -- which file for whom ----------------------------------------------------------------------------------------


def _pretrained(config: PretrainedConfig, model: nn.Module, vocabularies: Vocabularies) -> list[PretrainedVectors]:
    """One for each vocabulary, so that a file which serves both sides is read once."""
    files = _files(config, joint=vocabularies.joint)
    modules = dict(model.named_modules(remove_duplicate=False))
    embeddings = {side: modules.get(f"{side}_embedding") for side in files}
    borrowed = {side: found for side, found in embeddings.items() if isinstance(found, PretrainedEmbedding)}
    nameless = [side for side in borrowed if not files[side]]
    if nameless:
        sides = nameless[-1:] if vocabularies.joint else nameless
        raise RecipeError(
            "model.embedding is 'borrowed', but no file of word vectors is named; set "
            + " and ".join(f"model.embedding.{side}=path/to/vectors" for side in sides)
        )
    paths = {side: find_file(Path(files[side]).expanduser()) for side in borrowed}
    if vocabularies.joint and borrowed:
        words = surface_words(vocabularies.target)
        return [PretrainedVectors("joint", list(borrowed.values()), words, next(iter(paths.values())))]
    tokenizers = {"source": vocabularies.source, "target": vocabularies.target}
    return [
        PretrainedVectors(side, [found], surface_words(tokenizers[side]), paths[side])
        for side, found in borrowed.items()
    ]


def _files(config: PretrainedConfig, *, joint: bool) -> dict[str, str]:
    """The file of each side; a joint vocabulary has one."""
    if not joint:
        return {"source": config.source, "target": config.target}
    if config.source and config.target and config.source != config.target:
        raise RecipeError(
            "both sides have one vocabulary (tokenizer.joint = true), so one file of word vectors serves both, but "
            f"model.embedding.source is {config.source!r} and model.embedding.target is {config.target!r}; leave "
            "one of them out, or set tokenizer.joint=false"
        )
    return dict.fromkeys(("source", "target"), config.target or config.source)


# -- the loan itself --------------------------------------------------------------------------------------------


def _fill(loan: PretrainedVectors, width: int) -> list[str]:
    """Copies the vectors of all words that have one, as written or in lower case; returns the words without."""
    wanted = {form for word in loan.words if word for form in (word, word.lower())}
    vectors = read_vectors(loan.file, width, wanted)
    spellings = [word if word in vectors else word.lower() for word in loan.words]
    for embedding in loan.embeddings:
        embedding.load_pretrained(spellings, vectors)
    return [word for word in _countable(loan.words) if word not in vectors and word.lower() not in vectors]


def surface_words(tokenizer: Tokenizer) -> list[str]:
    """What each id says, without the spaces around it: nothing for a space and for most special symbols."""
    return [text.strip() for text in tokenizer.decode_batch([id] for id in range(tokenizer.size))]


def _countable(words: Sequence[str]) -> list[str]:
    """Each word once; the special symbols are none (<unk> may still find a vector), nor is a space."""
    return [word for word in dict.fromkeys(words[len(SPECIAL_SYMBOLS) :]) if word]


def _too_few_words(loan: PretrainedVectors, missing: Sequence[str]) -> str:
    known = len(_countable(loan.words))
    shown = ", ".join(map(repr, missing[:_SHOWN])) + ("…" if len(missing) > _SHOWN else "")
    return (
        f"{loan.file} has no vector for {len(missing):,} of the {known:,} words of the {loan.vocabulary} "
        f"vocabulary: {shown}"
    )


def _note(loan: PretrainedVectors, missing: Sequence[str]) -> str:
    known = len(_countable(loan.words))
    rest = f"; {len(missing):,} stay random" if missing else ""
    return (
        f"{known - len(missing):,} of the {known:,} words of the {loan.vocabulary} vocabulary have their vector from "
        f"{loan.file}{rest}"
    )

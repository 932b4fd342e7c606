"""Borrowed vectors reach the embeddings of a new model, stay as they are told to, and are not needed afterwards."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.core.errors import DataError, RecipeError
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import BpeTokenizer, CharacterTokenizer, Tokenizer, WordTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.layers.embeddings import PretrainedEmbedding
from regard.runs.journal import NullObserver
from regard.runs.pretrained_vectors import load_pretrained_vectors, surface_words
from regard.runs.recipe import Recipe
from regard.runs.train import build_model, build_task
from regard.training.observers import Observers

WIDTH = 5
TINY = (
    "data.train_size=60", "data.validation_size=10", "data.test_size=5", "data.symbols=6", "data.max_length=5",
    "model.kind=fixed-context", "model.width=8", "model.tied=none", "model.embedding.kind=borrowed",
    f"model.embedding.width={WIDTH}", "training.steps=3", "training.batch_tokens=100", "decoding.max_length=4",
)  # fmt: skip
LETTERS = "abcdef"


class Listener(NullObserver):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_message(self, message: str) -> None:
        self.heard.append(message)


def vector_of(word: str) -> np.ndarray:
    """A vector that only this word has."""
    return np.random.default_rng(list(word.encode())).normal(size=WIDTH).astype(np.float32)


def write_vectors(path: Path, words: Iterable[str]) -> Path:
    lines = [f"{word} {' '.join(map(str, vector_of(word)))}\n" for word in words]
    path.write_bytes(gzip.compress("".join(lines).encode()) if path.suffix == ".gz" else "".join(lines).encode())
    return path


def weight_of(model: torch.nn.Module, name: str) -> torch.Tensor:
    return model.get_parameter(f"{name}.weight").detach()


def words_and_rows(tokenizer: Tokenizer, model: torch.nn.Module, side: str) -> Iterable[tuple[str, np.ndarray]]:
    return zip(surface_words(tokenizer), weight_of(model, f"{side}_embedding").numpy(), strict=True)


def filled(
    tmp_path: Path, vocabularies: Vocabularies, *settings: str, listener: Listener | None = None
) -> torch.nn.Module:
    """A new model for these vocabularies, its embeddings borrowed."""
    recipe = Recipe.read("copy", [*TINY, *settings])
    modalities = Modalities.of_text(vocabularies)
    model = build_model(recipe, build_task(recipe, Corpus({}, Ledger()), modalities).ports())
    observers = Observers([listener] if listener else [])
    load_pretrained_vectors(recipe, model, modalities, tmp_path / "checkpoints", observers)
    return model


def words(*texts: str) -> Tokenizer:
    return WordTokenizer(min_frequency=1).train(texts)


def one(*texts: str) -> Vocabularies:
    tokenizer = words(*texts)
    return Vocabularies(tokenizer, tokenizer)


# -- a whole training -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["fixed-context", "bahdanau"])
def test_frozen_vectors_are_the_files_after_training_and_loading_needs_no_file(family: str, tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt.gz", LETTERS)
    settings = [*TINY, f"model.kind={family}", "model.width=8", "model.tied=none", "model.embedding.kind=borrowed"]
    settings += [f"model.embedding.width={WIDTH}", f"model.embedding.target={file}"]
    listener = Listener()
    trained = regard.train("copy", tmp_path / "run", settings, observers=[listener])
    assert trained.steps == 3
    assert listener.heard == [f"6 of the 6 words of the joint vocabulary have their vector from {file}"]
    file.unlink()
    run = regard.load(tmp_path / "run")
    fresh = build_model(run.recipe, run.task.ports())
    for side in ("source", "target"):
        found = dict(words_and_rows(run.vocabularies.target, run.model, side))
        assert set(LETTERS) <= found.keys()
        for letter in LETTERS:
            assert found[letter].tobytes() == vector_of(letter).tobytes()
        specials, at_first = (weight_of(one, f"{side}_embedding")[:4] for one in (run.model, fresh))
        assert torch.equal(specials, at_first), "special symbols stay random, and frozen"
    assert not torch.equal(weight_of(run.model, "head"), weight_of(fresh, "head")), "the rest was trained"
    assert len(run.predict(["a b c"])) == 1


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon"])
def test_vectors_are_trained_on_where_they_are_not_frozen(optimizer: str, tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", LETTERS)
    settings = [
        *TINY, f"model.embedding.source={file}", "model.embedding.frozen=false", "model.tied=all",
        f"training.optimizer.kind={optimizer}",
    ]  # fmt: skip
    regard.train("copy", tmp_path / "run", settings)
    run = regard.load(tmp_path / "run")
    assert run.model.source_embedding is run.model.target_embedding
    assert isinstance(run.model.target_embedding, PretrainedEmbedding)
    found = dict(words_and_rows(run.vocabularies.target, run.model, "target"))
    for letter in LETTERS:
        assert not np.array_equal(found[letter], vector_of(letter))
        assert np.allclose(found[letter], vector_of(letter), atol=0.1), "three small steps away"


def test_no_optimizer_moves_frozen_vectors_or_those_without_a_word(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", "abc")
    settings = [*TINY, f"model.embedding.target={file}", "model.embedding.missing=random"]
    for optimizer in ("adam", "adamw", "muon"):
        decay = [f"training.optimizer.kind={optimizer}", "training.optimizer.weight_decay=0.1"]
        regard.train("copy", tmp_path / optimizer, [*settings, *decay])
        run = regard.load(tmp_path / optimizer)
        fresh = build_model(run.recipe, run.task.ports())
        after = dict(words_and_rows(run.vocabularies.target, run.model, "target"))
        before = dict(words_and_rows(run.vocabularies.target, fresh, "target"))
        for letter in LETTERS:
            expected = vector_of(letter) if letter in "abc" else before[letter]
            assert after[letter].tobytes() == expected.tobytes()


def test_a_resumed_run_takes_its_checkpoint_and_no_file(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", LETTERS)
    settings = [*TINY, f"model.embedding.target={file}", "model.embedding.frozen=false"]
    whole = regard.train("copy", tmp_path / "whole", settings)
    again = regard.train("copy", tmp_path / "run", settings)
    for name in ("summary.json", "model.safetensors"):
        (tmp_path / "run" / name).unlink()
    file.unlink()
    resumed = regard.train("copy", tmp_path / "run", settings, resume=True)
    assert whole.weights_sha256 == again.weights_sha256 == resumed.weights_sha256


def test_a_resumed_run_without_a_whole_checkpoint_borrows_again(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", LETTERS)
    settings = [*TINY, f"model.embedding.target={file}"]
    whole = regard.train("copy", tmp_path / "run", settings)
    for name in ("summary.json", "model.safetensors"):
        (tmp_path / "run" / name).unlink()
    for state in (tmp_path / "run" / "checkpoints").glob("*/state.json"):
        state.write_text("{}", encoding="utf-8")
    assert regard.train("copy", tmp_path / "run", settings, resume=True).weights_sha256 == whole.weights_sha256


# -- which words, which file ------------------------------------------------------------------------------------


def test_a_word_is_looked_for_as_written_then_in_lower_case(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", ["Paris", "paris", "the", "<unk>"])
    both = one("The the Paris PARIS THE the")
    listener = Listener()
    model = filled(tmp_path, both, f"model.embedding.target={file}", listener=listener)
    found = dict(words_and_rows(both.target, model, "target"))
    expected = {"The": "the", "the": "the", "THE": "the", "Paris": "Paris", "PARIS": "paris", "<unk>": "<unk>"}
    for word, spelling in expected.items():
        assert found[word].tobytes() == vector_of(spelling).tobytes(), word
    assert listener.heard == [f"5 of the 5 words of the joint vocabulary have their vector from {file}"]


def test_a_word_has_the_same_vector_after_a_space_and_elsewhere(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", ["cat", "(", ")"])
    both = one("(cat) cat")
    model = filled(tmp_path, both, f"model.embedding.target={file}")
    rows = list(words_and_rows(both.target, model, "source"))
    cats = [row for word, row in rows if word == "cat"]
    assert len(cats) == 2
    assert all(row.tobytes() == vector_of("cat").tobytes() for row in cats)


@pytest.mark.parametrize("config", [CharacterTokenizer(), BpeTokenizer(vocabulary=262, min_frequency=1)])
def test_pieces_of_any_tokenizer_borrow_by_what_they_say(config: WordTokenizer, tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", ["a", "b"])
    tokenizer = config.train(["a b a b"])
    both = Vocabularies(tokenizer, tokenizer)
    model = filled(tmp_path, both, f"model.embedding.target={file}", "model.embedding.missing=random")
    found = dict(words_and_rows(tokenizer, model, "target"))
    assert found["a"].tobytes() == vector_of("a").tobytes()
    assert found["b"].tobytes() == vector_of("b").tobytes()


def test_each_side_has_its_own_file_where_each_has_its_vocabulary(tmp_path: Path) -> None:
    french = write_vectors(tmp_path / "french.txt", ["chat", "noir"])
    english = write_vectors(tmp_path / "english.txt", ["cat", "black"])
    both = Vocabularies(words("chat noir"), words("black cat"))
    files = f"model.embedding.source={french}", f"model.embedding.target={english}"
    listener = Listener()
    model = filled(tmp_path, both, *files, listener=listener)
    for side, known in (("source", ("chat", "noir")), ("target", ("cat", "black"))):
        found = dict(words_and_rows(getattr(both, side), model, side))
        assert all(found[word].tobytes() == vector_of(word).tobytes() for word in known)
    assert listener.heard == [
        f"2 of the 2 words of the source vocabulary have their vector from {french}",
        f"2 of the 2 words of the target vocabulary have their vector from {english}",
    ]


def test_other_embeddings_are_left_alone(tmp_path: Path) -> None:
    recipe = Recipe.read("copy")
    both = Modalities.of_text(one("a b c"))
    model = build_model(recipe, build_task(recipe, Corpus({}, Ledger()), both).ports())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_pretrained_vectors(recipe, model, both, tmp_path, Observers())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


# -- what can be wrong ------------------------------------------------------------------------------------------


def test_missing_words_are_counted_and_the_first_twenty_named(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", ["w0", "w1"])
    both = one(" ".join(f"w{number}" for number in range(25)))
    with pytest.raises(DataError) as caught:
        filled(tmp_path, both, f"model.embedding.target={file}")
    listed = [word for word in surface_words(both.target) if word not in ("", "<unk>", "w0", "w1")]
    assert str(caught.value) == (
        f"{file} has no vector for 23 of the 25 words of the joint vocabulary: "
        f"{', '.join(map(repr, listed[:20]))}…\n"
        'Take a larger file, or set model.embedding.missing="random" to leave their vectors random'
    )
    listener = Listener()
    filled(
        tmp_path, both, f"model.embedding.target={file}", "model.embedding.missing=random", listener=listener
    )
    assert listener.heard == [
        f"2 of the 25 words of the joint vocabulary have their vector from {file}; 23 stay random"
    ]


def test_missing_words_of_both_sides_are_named_at_once(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", ["cat", "noir"])
    both = Vocabularies(words("chat noir"), words("black cat"))
    with pytest.raises(DataError) as caught:
        filled(tmp_path, both, f"model.embedding.source={file}", f"model.embedding.target={file}")
    assert str(caught.value) == (
        f"{file} has no vector for 1 of the 2 words of the source vocabulary: 'chat'\n"
        f"{file} has no vector for 1 of the 2 words of the target vocabulary: 'black'\n"
        'Take a larger file, or set model.embedding.missing="random" to leave their vectors random'
    )


def test_a_side_without_a_file_says_which_key_to_set(tmp_path: Path) -> None:
    apart = Vocabularies(words("chat noir"), words("black cat"))
    start = "model.embedding is 'borrowed', but no file of word vectors is named; set "
    source, target = "model.embedding.source=path/to/vectors", "model.embedding.target=path/to/vectors"
    for vocabularies, settings, remedy in (
        (apart, (), f"{source} and {target}"),
        (apart, ("model.embedding.target=x",), source),
        (apart, ("model.embedding.source=x",), target),
        (one("a b"), (), target),
    ):
        with pytest.raises(RecipeError) as caught:
            filled(tmp_path, vocabularies, *settings)
        assert str(caught.value) == start + remedy


def test_two_files_for_one_vocabulary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        filled(tmp_path, one("a b"), "model.embedding.source=x", "model.embedding.target=y")
    assert str(caught.value) == (
        "both sides have one vocabulary (tokenizer.joint = true), so one file of word vectors serves both, but "
        "model.embedding.source is 'x' and model.embedding.target is 'y'; leave one of them out, or set "
        "tokenizer.joint=false"
    )


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    apart = Vocabularies(words("chat noir"), words("black cat"))
    files = f"model.embedding.source={tmp_path}/french", f"model.embedding.target={tmp_path}/english"
    with pytest.raises(DataError) as caught:
        filled(tmp_path, apart, *files)
    assert str(caught.value) == (
        f"no file {tmp_path}/french; 0 files are in that folder, none with a similar name\n"
        f"no file {tmp_path}/english; 0 files are in that folder, none with a similar name\n"
        "Check model.embedding.source and model.embedding.target"
    )


def test_a_file_of_another_width_says_what_to_set(tmp_path: Path) -> None:
    file = write_vectors(tmp_path / "vectors.txt", LETTERS)
    with pytest.raises(DataError, match=r"have 5 numbers, model\.embedding\.width is 7: set model\.embedding\.width=5"):
        filled(tmp_path, one("a b"), f"model.embedding.target={file}", "model.embedding.width=7")


def test_frozen_vectors_cannot_be_the_output_matrix(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r'which must be learned, .* set model\.tied = "none"'):
        filled(tmp_path, one("a b"), "model.tied=all")

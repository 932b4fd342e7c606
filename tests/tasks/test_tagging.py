"""Tagging from files to answers: it learns, keeps every word, and refuses what it cannot know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from regard.core.errors import DataError, OptionError
from regard.core.inputs import Inputs
from regard.core.seams.task import Session
from regard.data.corpus import Corpus
from regard.data.examples import Tagged
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.decoding.options import Greedy
from regard.layers.headed import Headed
from regard.models.bert import BertConfig
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train
from regard.tasks.tagging import Tagging, TaggingConfig

TINY = {"kind": "bert", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0, "position": {"max_length": 40}}
MOODS = {"kind": "world-moods", "train_size": 20, "validation_size": 2, "test_size": 2, "compositional_size": 0}
NAMES, PLACES, VERBS = ("Ann", "Bob", "Eve", "Tom"), ("Paris", "Rome", "Oslo"), ("sees", "likes", "leaves")


def people(count: int, seed: int) -> str:
    """Sentences in columns: a name of one word or two, a verb, a place; "Lee" alone is nobody."""
    generator = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(count):
        lines += [f"{generator.choice(NAMES)} x B-PER"]
        lines += ["Lee x I-PER"] if generator.random() < 0.5 else []
        lines += [f"{generator.choice(VERBS)} x O", f"{generator.choice(PLACES)} x B-LOC"]
        lines += ["and x O", "Lee x O"] if generator.random() < 0.5 else []
        lines += [""]
    return "\n".join(lines)


def recipe(folder: Path, **changes: Any) -> dict[str, Any]:
    """A tagger of the files train, validation and test in a folder."""
    files = {name: str(folder / f"{name}.conll") for name in ("train", "validation", "test")}
    tree: dict[str, Any] = {
        "data": {"kind": "tagged", **files},
        "tokenizer": {"kind": "wordpiece", "vocabulary": 80, "min_frequency": 1},
        "model": TINY,
        "task": {"kind": "tagging", "max_length": 12, "dropout": 0.0},
        "training": {
            "steps": 80, "batch_tokens": 256, "threads": 1, "learning_rate": 1e-2, "validate_every": 80,
            "schedule": {"kind": "constant"},
        },
    }  # fmt: skip
    return {**tree, **changes}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    for number, (name, count) in enumerate({"train": 300, "validation": 20, "test": 30}.items()):
        (folder / f"{name}.conll").write_text(people(count, number))
    return folder


@pytest.fixture(scope="module")
def run(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("tagger") / "run"
    train(recipe(files), out)
    return load(out)


def test_it_learns_to_tag_and_is_scored_by_word_and_by_entity(run: Run) -> None:
    scores = evaluate(run)
    assert scores["accuracy"] == 1.0
    assert scores["accuracy_low"] < 1.0
    assert scores["entity_f1"] == scores["entity_precision"] == scores["entity_recall"] == 1.0
    assert scores["entity_types"].keys() == {"LOC", "PER"}
    assert scores["entities"] == 60
    assert scores["sentences"] == 30
    assert scores["classes"]["I-PER"]["f1"] == 1.0
    assert scores["errors"] == []


def test_answers_have_a_tag_for_every_word(run: Run) -> None:
    assert run.predict(["Ann Lee likes Rome", "Bob sees Oslo and Lee"]) == [
        "Ann/B-PER Lee/I-PER likes/O Rome/B-LOC", "Bob/B-PER sees/O Oslo/B-LOC and/O Lee/O",
    ]  # fmt: skip
    ((answer,),) = run.answers(["Ann sees Rome"])
    assert 0.9 < answer.score <= 1.0
    assert answer.log_probability <= 0.0


def test_words_and_entities_know_their_place_in_the_text(run: Run) -> None:
    text = "  Ann\tLee \u3000likes   Rome\n"
    task: Any = run.task
    (answer,) = task.tag(run.session(), [text])
    words = answer.words
    assert [(one.word, one.tag) for one in words] == [
        ("Ann", "B-PER"), ("Lee", "I-PER"), ("likes", "O"), ("Rome", "B-LOC"),
    ]  # fmt: skip
    assert all(text[one.start : one.stop] == one.word for one in words)
    (found,) = task.entities(run.session(), [text])
    assert [(one.label, one.text) for one in found] == [("PER", "Ann\tLee"), ("LOC", "Rome")]
    assert all(text[one.start : one.stop] == one.text for one in found)
    assert found[0].probability == pytest.approx((words[0].probability + words[1].probability) / 2)


def test_texts_without_words_have_answers_without_words(run: Run) -> None:
    assert run.predict(["", "  ", "Ann"]) == ["", "", "Ann/B-PER"]
    assert run.answers(["\x00"])[0][0].text == "\x00/O"


@settings(max_examples=25, deadline=None)
@given(
    words=some.lists(some.sampled_from([*NAMES, *VERBS, *PLACES, "Lee", "unheard"]), min_size=1, max_size=25),
    strange=some.lists(some.tuples(some.integers(0, 25), some.sampled_from(["\x00", "\u0301", "\u200d"])), max_size=4),
)
def test_words_without_pieces_get_a_tag_and_shift_nothing(
    run: Run, words: list[str], strange: list[tuple[int, str]]
) -> None:
    """Some of these sentences are longer than the window."""
    mixed = list(words)
    for place, sign in strange:
        mixed.insert(place, sign)
    task: Any = run.task
    ours, theirs = (one.words for one in task.tag(run.session(), [" ".join(words), " ".join(mixed)]))
    assert [one.word for one in theirs] == mixed
    signs = {sign for _, sign in strange}
    heard = [one for one in theirs if one.word not in signs]
    assert [(one.word, one.tag) for one in heard] == [(one.word, one.tag) for one in ours]
    assert [one.probability for one in heard] == pytest.approx([one.probability for one in ours], abs=1e-5)
    assert {one.tag for one in theirs if one.word in signs} <= {"O"}


def test_long_sentences_are_cut_in_training_and_read_whole_in_scores(files: Path, tmp_path: Path) -> None:
    """A text of many sentences: every word of it is scored, though the window holds ten."""
    joined = people(12, 7).replace("\n\n", "\n")
    for name in ("train", "test"):
        (tmp_path / f"{name}.conll").write_text(people(200, 5) + "\n\n" + joined)
    (tmp_path / "validation.conll").write_text(joined)
    tagger = recipe(tmp_path)
    train(tagger, tmp_path / "run")
    words = len([line for line in joined.splitlines() if line])
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text())
    (cut,) = [one for one in ledger["exceptions"] if one["what"] == "truncated"]
    assert (cut["split"], cut["reason"]) == ("train", "longer than task.max_length = 12 tokens")
    assert cut["detail"] == f"{words - 10} words were cut"
    text = (tmp_path / "train.conll").read_text()
    assert cut["line"] == text[: text.index(joined)].count("\n") + 1
    run = load(tmp_path / "run")
    scores = evaluate(run)
    assert scores["in_windows"] == 1
    assert scores["words"] == len([line for line in (tmp_path / "test.conll").read_text().splitlines() if line])
    assert scores["accuracy"] > 0.97, "words far beyond the window are tagged as well as others"
    text = " ".join(line.split()[0] for line in joined.splitlines() if line)
    task: Any = run.task
    (tagged,) = task.tag(run.session(), [text])
    assert [one.word for one in tagged.words] == text.split()
    assert len(tagged.words) == words


@pytest.mark.parametrize("kind", ["gpt", "llama", "recurrent", "transformer"])
def test_other_bodies_tag_as_well(kind: str, files: Path, tmp_path: Path) -> None:
    """Batched as alone, and a body that reads from left to right speaks with the last piece."""
    sizes = {"gpt": {"layers": 1, "heads": 2}, "llama": {"layers": 1, "heads": 2, "groups": 1},
             "transformer": {"encoder_layers": 1, "decoder_layers": 1, "heads": 2}}  # fmt: skip
    model, tokenizer = {"kind": kind, "width": 16, **sizes.get(kind, {})}, {"kind": "bpe", "vocabulary": 300}
    settings = ["task.piece=last", "training.steps=40", "task.max_length=16"]
    train(recipe(files, model=model, tokenizer=tokenizer), tmp_path / "run", settings)
    run = load(tmp_path / "run")
    texts = ["Ann Lee likes Rome", "Tom sees Oslo and Lee", "Eve " * 20]
    together = [own[0] for own in run.answers(texts)]
    alone = [run.answers([text])[0][0] for text in texts]
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-5)
    assert evaluate(run)["accuracy"] > 0.7


def test_a_tagger_starts_from_another_and_is_known_when_resumed(run: Run, files: Path, tmp_path: Path) -> None:
    few = ["training.steps=2"]
    made = train(recipe(files), tmp_path / "child", few, start=run.folder.path)
    again = train(recipe(files), tmp_path / "child", few, start=run.folder.path, resume=True)
    assert again == made
    assert load(tmp_path / "child").predict(["Ann sees Rome"]) == ["Ann/B-PER sees/O Rome/B-LOC"]


# -- loss -----------------------------------------------------------------------------------------------------

SENTENCES = (
    Tagged(("running", "cats", "\x00", "sleep"), ("A", "B", "B", "A"), 1, "file"),
    Tagged(("cats",), ("B",), 2, "file"),
    Tagged(("sleep", "sleep", "running"), ("A", "B", "A"), 3, "file"),
)


def tagging(longest: int = 20, splits: dict[str, tuple[Tagged, ...]] | None = None, **changes: Any) -> Tagging:
    corpus = Corpus(splits or {"train": SENTENCES}, Ledger())
    pieces = WordPieceTokenizer(vocabulary=30, min_frequency=1)
    modalities = Modalities.of_text(Vocabularies.train(pieces, corpus))  # type: ignore[arg-type]
    return TaggingConfig(max_length=longest, **changes).resolved(corpus).build(corpus, modalities, seed=1)


def model_of(task: Tagging) -> torch.nn.Module:
    torch.manual_seed(3)
    body = BertConfig(layers=1, width=16, heads=2, dropout=0.0).build(task.ports())
    return Headed(body, task.head(body)).eval()


def session(task: Tagging) -> Session:
    return Session(model_of(task), torch.device("cpu"), Greedy())


def test_one_loss_term_a_word_and_sums_add_over_examples() -> None:
    task = tagging(dropout=0.0)
    model, examples = model_of(task), task.examples("train", 0)
    batch = task.collate(examples)
    whole = task.sums(model, batch)
    parts = [task.sums(model, task.collate([one])) for one in examples]
    assert whole.counts["loss"] == batch.loss_terms == 7  # eight words, one without a piece
    assert sum(len(one.text.tokens) for one in examples) > 7 + 2 * 3  # so some words have several pieces
    assert float(whole.sums["loss"].detach()) == pytest.approx(sum(float(one.sums["loss"].detach()) for one in parts))
    assert any("1 words have no piece" in note for note in task.corpus.ledger.notes)


def test_the_loss_is_read_at_the_first_piece_of_each_word() -> None:
    """Against the formula, with the states of the pieces that ``Tokenizer.encode`` gives word by word."""
    task = tagging(dropout=0.0)
    model = model_of(task)
    words = [task.reader.tokenizer.encode(word) for word in SENTENCES[0].words]
    ids = [1, *(id for own in words for id in own), 2]
    logits_SC = model(Inputs(torch.tensor([ids]), torch.tensor([len(ids)])))[0]
    firsts = 1 + np.cumsum([0, *map(len, words)])[:-1]
    wanted = [(place, task.places[tag]) for place, tag, own in zip(firsts, SENTENCES[0].tags, words) if own]
    expected = -sum(float(logits_SC.log_softmax(-1)[place, label].detach()) for place, label in wanted)
    found = task.sums(model, task.collate(task.examples("train", 0)[:1]))
    assert found.mean("loss") * found.counts["loss"] == pytest.approx(expected, rel=1e-5)


def test_a_sentence_that_cannot_be_read_is_listed() -> None:
    silent = Tagged(("\x00",), ("A",), 9, "file")
    task = tagging(splits={"train": (*SENTENCES, silent)})
    assert len(task.examples("train", 0)) == 3
    assert [(one.line, one.what) for one in task.corpus.ledger.exceptions] == [(9, "skipped")]


# -- what is refused ------------------------------------------------------------------------------------------


def test_every_tag_that_was_never_learned_is_named() -> None:
    strange = Tagged(("cats", "sleep"), ("C", "D"), 4, "other")
    with pytest.raises(DataError, match="labels that no training example has") as caught:
        tagging(splits={"train": SENTENCES, "test": (strange,)})
    assert "'C' (other, line 4)" in str(caught.value)
    assert "'D' (other, line 4)" in str(caught.value)
    named = tagging(splits={"train": SENTENCES, "test": (strange,)}, labels=("A", "B", "C", "D"))
    assert len(named.examples("test", 0)) == 1


def test_schemes() -> None:
    bio = (Tagged(("cats", "sleep"), ("B-X", "O"), 1, "file"),)
    assert tagging(splits={"train": bio}).bio
    assert not tagging(splits={"train": bio}, scheme="plain").bio
    assert not tagging().bio
    with pytest.raises(DataError, match="a tag is O, or begins with B- or I-") as caught:
        tagging(scheme="bio")
    assert "- A\n  - B" in str(caught.value)
    with pytest.raises(OptionError, match="not BIO tags"):
        task = tagging()
        task.entities(session(task), ["cats sleep"])


def test_the_most_frequent_tag_stands_for_words_without_pieces() -> None:
    task = tagging()
    assert task.config.labels == ("A", "B")  # four of each: the alphabet decides
    assert task.fallback == "A"
    more = tagging(splits={"train": (*SENTENCES, SENTENCES[1])})
    assert more.fallback == "B"
    (answer,) = more.tag(session(more), ["\x00 cats"])
    assert answer.words[0].tag == "B"
    assert answer.words[0].probability == pytest.approx(0.5)


def test_windows_and_data_that_do_not_fit_are_refused(files: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"the body reads 40 tokens, but task\.max_length is 64; set task\.max_len"):
        train(recipe(files), tmp_path / "long", ["task.max_length=64"])
    with pytest.raises(DataError, match="tagging needs words with tags"):
        train(recipe(files, data=MOODS), tmp_path / "moods")
    one = Tagged(("cats",), ("B",), 1, "file")
    with pytest.raises(DataError, match="there is only one class, 'B"):
        model_of(tagging(splits={"train": (one,)}))


def test_lines_of_a_users_own_are_scored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("Ann likes Rome\nBob Lee sees Oslo\n")
    (tmp_path / "tags").write_text("B-PER O B-LOC\nB-PER O O B-LOC\n")
    scores = evaluate(run, source=tmp_path / "words", reference=tmp_path / "tags")
    assert scores["accuracy"] == pytest.approx(6 / 7)
    assert scores["entity_f1"] == pytest.approx(3 / 4)
    (error,) = scores["errors"]
    assert (error["word"], error["tag"], error["predicted"]) == ("Lee", "O", "I-PER")
    assert (error["text"], error["line"]) == ("Bob Lee sees Oslo", 2)
    (tmp_path / "tags").write_text("B-PER O\nB-PER O O B-LOC\n")
    with pytest.raises(DataError, match=r"every word needs a tag.*line 1, has 3 words and 2 tags"):
        evaluate(run, source=tmp_path / "words", reference=tmp_path / "tags")

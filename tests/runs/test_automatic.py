"""Automatic recipes: what is proposed for what files hold, how large a model becomes, and how it is written."""

from __future__ import annotations

import json
import random
import re
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.core import rules
from regard.core.errors import DataError, OptionError
from regard.data.discovery.found import Discovery, Hints
from regard.data.discovery.looking import discover
from regard.runs.automatic.proposal import Decision, Proposal, Size
from regard.runs.automatic.questions import propose
from regard.runs.automatic.sizes import decide_size
from regard.runs.budget import Deadline, measure
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import gather, train
from regard.tasks.language_modelling import LanguageModelling
from regard.training.machine import Ranks
from regard.training.observers import Observers
from tests.graph_files import write_molecules, write_tu
from tests.sounds import write_tones

WORDS = ("red", "green", "blue", "house", "tree", "river", "small", "large", "old", "new")


def sentences(count: int, words: int = 7, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=words)) for _ in range(count)]


def found_in(path: Path, text: str, hints: Hints = Hints()) -> Discovery:  # noqa: B008
    path.write_text(text, encoding="utf-8")
    return discover([path], hints)


def labelled(folder: Path, count: int = 120) -> Discovery:
    rows = [f"{text},{'warm' if 'red' in text else 'cold'}" for text in sentences(count)]
    return found_in(folder / "colours.csv", "\n".join(["text,label", *rows]) + "\n")


def pairs(folder: Path, count: int = 120) -> Discovery:
    rows = [f"{text}\t{text.upper()}" for text in sentences(count)]
    return found_in(folder / "pairs.tsv", "\n".join(["source\ttarget", *rows]) + "\n")


def decided(found: Discovery, folder: Path, seconds: float, *settings: str) -> tuple[Proposal, Recipe]:
    proposal = propose(found)
    gathered = gather(proposal.first().recipe(*settings), RunFolder(folder), Ranks(), Observers())
    return decide_size(proposal, gathered, Deadline(seconds), settings, lambda text: None)


def test_labels_become_a_classifier_that_reads_as_far_as_texts_go(tmp_path: Path) -> None:
    recipe = propose(labelled(tmp_path)).first().recipe()
    assert (recipe.model.kind, recipe.task.kind, recipe.tokenizer.kind) == ("bert", "classification", "wordpiece")
    assert recipe.task.model_dump()["max_length"] == 32  # seven words of 2.5 tokens
    assert recipe.data.model_dump()["label"] == "label"


def test_rare_classes_are_balanced(tmp_path: Path) -> None:
    rows = [f"{text},{'rare' if number % 12 == 0 else 'usual'}" for number, text in enumerate(sentences(144))]
    found = found_in(tmp_path / "rare.csv", "\n".join(["text,label", *rows]) + "\n")
    assert propose(found).tree()["task"]["balance"] == "classes"
    assert "balance" not in propose(labelled(tmp_path)).tree()["task"]


def test_words_and_symbols_have_a_tokenizer_each(tmp_path: Path) -> None:
    chance = random.Random(1)
    spoken = {"a": "AH", "b": "B", "c": "K", "d": "D", "e": "EH", "f": "F"}
    words = {"".join(chance.choices("abcdef", k=6)) for _ in range(300)}
    rows = [f"{word}\t{' '.join(spoken[letter] for letter in word)}" for word in sorted(words)]
    found = found_in(tmp_path / "words.tsv", "\n".join(["word\tpronunciation", *rows]) + "\n")
    tokenizer = propose(found).tree()["tokenizer"]
    assert (tokenizer["kind"], tokenizer["source"]["kind"], tokenizer["target"]["kind"]) == (
        "per-side", "character", "whitespace",
    )  # fmt: skip


def test_sentences_on_both_sides_share_byte_pairs(tmp_path: Path) -> None:
    tokenizer = propose(pairs(tmp_path)).tree()["tokenizer"]
    assert tokenizer == {"kind": "bpe", "vocabulary": 300}


def test_a_text_becomes_a_language_model(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("\n".join(sentences(400)) + "\n")
    recipe = propose(discover([text])).first().recipe()
    assert (recipe.task.kind, recipe.model.kind, recipe.tokenizer.kind) == ("language-model", "llama", "character")


def test_time_decides_size_and_steps_and_much_of_it_is_not_spent_on_learning_by_heart(tmp_path: Path) -> None:
    found = labelled(tmp_path)
    _, short_recipe = decided(found, tmp_path / "short", 60)
    long, long_recipe = decided(found, tmp_path / "long", 600)
    assert short_recipe.training.steps >= 100
    assert short_recipe.model.width <= long_recipe.model.width
    reason = {one.path: one.reason for one in long.decisions}["training.steps"]
    assert reason.endswith("more would overfit")
    assert long_recipe.training.steps < 5000


def test_what_fits_into_the_time_is_told_in_epochs_too(tmp_path: Path) -> None:
    proposal = replace(propose(labelled(tmp_path)), epochs=1e9)  # so that time is what ends it
    gathered = gather(proposal.first().recipe(), RunFolder(tmp_path / "run"), Ranks(), Observers())
    made, recipe = decide_size(proposal, gathered, Deadline(100), (), lambda text: None)
    reason = {one.path: one.reason for one in made.decisions}["training.steps"]
    told = re.fullmatch(r"([\de.+]+) epochs are what fits into 100s, a step taking [\de.-]+ s", reason)
    assert told is not None
    epochs = recipe.training.steps * recipe.training.settled(recipe.model.width, gathered.extent).batch_tokens
    assert float(told[1]) == pytest.approx(epochs / gathered.extent.positions, rel=0.01)


def test_a_language_model_leaves_time_for_what_is_written_beside_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples after validations, and the page at the end."""
    text = tmp_path / "story.txt"
    text.write_text("\n".join(sentences(400)) + "\n")
    short = ("task.max_length=32", "training.batch_tokens=64", "training.steps=9")
    recipe = propose(discover([text])).first().recipe(*short)
    whole, asked = LanguageModelling.sample, list[LanguageModelling]()

    def sample(task: LanguageModelling, *rest: Any) -> str:
        asked.append(task)
        return whole(task, *rest)

    monkeypatch.setattr(LanguageModelling, "sample", sample)
    pace = measure(gather(recipe, RunFolder(tmp_path / "run"), Ranks(), Observers()), recipe, 0.1)
    assert len(asked) == 1
    assert pace.seconds_per_validation > 0
    classifier = propose(labelled(tmp_path)).first().recipe()
    began = time.monotonic()
    left = [Deadline(seconds, began).left_to_train(one) for one in (recipe, classifier) for seconds in (30, 3600)]
    assert left == pytest.approx([27, 3580, 30, 3600], abs=1)


def test_what_the_user_sets_is_kept(tmp_path: Path) -> None:
    settings = ("model.width=96", "model.dropout=0.5", "training.steps=7")
    _, recipe = decided(labelled(tmp_path), tmp_path / "run", 60, *settings)
    assert (recipe.model.width, recipe.model.dropout, recipe.training.steps) == (96, 0.5, 7)


def test_a_hopeless_budget_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="too few to learn anything; give"):
        decided(labelled(tmp_path), tmp_path / "run", 0.01)


@pytest.mark.parametrize("make", [labelled, pairs])
def test_the_written_recipe_is_the_decided_one_with_its_reasons(make: type, tmp_path: Path) -> None:
    proposal, recipe = decided(make(tmp_path), tmp_path / "run", 300)
    path = tmp_path / "written.toml"
    path.write_text(proposal.to_toml(), encoding="utf-8")
    again = Recipe.read(path)
    assert (again.model, again.training, again.data) == (recipe.model, recipe.training, recipe.data)
    assert all(one.reason in proposal.to_toml() for one in proposal.decisions)
    assert proposal.to_toml().startswith("# ")


def test_tables_and_lists_are_written_in_one_line() -> None:
    front = {"kind": "convolution", "channels": [32, 64], "class_token": False}
    written = Proposal({}, (Decision("model.front", front, "why"),), (Size("one", {}),), 1.0).to_toml()
    assert 'front = { kind = "convolution", channels = [32, 64], class_token = false }' in written
    assert tomllib.loads(written)["model"]["front"] == front


def test_what_nothing_is_proposed_for_is_said(tmp_path: Path) -> None:
    found = replace(labelled(tmp_path), task="forecasting")
    with pytest.raises(DataError, match=r"no recipe is proposed for task.kind = .forecasting. on such files; those"):
        propose(found)


# -- other inputs and questions ---------------------------------------------------------------------------------


def tones(folder: Path) -> Discovery:
    return discover([write_tones(folder / "tones", 12)])


def molecules(folder: Path) -> Discovery:
    write_molecules(folder / "mol.sdf", 60, "SOL")
    return discover([folder / "mol.sdf"], Hints(task="regression"))


def rings(folder: Path) -> Discovery:
    write_tu(folder / "RING", 60)
    return discover([folder / "RING"])


def hours(folder: Path) -> Discovery:
    start = np.datetime64("2024-01-01T00:00")
    rows = [f"{start + np.timedelta64(hour, 'h')},{50 + hour % 24}.5" for hour in range(500)]
    return found_in(folder / "load.csv", "\n".join(["time,load", *rows]) + "\n")


def shapes(folder: Path) -> Discovery:
    rows = [",".join(f"{(step + row) * (1 if row % 2 else -1)}" for step in range(9)) for row in range(40)]
    lines = "".join(f"{values}:{'up' if row % 2 else 'down'}\n" for row, values in enumerate(rows))
    return found_in(folder / "shapes.ts", f"@classLabel true up down\n@data\n{lines}")


def prices(folder: Path) -> Discovery:
    rows = [f"{text},{1.7 * number:.2f}" for number, text in enumerate(sentences(60))]
    return found_in(folder / "prices.csv", "\n".join(["text,price", *rows]) + "\n")


def asked(folder: Path) -> Discovery:
    rows = [json.dumps({"question": f"what is house {number}", "context": f"{text} {number}", "answer": f"{number}"})
            for number, text in enumerate(sentences(60))]  # fmt: skip
    return found_in(folder / "asked.jsonl", "\n".join(rows) + "\n")


def trees(folder: Path) -> Discovery:
    rows = [f"(S (NP (D the) (N {one})) (VP (V {other})))\n" for one in WORDS for other in WORDS[:5]]
    return found_in(folder / "trees.mrg", "".join(rows))


def sentence_pairs(folder: Path) -> Discovery:
    rows = [f"{text}\t{text.upper()}" for text in sentences(60)]
    return found_in(folder / "pairs.tsv", "\n".join(["source\ttarget", *rows]) + "\n", Hints(task="embedding"))


KINDS = {
    tones: ("classification", "vit", "audio"), molecules: ("regression", "graph-transformer", "graph"),
    rings: ("classification", "graph-transformer", "graph"), hours: ("forecasting", "vit", "series"),
    shapes: ("classification", "vit", "series"), prices: ("regression", "bert", "text"),
    asked: ("question-answering", "bert", "text"), trees: ("parsing", "transformer", "text"),
    sentence_pairs: ("embedding", "bert", "text"),
}  # fmt: skip


@pytest.mark.parametrize("make", KINDS, ids=[make.__name__ for make in KINDS])
def test_every_kind_of_input_gets_a_recipe_that_trains(make: Callable[[Path], Discovery], tmp_path: Path) -> None:
    proposal = propose(make(tmp_path))
    recipe = proposal.first().recipe("training.steps=2")
    assert (recipe.task.kind, recipe.model.kind, recipe.input.kind) == KINDS[make]
    for size in proposal.sizes:
        proposal.of_size(size).recipe()
    assert train(recipe, out=tmp_path / "run").steps == 2
    (tmp_path / "written.toml").write_text(proposal.first().to_toml(), encoding="utf-8")
    assert Recipe.read(tmp_path / "written.toml").task == proposal.first().recipe().task


@pytest.mark.parametrize(
    "steps, season, expected",
    [(20_000, 24, (168, 24, 24)), (20_000, 7, (28, 7, 7)), (20_000, 1440, (336, 48, 24)), (20_000, 0, (48, 12, 12)),
     (100, 24, (20, 5, 5)), (10, 0, (1, 1, 1))],
)  # fmt: skip
def test_how_far_is_forecast_follows_the_season_and_what_there_is(
    steps: int, season: int, expected: tuple[int, int, int]
) -> None:
    assert rules.forecast_lengths(steps, season) == expected

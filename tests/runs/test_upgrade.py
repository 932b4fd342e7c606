"""Recipes of earlier formats: those in run folders are read as they were meant, in new ones each old key is told."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.core.errors import RecipeError, RunError
from regard.runs.evaluate import evaluate
from regard.runs.formats.format_2 import inline
from regard.runs.formats.upgrade import FORMAT, STEPS, check_renamed, read_run_recipe, upgraded
from regard.runs.recipe import Recipe, keys_below

# [data] as the first format wrote it into run folders, and what became of it.
FIRST: dict[str, tuple[str, dict[str, Any]]] = {
    "pairs in a folder": (
        """
        kind = "pairs"
        folder = "data"
        source = "en"
        target = "fr"
        train = "train"
        validation = "val"
        test = ""
        corpora = []
        validation_size = 1000
        overlap = "warn"
        """,
        {
            "kind": "pairs", "folder": "data", "overlap": "warn", "test": [],
            "train": {"source": "train.en", "target": "train.fr"},
            "validation": {"source": "val.en", "target": "val.fr"},
        },
    ),
    "pairs in corpora": (
        """
        kind = "pairs"
        folder = ""
        source = "en"
        target = "de"
        train = "train"
        validation = "val"
        test = "test2016"
        validation_size = 7
        overlap = "remove"
        [[corpora]]
        source = "a.en"
        target = "a.de"
        file = ""
        source_key = "source"
        target_key = "target"
        split = "train"
        weight = 1.0
        [[corpora]]
        source = ""
        target = ""
        file = "b.tsv.gz"
        source_key = "source"
        target_key = "target"
        split = "train"
        weight = 2.5
        [[corpora]]
        source = ""
        target = ""
        file = "c.jsonl"
        source_key = "fr"
        target_key = "target"
        split = "test"
        weight = 1.0
        [[corpora]]
        source = ""
        target = ""
        file = "d.json"
        source_key = "source"
        target_key = "target"
        split = "news"
        weight = 1.0
        """,
        {
            "kind": "pairs", "folder": ".", "validation": [], "validation_size": 7, "overlap": "remove",
            "source_column": "auto", "target_column": "auto",
            "train": [
                {"source": "a.en", "target": "a.de"},
                {"file": "b.tsv.gz", "source_column": 1, "target_column": 2, "weight": 2.5},
            ],
            "test": {"file": "c.jsonl", "source_column": "fr", "target_column": "target"},
            "other_splits": {"news": "d.json"},
        },
    ),
    "pairs in both": (
        """
        kind = "pairs"
        folder = "data"
        test = ""
        validation = ""
        corpora = [{ source = "a.en", target = "a.de", split = "train", weight = 0.5 }]
        """,
        {
            "kind": "pairs", "folder": ".", "validation": [], "test": [], "validation_size": 1000,
            "train": [
                {"source": "data/train.en", "target": "data/train.de"},
                {"source": "a.en", "target": "a.de", "weight": 0.5},
            ],
        },
    ),
    "labelled": (
        """
        kind = "labelled"
        train = "a.csv"
        validation = ""
        test = "b.csv"
        validation_size = 1000
        overlap = "warn"
        text = "text"
        second = ""
        label = "y"
        group = ""
        """,
        {
            "kind": "labelled", "folder": ".", "train": "a.csv", "validation": [], "test": "b.csv", "overlap": "warn",
            "validation_size": 1000, "text": "text", "second": "", "label": "y", "group": "",
        },
    ),
    "tagged in columns": (
        """
        kind = "tagged"
        train = "a.conll"
        validation = "b.conll"
        test = ""
        validation_size = 1000
        overlap = "warn"
        word = 2
        tag = 4
        words = "words"
        tags = "tags"
        """,
        {
            "kind": "tagged", "folder": ".", "train": "a.conll", "validation": "b.conll", "test": [], "word": 2,
            "tag": 4, "overlap": "warn",
        },
    ),
    "tagged in tables": (
        """
        kind = "tagged"
        train = "a.jsonl.gz"
        validation = ""
        test = ""
        validation_size = 10
        overlap = "warn"
        word = 1
        tag = 0
        words = "tokens"
        tags = "tags"
        """,
        {
            "kind": "tagged", "folder": ".", "train": "a.jsonl.gz", "validation": [], "test": [], "words": "tokens",
            "tags": "tags", "validation_size": 10,
        },
    ),
    "questions": (
        """
        kind = "questions"
        train = "a.json"
        validation = "b.json"
        test = ""
        validation_size = 1000
        overlap = "warn"
        question = "question"
        context = "context"
        answer = "answer"
        start = "answer_start"
        """,
        {
            "kind": "questions", "folder": ".", "train": "a.json", "validation": "b.json", "test": [],
            "overlap": "warn", "question": "question", "context": "context", "answer": "answer",
            "start": "answer_start",
        },
    ),
    "trees": (
        """
        kind = "trees"
        train = "a.mrg"
        validation = "b.mrg"
        test = "c.mrg"
        labels = "bare"
        validation_size = 1000
        overlap = "remove"
        """,
        {
            "kind": "trees", "folder": ".", "train": "a.mrg", "validation": "b.mrg", "test": "c.mrg",
            "labels": "bare", "overlap": "remove",
        },
    ),
    "a text": (
        """
        kind = "text"
        file = "a.txt"
        folder = ""
        pattern = "*.txt"
        validation = ""
        test = ""
        validation_share = 0.1
        documents = "file"
        """,
        {
            "kind": "text", "folder": ".", "train": "a.txt", "validation": [], "test": [], "validation_share": 0.1,
            "documents": "file",
        },
    ),
    "texts of a folder": (
        """
        kind = "text"
        file = ""
        folder = "my[1]/books"
        pattern = "*.md"
        validation = "v.txt"
        test = "t.txt"
        validation_share = 0.1
        documents = "line"
        """,
        {
            "kind": "text", "folder": ".", "train": "my[[]1]/books/**/*.md", "validation": "v.txt", "test": "t.txt",
            "documents": "line",
        },
    ),
    "a toy": (
        """
        kind = "toy"
        problem = "copy"
        symbols = 6
        minimum_length = 3
        maximum_length = 5
        train = 60
        validation = 10
        test = 5
        """,
        {
            "kind": "toy", "problem": "copy", "symbols": 6, "min_length": 3, "max_length": 5,
            "train_size": 60, "validation_size": 10, "test_size": 5,
        },
    ),
    "python": (
        'kind = "python-code"\nvalidation_share = 0.2\npackages = ["json"]',
        {"kind": "python-code", "validation_share": 0.2, "packages": ("json",)},
    ),
    "film reviews": (
        'kind = "movie-reviews"\nshare = 0.1\nsome = 0\noverlap = "remove"',
        {"kind": "movie-reviews", "share": 0.1, "some": 0, "overlap": "remove"},
    ),
}  # fmt: skip
for world in ("small-world", "world-trees", "world-moods", "world-tags", "world-questions"):
    sizes = {"train": 200, "validation": 20, "test": 10, "compositional": 5}
    written = "\n".join([f'kind = "{world}"', *(f"{split} = {size}" for split, size in sizes.items())])
    FIRST[world] = (written, {"kind": world, **{f"{split}_size": size for split, size in sizes.items()}})
FIRST["world-english"] = (
    'kind = "world-english"\ntrain = 200\nvalidation = 20\ntest = 10',
    {"kind": "world-english", "train_size": 200, "validation_size": 20, "test_size": 10},
)


# Settings that came after the first format, as they are where nothing is said about them.
LATER = {
    "test_size": 0, "test_share": 0.0, "separator": "auto", "quotes": "auto", "rows": "",
    "names": ("negative", "positive"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_data_of_the_first_format_is_read_as_it_was_meant(name: str) -> None:
    written, expected = FIRST[name]
    old = {"format": 1, "seed": 3, "data": tomllib.loads(written)}
    before = repr(old)
    made = upgraded(old)
    assert repr(old) == before, "a step changes nothing in place"
    assert (made["format"], made["seed"]) == (FORMAT, 3)
    recipe = Recipe.model_validate(Recipe.of(made))
    here = str(Path.cwd())
    later = {key: value for key, value in LATER.items() if key not in expected}
    found = without(recipe.data.model_dump(), here)
    assert {key: value for key, value in found.items() if later.get(key) != value} == expected
    assert upgraded(made) == made


def without(tree: Any, folder: str) -> Any:
    """The tree with paths as they were written."""
    if isinstance(tree, dict):
        return {key: without(value, folder) for key, value in tree.items()}
    if isinstance(tree, list):
        return [without(value, folder) for value in tree]
    return tree.removeprefix(f"{folder}/") if isinstance(tree, str) else tree


def test_there_is_a_step_from_every_earlier_format() -> None:
    assert list(STEPS) == list(range(1, FORMAT))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (FORMAT + 1, rf"of format {FORMAT + 1}, and this version of Regard reads formats 1 to {FORMAT}; use a newer"),
        (0, f"format: a whole number from 1 to {FORMAT} is expected, found 0"),
        ("two", f"format: a whole number from 1 to {FORMAT} is expected, found 'two'"),
        (True, "found True"),
    ],
)
def test_formats_that_nobody_knows_are_refused(found: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Recipe.of({"format": found})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"train": 60000}, "data.train is now data.train_size: write data.train_size = 60000"),
        ({"kind": "toy", "test": 0}, "data.test is now data.test_size: write data.test_size = 0"),
        ({"kind": "world-tags", "compositional": 7}, "data.compositional is now data.compositional_size: write"),
        ({"kind": "text", "file": "my.txt"}, "data.file of kind 'text' became data.train: write data.train = "),
        ({"kind": "text", "folder": "b", "pattern": "*.md"}, 'write data.train = "b/**/*.md"'),
        ({"kind": "text", "folder": "b"}, "data.folder of kind 'text' became data.train: write data.train = \"b/"),
        ({"kind": "pairs", "folder": "m", "source": "de", "target": "en", "test": ""},
         '    [data]\n    kind = "pairs"\n    folder = "m"\n    train = {source = "train.de", target = "train.en"}\n'
         '    validation = {source = "val.de", target = "val.en"}'),
        ({"kind": "pairs", "corpora": [{"file": "a.jsonl", "weight": 2.0}]},
         'Write the same as\n    [data]\n    kind = "pairs"\n    train = {file = "a.jsonl", weight = 2.0}'),
        ({"kind": "pairs", "folder": "m"}, '    train = {source = "train.en", target = "train.de"}'),
        ({"kind": "pairs", "train": "a.tsv", "source": "fr"},
         'as in data.train = {source = "train.fr", target = "train.de"}'),
    ],
)  # fmt: skip
def test_an_old_key_in_a_new_recipe_says_what_to_write_instead(data: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.of({"data": data})
    assert message in str(caught.value)


def test_all_old_sizes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[data]\nkind = "toy"\ntrain = 5\n')
    with pytest.raises(RecipeError, match=r"mine\.toml: 2 problems\n.*data\.train_size = 5\n.*data\.test_size = 3"):
        Recipe.read(tmp_path / "mine.toml", ["data.test=3"])


def test_values_are_written_on_one_line() -> None:
    assert inline({"a": [1, "x", {"b": 0.5}], "c": True}) == '{a = [1, "x", {b = 0.5}], c = true}'


def test_settings_are_known_by_their_table() -> None:
    settings = ["data.train=a", "data_seed=3", " data.test.source = b", "data={}", "model.width=3", "data.kind=x=y"]
    assert keys_below("data", settings) == ["train", "test.source", "", "kind"]


# -- paths ------------------------------------------------------------------------------------------------------


def test_paths_in_a_file_count_from_it_and_the_run_keeps_them_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.toml").write_text('[data]\nkind = "labelled"\ntrain = "t.csv"\ntest = "../s.csv"\n')
    monkeypatch.chdir(tmp_path)
    read: Any = Recipe.read("mine/a.toml", ["data.validation=v.csv"])
    assert read.data.train[0].file == str(tmp_path / "mine" / "t.csv")
    assert read.data.test[0].file == str(tmp_path / "mine" / ".." / "s.csv")
    assert read.data.validation[0].file == str(tmp_path / "v.csv")
    assert read.format == FORMAT
    again = Recipe.of(tomllib.loads(read.to_toml()))
    assert again == read
    tree: Any = Recipe.of({"data": {"kind": "labelled", "train": "t.csv"}})
    assert tree.data.train[0].file == str(tmp_path / "t.csv"), "a tree has no file; it counts from the current folder"


def test_a_shipped_recipe_takes_the_folder_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read: Any = Recipe.read("multi30k", ["data.folder=data", "data.train.source=train.fr"])
    assert read.data.folder == str(tmp_path / "data")
    assert read.data.train[0].names() == {"source": "train.fr", "target": "train.de"}


# -- lengths ------------------------------------------------------------------------------------------------------


def test_lengths_of_the_first_format_have_one_name_now() -> None:
    task = {"kind": "question-answering", "longest": 64, "longest_question": 20, "longest_answer": 5, "stride": 7}
    model = {"kind": "bert", "position": {"kind": "learned", "longest": 64}}
    made = upgraded({"format": 1, "task": task, "model": model})
    assert made["task"] == {
        "kind": "question-answering", "max_length": 64, "max_question_length": 20, "max_answer_length": 5, "stride": 7,
    }  # fmt: skip
    assert made["model"] == {"kind": "bert", "position": {"kind": "learned", "max_length": 64}}
    biased = upgraded({"format": 1, "model": {"position": {"kind": "relative-bias", "longest": 9}}})
    assert biased["model"]["position"] == {"kind": "relative-bias", "max_distance": 9}


def test_lengths_of_parts_from_outside_are_their_own() -> None:
    tree = {
        "task": {"kind": "package.module:Task", "longest": 8},
        "model": {"kind": "gpt", "position": {"kind": "package.module:Position", "longest": 3}},
    }
    made = upgraded({"format": 1, **tree})
    assert {key: made[key] for key in tree} == tree
    check_renamed(tree, "recipe")


def test_old_names_of_lengths_are_told_todays() -> None:
    tree = {"task": {"kind": "tagging", "longest": 8}, "model": {"kind": "bert", "position": {"longest": 8}}}
    with pytest.raises(RecipeError) as caught:
        Recipe.of(tree)
    assert "task.longest is now task.max_length" in str(caught.value)
    assert "model.position.longest is now model.position.max_length" in str(caught.value)
    with pytest.raises(RecipeError, match=r"task\.longest is now task\.max_length"):
        Recipe.read("mood", ["task.longest=8"])


# -- names of the third format ------------------------------------------------------------------------------------

THIRD: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    ("task", {"kind": "language-model", "context": 64}, {"kind": "language-model", "max_length": 64},
     "task.context is now task.max_length"),
    ("task", {"kind": "masked-language-model", "context": 9}, {"kind": "masked-language-model", "max_length": 9},
     "task.context is now task.max_length"),
    ("task", {"kind": "regression", "spread": [2.0]}, {"kind": "regression", "std": [2.0]},
     "task.spread is now task.std"),
    ("model", {"kind": "llama", "context": 30}, {"kind": "llama", "max_length": 30},
     "model.context is now model.max_length"),
    ("data", {"kind": "toy", "minimum_length": 2, "maximum_length": 4},
     {"kind": "toy", "min_length": 2, "max_length": 4},
     "data.minimum_length is now data.min_length"),
    ("tokenizer", {"kind": "word", "minimum_frequency": 1}, {"kind": "word", "min_frequency": 1},
     "tokenizer.minimum_frequency is now tokenizer.min_frequency"),
    ("tokenizer", {"kind": "per-side", "target": {"kind": "bpe", "minimum_frequency": 3}},
     {"kind": "per-side", "target": {"kind": "bpe", "min_frequency": 3}},
     "tokenizer.target.minimum_frequency is now tokenizer.target.min_frequency"),
    ("start", {"run": "runs/a", "pieces": "carried"}, {"run": "runs/a", "tokenizer": "retrain"},
     'start.pieces is now start.tokenizer: write start.tokenizer = "retrain"'),
    ("start", {"run": "", "pieces": "theirs"}, {"run": "", "tokenizer": "keep"},
     'start.pieces is now start.tokenizer: write start.tokenizer = "keep"'),
)  # fmt: skip


@pytest.mark.parametrize(("name", "before", "today", "told"), THIRD)
def test_keys_of_the_third_format_have_the_names_of_the_field(
    name: str, before: dict[str, Any], today: dict[str, Any], told: str
) -> None:
    assert upgraded({"format": 3, name: before})[name] == today
    assert upgraded({name: today})[name] == today
    with pytest.raises(RecipeError, match=re.escape(told)):
        check_renamed({name: before}, "recipe")
    check_renamed({name: today}, "recipe")


def test_old_names_are_told_todays_on_the_command_line_too() -> None:
    with pytest.raises(RecipeError, match=r"task\.context is now task\.max_length"):
        Recipe.read("gpt-small-world", ["task.context=64"])
    with pytest.raises(RecipeError, match=r"data\.maximum_length is now data\.max_length"):
        Recipe.read("reverse", ["data.maximum_length=4"])


def test_the_same_words_elsewhere_stay() -> None:
    tree = {
        "task": {"kind": "forecasting", "context": 48}, "model": {"kind": "fixed-context", "context": "start"},
        "data": {"kind": "package.module:Data", "minimum_length": 3},
        "tokenizer": {"kind": "package.module:Tokens", "minimum_frequency": 3},
    }  # fmt: skip
    made = upgraded({"format": 3, **tree})
    assert {key: made[key] for key in tree} == tree
    check_renamed(tree, "recipe")


# -- run folders of the first format ------------------------------------------------------------------------------

TINY = {
    "data": {"kind": "labelled", "train": "t.csv", "validation_size": 4},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"kind": "recurrent", "width": 8},
    "task": {"kind": "classification", "max_length": 8},
    "training": {"steps": 4, "batch_tokens": 64, "checkpoint_every": 2, "threads": 1},
}


def in_first_format(run: Path) -> None:
    """Rewrites a recipe as the first format had it: no format, relative paths, no folder, idle keys written out."""
    tree = tomllib.loads((run / "recipe.toml").read_text("utf-8"))
    del tree["format"], tree["data"]["folder"]
    tree["task"]["longest"] = tree["task"].pop("max_length")
    tree["data"] |= {"train": "t.csv", "validation": "", "test": "", "overlap": "warn"}
    (run / "recipe.toml").write_text("\n".join(toml_lines(tree)), encoding="utf-8")


def toml_lines(tree: dict[str, Any], path: str = "") -> list[str]:
    plain = [f"{key} = {inline(value)}" for key, value in tree.items() if not isinstance(value, dict)]
    tables = [(key, value) for key, value in tree.items() if isinstance(value, dict)]
    return plain + [line for key, value in tables
                    for line in (f"[{path}{key}]", *toml_lines(value, f"{path}{key}."))]  # fmt: skip


@pytest.fixture
def old_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the first format, which is found from where it was trained."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{'good' if number % 2 else 'bad'} word{number},{number % 2}" for number in range(60)]
    (tmp_path / "t.csv").write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    regard.train(TINY, tmp_path / "run")
    in_first_format(tmp_path / "run")
    return tmp_path / "run"


def test_an_old_run_is_loaded_scored_and_started_from(old_run: Path) -> None:
    run = regard.load(old_run)
    assert run.recipe.format == FORMAT
    assert run.predict(["good word1"]) in (["0"], ["1"])
    assert evaluate(run)["split"] == "validation"
    assert regard.train({**TINY, "name": "more"}, old_run.parent / "more", start=old_run).steps == 4


def test_an_old_run_is_resumed_to_the_same_weights(old_run: Path) -> None:
    weights = (old_run / "model.safetensors").read_bytes()
    for name in ("summary.json", "model.safetensors"):
        (old_run / name).unlink()
    shutil.rmtree(old_run / "checkpoints" / "step-00000004")
    assert "format" not in tomllib.loads((old_run / "recipe.toml").read_text("utf-8"))
    regard.train(old_run / "recipe.toml", old_run, resume=True)
    assert (old_run / "model.safetensors").read_bytes() == weights
    assert read_run_recipe(old_run / "recipe.toml")["format"] == FORMAT
    with pytest.raises(RunError, match=r"differing: seed = 1 in the folder, 2 given"):
        regard.train(old_run / "recipe.toml", old_run, ["seed=2"], resume=True)


def test_a_recipe_of_that_name_alone_in_a_folder_is_of_the_newest_format(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('[data]\nkind = "text"\nfile = "a.txt"\n')
    with pytest.raises(RecipeError, match=r"data\.file of kind 'text' became data\.train"):
        Recipe.read(path)
    (tmp_path / "environment.json").write_text("{}")
    read: Any = Recipe.read(path)
    assert read.data.train[0].file == str(Path.cwd() / "a.txt"), "the first format counted from the current folder"


def test_a_recipe_of_which_the_end_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('format = 3\n\n[model]\nkind = "gpt"\n')
    with pytest.raises(RecipeError, match=r"recipe.toml is not whole: .* \[task\] is missing; restore it"):
        read_run_recipe(path)

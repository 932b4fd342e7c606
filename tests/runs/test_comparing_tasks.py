"""Recipes of every task are compared: by its own figures, the better way round, in page, Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.core.errors import RecipeError
from regard.core.metrics import Metric
from regard.inspection.reports.comparison import report_of, write_report
from regard.inspection.reports.comparison_report import Report, Row, findings
from regard.runs.budget import Budget
from regard.runs.comparison import Comparison, score_entry, train_entry
from regard.runs.evaluate import evaluate
from regard.runs.recipe import Recipe
from regard.tasks import TASKS
from tests.inspection.picture_runs import drawn
from tests.laws.counted import asked_files

SMALL = ("data.train_size=60", "data.validation_size=11", "data.test_size=13", "training.batch_tokens=256",
         "training.threads=1")  # fmt: skip
ONE_TEST_SPLIT = "data.compositional_size=0"
DIALLED = ("data.train_size=60", "data.validation_size=11", "data.test_size=13", "training.batch_tokens=1000")
BASES: dict[str, tuple[str, ...]] = {
    "translation": ("bahdanau",),
    "parsing": ("parse-small-world", "model.heads=2", ONE_TEST_SPLIT),
    "classification": ("mood", ONE_TEST_SPLIT),
    "tagging": ("tags", ONE_TEST_SPLIT),
    "question-answering": ("questions", ONE_TEST_SPLIT),
    "embedding": ("embed-small-world", ONE_TEST_SPLIT),
    "masked-language-model": ("bert-small-world", "task.pseudo=20"),
    "language-model": ("gpt-small-world", "task.max_length=16", "task.sample=0"),
    "forecasting": ("waves", "training.batch_tokens=1536"),
    "regression": ("leaves.toml", "training.batch_tokens=40"),
    "node-classification": ("rings.toml", "training.batch_tokens=40"),
    "link-prediction": ("rings.toml", "training.batch_tokens=40"),
    "temporal-classification": ("keypad", *DIALLED),
    "transcription": (
        "keypad", *DIALLED, 'task={kind="transcription"}',
        'model={kind="transformer", encoder_layers=1, decoder_layers=1, heads=2, '
        'front={kind="patches", size=[2, 40], class_token=false}}',
    ),
}  # fmt: skip
RINGS = {"node-classification": "graph-nodes", "link-prediction": "graph-links"}
OF_OTHER_DATA = ("forecasting", "regression", "temporal-classification", "transcription", *RINGS)
"""What is not made by the small world or a toy, and has no such sizes."""


def leaves(folder: Path) -> Path:
    """A recipe: how many leaves has a star?"""
    recipe: dict[str, Any] = {
        "data": {"kind": "graphs"}, "input": {"kind": "graph", "structure": {"degree": 4}},
        "task": {"kind": "regression"}, "model": {"kind": "graph-transformer", "layers": 1, "heads": 2, "width": 8},
    }  # fmt: skip
    for number, split in enumerate(("train", "validation", "test")):
        stars = [{"nodes": size, "edges": [[0, leaf] for leaf in range(1, size)], "label": size - 1}
                 for size in range(3 + number, 20, 1 + number)]  # fmt: skip
        (folder / f"{split}.json").write_text(json.dumps(stars), encoding="utf-8")
        recipe["data"][split] = str(folder / f"{split}.json")
    (folder / "leaves.toml").write_text(Recipe.of(recipe).to_toml(), encoding="utf-8")
    return folder / "leaves.toml"


def rings(folder: Path, kind: str) -> Path:
    """A recipe that asks about nodes or edges of rings."""
    recipe: dict[str, Any] = {
        "data": asked_files(RINGS[kind]), "input": {"kind": "graph", "structure": {"degree": 4}},
        "task": {"kind": kind}, "model": {"kind": "graph-transformer", "layers": 1, "heads": 2, "width": 8},
    }  # fmt: skip
    (folder / "rings.toml").write_text(Recipe.of(recipe).to_toml(), encoding="utf-8")
    return folder / "rings.toml"


def compared(folder: Path, base: str, *settings: str, widths: tuple[int, ...] = (8, 16)) -> Comparison:
    """The same recipe in two widths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"width-{width}.toml" for width in widths]
    for file, width in zip(files, widths, strict=True):
        made = Recipe.read(base, [*settings, f"model.width={width}"]).model_copy(update={"name": file.stem})
        file.write_text(made.to_toml(), encoding="utf-8")
    return Comparison.of(files, folder / "out", Budget.parse("3steps"), (1,), ())


def reported(made: Comparison) -> tuple[Report, dict[str, Any], str, str]:
    results = [score_entry(entry, train_entry(entry)) for entry in made.decide(lambda text: None)]
    report = report_of(made, results, cost_seconds=0.1)
    page = write_report(report, made.path)
    markdown = (made.path / "report.md").read_text(encoding="utf-8")
    told = json.loads((made.path / "report.json").read_text(encoding="utf-8"))
    return report, told, page.read_text(encoding="utf-8"), markdown


def test_every_task_of_the_house_is_tried_here() -> None:
    assert set(BASES) == set(TASKS.kinds())


@pytest.mark.parametrize("kind", sorted(set(BASES) - {"translation"}))
def test_recipes_of_every_task_are_compared_by_its_own_figures(kind: str, tmp_path: Path) -> None:
    base, *settings = BASES[kind]
    if kind in OF_OTHER_DATA:
        settings = [*settings, "training.threads=1"]
    else:
        settings = [*settings, *SMALL]
    if kind in RINGS:
        base = str(rings(tmp_path, kind))
    made = compared(tmp_path / "made", str(leaves(tmp_path)) if kind == "regression" else base, *settings)
    _, told, page, markdown = reported(made)
    task = made.recipes[0].task
    shown = [metric for metric in task.headline if told["rows"][0][metric.name] is not None]
    assert shown, "at least one figure is there"
    for row in told["rows"]:
        scores = evaluate(regard.load(made.path / "runs" / f"{row['name']}-1"))
        for metric in shown:
            assert row[metric.name] == pytest.approx(scores[metric.name])
            assert (row[f"{metric.name}_interval"] is None) == (f"{metric.name}_low" not in scores)
            assert metric.formatted(row[metric.name]) in page
            assert metric.formatted(row[metric.name]) in markdown
        assert row["curve"][0]
        if task.accuracy:
            assert [point[task.accuracy] for point in row["curve"][0]], "levels of it are told"
    assert any(f"{unit}/s" in page for unit in ("tokens", "nodes", "steps", "frames")), "how fast it is"
    assert "BLEU" not in page
    assert ("gradient flow after training" in told["measures"]) == (kind == "parsing")


def test_pictures_are_compared_without_a_tokenizer_and_counted_as_pictures(tmp_path: Path) -> None:
    for number, split in enumerate(("train", "validation", "test")):
        drawn(tmp_path / split, (30, 9, 12)[number], size=6, seed=number)
    recipe = {
        "data": {"kind": "pictures", **{split: str(tmp_path / split) for split in ("train", "validation", "test")}},
        "input": {"kind": "image"},
        "model": {"kind": "vit", "layers": 1, "heads": 2, "width": 8, "front": {"kind": "patches", "size": 3}},
        "task": {"kind": "classification"},
        "training": {"batch_tokens": 10, "threads": 1},
    }
    file = tmp_path / "shapes.toml"
    file.write_text(Recipe.of(recipe).to_toml(), encoding="utf-8")
    made = compared(tmp_path / "made", str(file))
    report, told, page, markdown = reported(made)
    assert report.facts.keys() == {"data", "budget", "seeds"}, "no tokenizer and no decoding had a part in it"
    assert "pictures/s" in page
    assert "pictures/s" in markdown
    assert "tokens" not in page.partition("What a layer costs here")[0]
    first = told["examples"][0]
    assert first["source"].startswith(str(tmp_path / "test"))
    assert first["source"].split("/")[-2] == first["reference"]
    run = regard.load(made.path / "runs" / "width-16-1")
    assert first["answers"]["width-16"] == run.predict([Path(first["source"])])[0]
    assert all(row["by_length"] == [[]] for row in told["rows"])
    assert "The bottleneck" not in page


def test_recipes_that_differ_in_what_a_score_means_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"task\.stride = 24 in questions, 12 in other"):
        other = tmp_path / "other.toml"
        other.write_text(Recipe.read("questions", ["task.stride=12", "name=other"]).to_toml(), encoding="utf-8")
        Comparison.of(["questions", other], tmp_path, Budget(), (1,), ())


def test_a_task_without_figures_is_told_what_to_declare(tmp_path: Path) -> None:
    settings = ["model.kind=tests.laws.families:DecoderOnlyConfig", "task.kind=tests.laws.families:LanguageModelConfig"]
    with pytest.raises(RecipeError, match=r"runs of tests\.laws\.families:LanguageModelConfig have no figures"):
        Comparison.of(["copy"], tmp_path, Budget(), (1,), settings)


def test_steps_that_nobody_has_decided_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r'training\.steps is "auto" in copy, .* give --budget 10m or'):
        Comparison.of(["copy"], tmp_path, Budget(), (1,), ["training.steps=auto"])
    assert Comparison.of(["copy"], tmp_path, Budget(steps=5), (1,), ["training.steps=auto"])


def test_less_is_better_where_the_task_says_so() -> None:
    loss = Metric("bits", "bits per character", digits=2, higher_is_better=False)
    rows = [
        Row(name, "", (1,), ({"scores": {"bits": value}, "by_length": []},), (loss,))
        for name, value in (("first", 2.25), ("second", 1.5))
    ]
    assert findings(rows) == ["By bits per character second is best, 1.50; first comes last, 2.25."]
    both = [Row(row.name, "", (1,), row.results, (Metric("f1", "F1"), loss)) for row in rows]
    assert findings(both) == findings(rows), "a figure that nobody has decides nothing"

"""Recipes under one roof: the same data for all, numbers that are the runs' own, and going on after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.core.errors import OptionError, RecipeError, RunError
from regard.data.corpus import Pair
from regard.inspection.reports.comparison import report_of, write_report
from regard.inspection.reports.comparison_report import Row
from regard.runs.budget import Budget, measure_pace
from regard.runs.comparison import Comparison, score_entry, train_entry, within
from regard.runs.evaluate import evaluate
from regard.runs.recipe import Recipe, recipe_sets
from regard.tasks.metrics.lengths import by_length

TINY = (
    "data.train_size=300", "data.validation_size=20", "data.test_size=25", "data.compositional_size=0",
    "model.width=16", "training.batch_tokens=256",
)  # fmt: skip
NAMES = ["fixed-gru", "bahdanau"]


def comparison(out: Path, *settings: str, budget: str = "6steps", seeds: tuple[int, ...] = (1,)) -> Comparison:
    return Comparison.of(NAMES, out, Budget.parse(budget), seeds, [*TINY, *settings])


def finish(made: Comparison) -> list[dict[str, Any]]:
    return [score_entry(entry, train_entry(entry)) for entry in made.decide(lambda text: None)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, list[dict[str, Any]]]:
    made = comparison(tmp_path_factory.mktemp("comparison") / "two", seeds=(1, 2))
    return made, finish(made)


# -- what is compared -------------------------------------------------------------------------------------------


def test_every_member_of_a_set_is_shipped_and_they_agree_on_everything_that_must_be_equal(tmp_path: Path) -> None:
    for members in recipe_sets().values():
        made = Comparison.of(members, tmp_path, Budget(), (1,), ())
        assert [recipe.name for recipe in made.recipes] == list(members)


def test_recipes_on_other_data_are_refused_with_every_difference(tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        Comparison.of(["copy", "sort", "fixed-gru"], tmp_path, Budget(), (1,), ())
    told = str(caught.value)
    assert "data.problem = 'copy' in copy, 'sort' in sort" in told
    assert "data.kind = 'toy' in copy, 'small-world' in fixed-gru" in told
    assert "--set reaches all of them" in told
    with pytest.raises(RecipeError, match="used twice: copy"):
        Comparison.of(["copy", "copy"], tmp_path, Budget(), (1,), ())


def test_all_runs_have_the_same_data_and_tokenizer_whatever_their_seed(
    done: tuple[Comparison, list[dict[str, Any]]],
) -> None:
    made, _ = done
    folders = sorted((made.path / "runs").iterdir())
    assert [folder.name for folder in folders] == ["bahdanau-1", "bahdanau-2", "fixed-gru-1", "fixed-gru-2"]
    for name in ("source.tokenizer.json", "target.tokenizer.json"):
        assert len({(folder / name).read_bytes() for folder in folders}) == 1
    assert len({(folder / "model.safetensors").read_bytes() for folder in folders}) == 4


def test_a_plan_made_before_a_setting_existed_is_gone_on_with(done: tuple[Comparison, list[dict[str, Any]]]) -> None:
    made, _ = done
    plan = json.loads(made.plan.read_text(encoding="utf-8"))
    older = json.loads(made.plan.read_text(encoding="utf-8"))
    for recipe in older["asked"]["recipes"]:
        del recipe["task"]["consistency"]
    made.plan.write_text(json.dumps(older), encoding="utf-8")
    assert len(made.decide(lambda text: None)) == 4
    made.plan.write_text(json.dumps(plan), encoding="utf-8")


# -- what is reported -------------------------------------------------------------------------------------------


def test_the_report_s_numbers_are_the_runs_own(done: tuple[Comparison, list[dict[str, Any]]]) -> None:
    made, results = done
    report = report_of(made, results, cost_seconds=0.5)
    page = write_report(report, made.path)
    told = json.loads((made.path / "report.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in told["rows"]] == NAMES
    for row in told["rows"]:
        runs = [regard.load(made.path / "runs" / f"{row['name']}-{seed}") for seed in (1, 2)]
        scores = [evaluate(run) for run in runs]
        assert row["bleu"] == pytest.approx(sum(one["bleu"] for one in scores) / 2)
        assert row["bleu_interval"] == pytest.approx(sorted(one["bleu"] for one in scores))
        assert row["token_accuracy"] == pytest.approx(sum(one["token_accuracy"] for one in scores) / 2)
        assert row["parameters"] == sum(weight.numel() for weight in runs[0].model.parameters())
        summary = json.loads(runs[0].folder.summary.read_text(encoding="utf-8"))
        assert (row["steps"], row["seeds"]) == (summary["steps"], [1, 2])
        assert row["curve"][0][-1]["loss"] == pytest.approx(summary["validation_loss"])
        seconds = [point["seconds"] for point in row["curve"][0]]
        assert seconds == sorted(seconds)
        assert seconds[-1] == pytest.approx(summary["seconds"])
    assert told["rows"][0]["alignment_error_rate"] is None, "one vector aligns nothing"
    assert 0 <= told["rows"][1]["alignment_error_rate"] <= 1
    answers = told["examples"][0]["answers"]
    first = regard.load(made.path / "runs" / "bahdanau-1")
    assert answers["bahdanau"] == first.predict([told["examples"][0]["source"]])[0]
    for text in (page.read_text(encoding="utf-8"), (made.path / "report.md").read_text(encoding="utf-8")):
        assert f"{told['rows'][1]['parameters']:,}" in text
        assert told["signature"] in text
        assert told["measures"]["gradient flow after training"]["sentence"].split(":")[0] in text


def test_measuring_is_done_once(done: tuple[Comparison, list[dict[str, Any]]]) -> None:
    made, results = done
    first = report_of(made, results, cost_seconds=0.5)
    assert report_of(made, results).measures == json.loads(json.dumps(first.measures))


def test_quality_by_length_adds_up() -> None:
    pairs = [Pair("a " * words, "x y z w", words, "here") for words in (1, 5, 6, 10, 61, 200)]
    found = by_length(pairs, ["x y z w"] * 5 + ["q q q q"], "none")
    assert [(group["longest"], group["sentences"]) for group in found] == [(5, 2), (10, 2), (61, 2)]
    assert [group["exact_match"] for group in found] == [1.0, 1.0, 0.5]
    assert found[0]["bleu"] == pytest.approx(100.0)
    assert found[2]["words"] == pytest.approx(130.5)


def test_time_to_a_quality_is_the_first_validation_that_saw_it() -> None:
    curve = [{"seconds": 1.0, "token_accuracy": 0.2}, {"seconds": 2.0, "token_accuracy": 0.5}]
    row = Row("a", "", (1,), ({"curve": curve},), (), "token_accuracy")
    assert (row.time_to(0.2), row.time_to(0.3), row.time_to(0.6)) == (1.0, 2.0, None)


# -- budgets ----------------------------------------------------------------------------------------------------


def test_budgets_are_times_or_steps() -> None:
    assert Budget.parse("90s") == Budget(seconds=90)
    assert Budget.parse("10m") == Budget(seconds=600)
    assert Budget.parse("1.5 h") == Budget(seconds=5400)
    assert Budget.parse("2000steps") == Budget(steps=2000)
    for wrong in ("", "ten minutes", "10", "0m", "-3s", "1.5steps"):
        with pytest.raises(OptionError):
            Budget.parse(wrong)


def test_a_time_budget_becomes_steps_that_are_written_down(tmp_path: Path) -> None:
    made = comparison(tmp_path / "timed", budget="2s")
    entries = made.decide(lambda text: None)
    plan = json.loads(made.plan.read_text(encoding="utf-8"))
    for entry in entries:
        pace = plan["paces"][entry.name]
        assert entry.recipe.training.steps == max(1, int(2 / pace["seconds_per_step"]))
        assert pace["measured_steps"] > 0
    again = comparison(tmp_path / "timed", budget="2s").decide(lambda text: pytest.fail(text))
    assert [entry.recipe for entry in again] == [entry.recipe for entry in entries], "measured once"


def test_a_pace_is_a_mean_over_real_steps() -> None:
    pace = measure_pace(Recipe.read("copy", ["data.train_size=200", "training.batch_tokens=128"]), longest=0.1)
    assert pace.measured_steps >= 3
    assert pace.steps_in(10 * pace.seconds_per_step) == 10
    assert pace.steps_in(0.0) == 1


def test_validations_and_warm_up_fit_the_steps() -> None:
    fitted = within(Recipe.read("bahdanau"), steps=24, seed=3, data_seed=1)
    assert (fitted.training.steps, fitted.training.validate_every, fitted.training.checkpoint_every) == (24, 2, 2)
    assert fitted.training.schedule.warmup == 4  # type: ignore[attr-defined]
    assert (fitted.seed, fitted.data_seed) == (3, 1)


# -- stopping and going on --------------------------------------------------------------------------------------


def test_another_comparison_in_the_folder_is_refused(done: tuple[Comparison, list[dict[str, Any]]]) -> None:
    other = comparison(done[0].path, "training.learning_rate=1e-3", seeds=(1, 2))
    with pytest.raises(RunError, match="holds another comparison; choose another --out") as caught:
        other.decide(lambda text: None)
    assert "recipes.bahdanau.training.learning_rate = 0.004 in the folder, 0.001 given" in str(caught.value)


def test_a_comparison_that_was_killed_midway_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    settings = [*TINY, "training.log_every=1"]
    options = [word for setting in settings for word in ("--set", setting)]
    command = [sys.executable, "-m", "regard.cli.main", "compare", *NAMES, "--budget", "40steps", "--cost-seconds", "1"]
    command += options
    killed = tmp_path / "killed"
    process = subprocess.Popen([*command, "--out", str(killed)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    second = killed / "runs" / "bahdanau-1" / "metrics.jsonl"
    for _ in range(1200):
        if second.exists() and second.read_text(encoding="utf-8").count("\n") > 5:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert second.exists(), "the kill came before the second training"
    assert not (killed / "report.json").exists()
    first_finished = (killed / "runs" / "fixed-gru-1" / "comparison.json").stat().st_mtime_ns
    for out in (killed, tmp_path / "whole"):
        subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
    assert (killed / "runs" / "fixed-gru-1" / "comparison.json").stat().st_mtime_ns == first_finished
    both = (killed, tmp_path / "whole")
    for name in NAMES:
        one, other = ((out / "runs" / f"{name}-1" / "model.safetensors").read_bytes() for out in both)
        assert one == other
    rows = [json.loads((out / "report.json").read_text(encoding="utf-8"))["rows"] for out in both]
    assert [row["bleu"] for row in rows[0]] == [row["bleu"] for row in rows[1]]

"""``regard train`` and ``regard evaluate``: their objects, their files, and what they refuse."""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from command import regard, settings
from rich.console import Console

from regard.cli.console import TrainingBar
from regard.core.errors import RunError
from regard.runs.load import Run
from regard.training.stopping import Interrupted

Trained = tuple[Path, dict[str, Any]]


def test_the_object_of_training(trained: Trained) -> None:
    folder, said = trained
    assert set(said) == {"run", "steps", "seconds", "tokens_per_second", "validation_loss", "weights_sha256"}
    assert said["run"] == str(folder)
    assert said["steps"] == 60
    assert said["seconds"] > 0
    assert 0 < said["validation_loss"] < 10
    assert len(said["weights_sha256"]) == 64


def test_the_folder_of_training(trained: Trained) -> None:
    names = {path.name for path in trained[0].iterdir()}
    assert names >= {
        "recipe.toml", "model.safetensors", "checkpoints", "metrics.jsonl", "ledger.json", "environment.json"
    }  # fmt: skip
    assert not [path for path in trained[0].rglob("*") if path.suffix in (".pt", ".pkl", ".bin", ".pickle")]


def test_resuming_a_finished_run_does_nothing(trained: Trained) -> None:
    folder, said = trained
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = regard("train", folder / "recipe.toml", "--out", folder, "--resume", "--json")
    assert again.json == said
    assert "finished already" in again.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_in_words(trained: Trained) -> None:
    folder, said = trained
    first, *rest = regard("train", folder / "recipe.toml", "--out", folder, "--resume").lines
    assert first.startswith(f"{folder}: 60 steps in ")
    assert first.endswith(f"validation loss {said['validation_loss']:.4f}")
    assert rest == [f"next: regard evaluate {folder}", f'      regard predict {folder} "a sentence"']


def test_a_budget_becomes_steps_that_a_resumed_run_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.runs.budget.FEWEST_STEPS", 1)  # on a busy machine, too
    out = tmp_path / "run"
    given = ("train", "small-world", "--out", out, "--json", *settings("training.schedule.warmup=900"))
    said = regard(*given, "--budget", "3s")
    steps = said.json["steps"]
    assert steps >= 1
    assert f"{steps:,} steps, " in said.err
    assert f"steps = {steps}\n" in (out / "recipe.toml").read_text(encoding="utf-8")
    assert regard(*given, "--budget", "3s", "--resume").json == said.json
    assert "already holds a run" in regard(*given, "--budget", "3s").error
    assert regard("train", "copy", "--out", tmp_path / "x", "--budget", "soon").error.endswith("found 'soon'")


def test_a_folder_that_holds_a_run_is_left_alone(run: Path) -> None:
    found = regard("train", "copy", "--out", run).error
    assert found == f"{run} already holds a run; continue it with --resume, or choose another --out"
    found = regard("train", "copy", "--out", run, "--resume").error
    assert "another recipe" in found
    assert f"regard train {run}/recipe.toml --out {run} --resume" in found


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    found = regard("train", "copy", "--out", tmp_path).error
    assert "thesis.tex" in found
    assert "choose another --out" in found
    found = regard("train", "copy", "--out", tmp_path / "thesis.tex").error
    assert found == f"{tmp_path / 'thesis.tex'} is a file; name a folder with --out"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_place_that_cannot_be_written_is_named() -> None:
    found = regard("train", "copy", "--out", "/proc/regard", *settings()[:2])
    assert found.error.startswith("/proc/regard")


def test_an_unknown_recipe_names_the_nearest_and_all() -> None:
    found = regard("train", "smal-world", "--out", "x").error
    assert "there is no recipe 'smal-world' (did you mean 'small-world'?)" in found
    assert "transformer-base" in found


@pytest.mark.parametrize(
    "setting, message",
    [
        ("training.step=3", "training.step: unknown key (did you mean 'steps'?)"),
        ("trainin.steps=3", "trainin: unknown key (did you mean 'training'?)"),
        ("training.steps=many", "training.steps: Input should be a valid integer, found 'many'"),
        ("training.steps", "expected path.to.key=value, as in training.steps=100"),
        ("model.kind=transfomer", "unknown model kind 'transfomer' (did you mean 'transformer'?)"),
        ("model.width=7", "width 7 is not divisible by 4 heads"),
        ("data.problem=shuffle", "data.problem"),
        ("seed.x=1", "seed"),
    ],
)
def test_a_wrong_setting_is_named_with_its_remedy(tmp_path: Path, setting: str, message: str) -> None:
    assert message in regard("train", "reverse", "--out", tmp_path / "run", "--set", setting).error
    assert not (tmp_path / "run").exists()


def test_all_wrong_settings_at_once(tmp_path: Path) -> None:
    wrong = ("training.step=3", "model.witdh=8", "data.trian=7")
    options = [word for setting in wrong for word in ("--set", setting)]
    found = regard("train", "reverse", "--out", tmp_path / "run", *options).error
    assert "3 problems" in found
    for key in ("training.step", "model.witdh", "data.trian"):
        assert key in found


def test_stopping_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Interrupted(41)

    monkeypatch.setattr("regard.runs.train.train", stop)
    found = regard("train", "copy", "--out", tmp_path)
    assert (found.code, found.out) == (130, "")
    again = f"regard train {tmp_path}/recipe.toml --out {tmp_path} --resume"
    assert found.err == f"stopped and saved after step 41; continue with:\n{again}\n"


def test_an_error_with_debug_shows_where_it_came_from(run: Path) -> None:
    with pytest.raises(RunError):
        regard("train", "copy", "--out", run, "--debug")


# -- evaluate ---------------------------------------------------------------------------------------------------


def test_the_object_of_evaluation(run: Path) -> None:
    said = regard("evaluate", run, "--json").json
    assert {
        "bleu", "bleu_low", "bleu_high", "bleu_signature", "chrf", "exact_match", "token_accuracy",
        "alignment_error_rate", "compositional_bleu",
    } <= set(said)  # fmt: skip
    assert said["split"] == "test"
    assert "tok:13a" in said["bleu_signature"]
    assert said["bleu_low"] <= said["bleu"] <= said["bleu_high"]
    assert 0 <= said["alignment_error_rate"] <= 1
    assert json.loads((run / "scores.json").read_text()) == said


def test_scores_as_a_table(run: Path) -> None:
    lines = regard("evaluate", run, "--greedy").lines
    assert lines[0].split() == ["score", "test", "compositional"]
    assert [line.split()[0] for line in lines[1:4]] == ["bleu", "chrf", "exact"]
    assert len({len(line) for line in lines[: lines.index("")]}) == 1
    assert lines[-1].startswith("BLEU nrefs:1")


def test_scores_of_given_files_against_another_run(run: Path, tmp_path: Path) -> None:
    source, reference = tmp_path / "in.en", tmp_path / "in.fr"
    source.write_text("the cat sleeps\nthe dogs see a bird\n")
    reference.write_text("le chat dort\nles chiens voient un oiseau\n")
    options = ("--source", source, "--reference", reference, "--beam", "2", "--against", run)
    said = regard("evaluate", run, *options, "--json").json
    assert said["decoding"]["size"] == 2
    assert said["against"]["run"] == str(run)
    assert regard("evaluate", run, *options).lines[-1] == said["against"]["sentence"]


def test_two_runs_are_compared_by_name_each_decoding_its_own_way(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    recipe = other / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('kind = "greedy"', 'kind = "beam"\nsize = 3'))
    source, reference = tmp_path / "in.en", tmp_path / "in.fr"
    source.write_text("the cat sleeps\nthe dogs see a bird\n")
    reference.write_text("le chat dort\nles chiens voient un oiseau\n")
    asked: list[tuple[Path, Any]] = []

    def predict(self: Run, texts: list[str], options: Any = None, progress: Any = None) -> list[str]:
        asked.append((self.folder.path, (options or self.recipe.decoding).kind))
        return ["le chat dort", "les chiens voient un oiseau" if self.folder.path == run else "un oiseau"]

    monkeypatch.setattr(Run, "predict", predict)
    options = ("--source", source, "--reference", reference, "--against", other)
    said = regard("evaluate", run, *options, "--json").json["against"]
    assert asked == [(other, "beam"), (run, "greedy")]
    assert said["difference"] > 0
    assert said["sentence"].startswith(f"{run} scores {said['difference']:.2f} BLEU more than {other} (")
    asked.clear()
    regard("evaluate", run, *options, "--beam", "2", "--json")
    assert {kind for _, kind in asked} == {"beam"}


def test_what_evaluation_refuses(run: Path, tmp_path: Path) -> None:
    assert "belong together" in regard("evaluate", run, "--source", "a").error
    missing = regard("evaluate", run, "--source", tmp_path / "a.en", "--reference", tmp_path / "a.fr").error
    assert f"no file {tmp_path}/a.en" in missing
    assert f"no file {tmp_path}/a.fr" in missing
    assert "do not go together" in regard("evaluate", run, "--beam", "2", "--greedy").error
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "three").write_text("a\nb\nc\n")
    uneven = regard("evaluate", run, "--source", tmp_path / "two", "--reference", tmp_path / "three").error
    assert f"{tmp_path}/two has 2 lines, but {tmp_path}/three has 3" in uneven


def test_a_missing_or_half_run_says_what_to_do(run: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert regard("evaluate", nowhere).error == (
        f"there is no run folder {nowhere}; make one with: regard train RECIPE --out {nowhere}"
    )
    assert "it does not look like a run folder" in regard("evaluate", tmp_path).error
    (tmp_path / "recipe.toml").write_text((run / "recipe.toml").read_text())
    assert f"regard train {tmp_path}/recipe.toml --out {tmp_path} --resume" in regard("evaluate", tmp_path).error


def test_the_bar_shows_step_loss_speed_and_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen, clock = io.StringIO(), itertools.count()
    terminal = Console(
        file=screen, force_terminal=True, width=160, color_system=None, highlight=False, get_time=lambda: next(clock)
    )
    monkeypatch.setattr("regard.cli.console.notes", terminal)
    with TrainingBar(tmp_path) as bar:
        bar.on_start(40, 0)
        for step in range(1, 11):
            bar.on_step(step, {"loss": 5.0 - step / 10, "tokens": 300.0, "seconds": 0.25})
            bar.bar.refresh()
        bar.on_validation(10, {"loss": 3.21, "token_accuracy": 0.5, "seconds": 2.5})
        bar.bar.refresh()
        bar.on_end(10)
    shown = next(line for line in reversed(screen.getvalue().splitlines()) if "10/40" in line)
    assert "loss 4.000" in shown
    assert "validation 3.210" in shown
    assert "1,200 tokens/s" in shown
    assert re.search(r"\d:\d\d:\d\d", shown), "the time that is left"
    assert "step 10: validation loss 3.2100  token accuracy 0.500" in screen.getvalue()

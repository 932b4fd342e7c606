"""``regard predict`` for runs that forecast: lines, JSON, a figure; ``look`` over the drawn series; ``evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import regard

SETTINGS = ("data.hours=500", "task.context=48", "model.layers=1", "model.width=16", "training.steps=5",
            "training.batch_tokens=1152", "training.validate_every=5")  # fmt: skip


@pytest.fixture(scope="module")
def forecaster(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of the recipe waves, and a table of hours that it can be asked about."""
    folder = tmp_path_factory.mktemp("forecaster")
    regard("train", "waves", "--out", folder / "run", *(word for one in SETTINGS for word in ("--set", one)))
    lines = [f"2024-03-{1 + hour // 24:02} {hour % 24:02}:00,{50 + 10 * np.sin(hour / 4):.2f}" for hour in range(60)]
    (folder / "load.csv").write_text("\n".join(["time,load", *lines]) + "\n", encoding="utf-8")
    return folder / "run", folder / "load.csv"


def test_every_step_is_a_line_with_its_interval(forecaster: tuple[Path, Path]) -> None:
    run, table = forecaster
    lines = regard("predict", run, table).out.splitlines()
    assert len(lines) == 24
    time, name, median, low, high = lines[0].split("\t")
    assert (time, name) == ("2024-03-03 12:00", "load")
    assert float(low) < float(median) < float(high)
    both = regard("predict", run, table, table).out.split("\n\n")
    assert both[0].splitlines() == both[1].splitlines() == lines


def test_json_has_all_quantiles(forecaster: tuple[Path, Path]) -> None:
    run, table = forecaster
    found = regard("predict", run, table, "--json").json
    (one,) = found["forecasts"]
    assert one["times"][0] == "2024-03-03 12:00"
    assert one["channels"]["load"]["0.5"] == found["outputs"][0]
    assert one["channels"]["load"].keys() == {"0.1", "0.5", "0.9"}


@pytest.mark.parametrize("ending", ["svg", "png", "json"])
def test_the_forecast_is_drawn_with_its_interval(ending: str, forecaster: tuple[Path, Path], tmp_path: Path) -> None:
    run, table = forecaster
    figure = tmp_path / f"tomorrow.{ending}"
    regard("predict", run, table, "--figure", figure)
    data = figure.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG")
    elif ending == "svg":
        for text in (b"load.csv: load", b"forecast", b"0.1 to 0.9", b"2024-03-04 11:00"):
            assert text in data
    else:
        assert "from" in json.loads(data)["words"]
        assert len(json.loads(data)["forecasts"][0]["channels"]["load"]["0.9"]) == 24


def test_a_figure_is_refused_where_there_is_nothing_to_draw(
    forecaster: tuple[Path, Path], run: Path, tmp_path: Path
) -> None:
    told = regard("predict", *forecaster, "--figure", tmp_path / "x.pdf").error
    assert "--figure is written as .svg, .png, .json; found 'x.pdf'" in told
    told = regard("predict", run, "the cat", "--figure", tmp_path / "x.svg").error
    assert "has no use for --figure, which is for runs that forecast" in told


def test_attention_lies_over_the_drawn_series(forecaster: tuple[Path, Path], tmp_path: Path) -> None:
    run, table = forecaster
    regard("look", run, table, "--out", tmp_path / "look.html")
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert '"grid": [1, 6]' in page or '"grid":[1,6]' in page  # (48 + 24) hours in patches of 12
    regard("look", run, table, "--figure", "picture-1-heads", "--out", tmp_path / "heads.json")
    heats = json.loads((tmp_path / "heads.json").read_text())["heats"]
    assert all(np.shape(one["heat"]) == (1, 6) for one in heats)


def test_the_table_sets_simple_methods_beside_the_run(forecaster: tuple[Path, Path]) -> None:
    words = " ".join(regard("evaluate", forecaster[0]).out.split())  # columns of a narrow screen are broken
    for figure in ("mean absolute error", "scaled error", "coverage", "simple method"):
        assert figure in words
    methods = regard("evaluate", forecaster[0], "--json").json["yardsticks"]
    assert list(methods) == ["seasonal naive, 24 steps", "ridge regression on lags"]


def test_the_run_answers_the_same_in_all_ways(forecaster: tuple[Path, Path]) -> None:
    assert regard("check", forecaster[0], "--json").json["holds"]

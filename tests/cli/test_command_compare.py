"""``regard compare``: the table, the object, the files, and what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from command import regard

from regard.inspection.flow.long_sequences import FAMILIES, long_sequences

SETTINGS = [
    word
    for setting in (
        "data.train_size=200", "data.validation_size=20", "data.test_size=20", "data.compositional_size=0",
        "model.width=16", "training.batch_tokens=256",
    )
    for word in ("--set", setting)
]  # fmt: skip
GIVEN = ("compare", "fixed-rnn", "luong", "--budget", "3steps", "--cost-seconds", "0.5", *SETTINGS)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare") / "two"
    found = regard(*GIVEN, "--out", folder)
    assert found.code == 0, found.err
    lines = [line.split() for line in found.out.splitlines()]
    assert [line[0] for line in lines[1:3]] == ["fixed-rnn", "luong"]
    assert found.out.rstrip().endswith(f"report: {folder}/report.html")
    assert "1/2  fixed-rnn, seed 1, 3 steps" in found.err
    return folder


def test_the_object_is_the_report(out: Path) -> None:
    said = regard(*GIVEN, "--out", out, "--json").json
    assert said.pop("page") == str(out / "report.html")
    assert said == json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in said["rows"]] == ["fixed-rnn", "luong"]


def test_the_page_needs_no_network_and_shows_every_figure(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert page.count("<svg") == page.count('download="') >= 6  # each can be saved
    for heading in ("How they learned", "The bottleneck", "How far a gradient reaches, before", "What a layer"):
        assert heading in page


def test_what_is_refused(out: Path) -> None:
    assert "holds another comparison" in regard(*GIVEN, "--seeds", "1,2", "--out", out).error
    assert "separated by commas" in regard(*GIVEN, "--seeds", "one", "--out", out).error
    assert "distinct numbers, 1 or higher" in regard(*GIVEN, "--seeds", "2,2", "--out", out).error
    assert "did you mean 'luong'?" in regard("compare", "luog", "--out", out).error
    assert "cannot be compared" in regard("compare", "copy", "luong", "--out", out).error


def test_long_sequences_join_the_report_when_asked(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is already there: only what is new is measured."""
    quick = partial(long_sequences, steps=2, examples=60)
    monkeypatch.setattr("regard.inspection.reports.comparison.long_sequences", quick)
    before = json.loads((out / "report.json").read_text(encoding="utf-8"))
    found = regard(*GIVEN, "--out", out, "--long-sequences", "11,9")
    assert found.code == 0, found.err
    assert "Bahdanau: middle of 11 symbols" in found.err
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert report["measures"]["long copy"]["numbers"]["lengths"] == [9, 11]
    assert set(report["measures"]["long middle"]["numbers"]["accuracies"]) == set(FAMILIES)
    assert {name: report["measures"][name] for name in before["measures"]} == before["measures"]
    assert "Copying ever longer sequences" in (out / "report.html").read_text(encoding="utf-8")
    assert "separated by commas" in regard(*GIVEN, "--out", out, "--long-sequences", "ten").error

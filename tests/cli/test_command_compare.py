"""``regard compare``: the table, the object, the files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import regard

SETTINGS = [
    word
    for setting in (
        "data.train=200", "data.validation=20", "data.test=20", "data.compositional=0", "model.width=16",
        "training.batch_tokens=256",
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
    assert page.count("<svg") >= 6
    for heading in ("How they learned", "The bottleneck", "How far a gradient reaches, before", "What a layer"):
        assert heading in page


def test_what_is_refused(out: Path) -> None:
    assert "holds another comparison" in regard(*GIVEN, "--seeds", "1,2", "--out", out).error
    assert "separated by commas" in regard(*GIVEN, "--seeds", "one", "--out", out).error
    assert "different numbers from 1 on" in regard(*GIVEN, "--seeds", "2,2", "--out", out).error
    assert "did you mean 'luong'?" in regard("compare", "luog", "--out", out).error
    assert "cannot be compared" in regard("compare", "copy", "luong", "--out", out).error

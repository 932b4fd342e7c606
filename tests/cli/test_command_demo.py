"""``regard demo``: trained, scored, translated, aligned, and a page; nothing of anybody's is overwritten."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import regard, settings

from regard.cli.demo import SENTENCES
from regard.training.stopping import Interrupted

QUICK = settings("training.steps=30")


def test_the_demo_and_its_object_one_after_the_other_in_the_same_place(tmp_path: Path) -> None:
    found = regard("demo", "--out", tmp_path / "demo", *QUICK)
    lines, page = found.lines, tmp_path / "demo" / "alignment.html"
    assert "the cat sat on the mat" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html")
    translated = [line for line in lines if "→" in line]
    assert [line.partition("→")[0].strip() for line in translated] == list(SENTENCES)
    assert len({line.index("→") for line in translated}) == 1
    assert "the cat sat on the mat" in translated[0]
    after = lines[next(number for number, line in enumerate(lines) if "4. the alignment" in line) + 1 :]
    aligned = [line.split("←")[1].split()[0] for line in after if "←" in line]
    assert aligned
    assert set(aligned) <= set(SENTENCES[0].split())
    assert f"the page: {page}" in lines
    assert [line.split()[0] for line in lines[:2]] == ["score", "bleu"]
    for heading in ("1. training", "2. scoring"):
        assert heading in found.err

    said = regard("demo", "--out", tmp_path / "demo", "--json", *QUICK).json
    assert {
        "bleu", "bleu_signature", "chrf", "exact_match", "token_accuracy", "alignment_error_rate", "train_seconds",
        "page",
    } <= set(said)  # fmt: skip
    assert said["page"] == str(page)
    assert said["train_seconds"] > 0
    assert list(said["translations"]) == list(SENTENCES)
    shown = [line.partition("→")[2].strip() for line in translated]
    assert list(said["translations"].values()) == shown  # the same seed, the same model


def test_the_demo_replaces_only_an_earlier_demo(tmp_path: Path) -> None:
    other = tmp_path / "run"
    other.mkdir()
    (other / "recipe.toml").write_text('name = "mine"\n')
    assert "choose another --out" in regard("demo", "--out", tmp_path, *QUICK).error
    assert (other / "recipe.toml").read_text() == 'name = "mine"\n'


def test_a_small_world_of_ones_own_is_no_demo(run: Path, tmp_path: Path) -> None:
    own = shutil.copytree(run, tmp_path / "run")
    assert "choose another --out" in regard("demo", "--out", tmp_path, *QUICK).error
    assert (own / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


def test_stopping_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Interrupted(5)

    monkeypatch.setattr("regard.runs.train.train", stop)
    found = regard("demo", "--out", tmp_path)
    assert found.code == 130
    assert found.err.endswith("stopped after step 5; the next demo starts from the beginning\n")


def test_a_demo_that_was_stopped_before_its_first_step_makes_way_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("regard.data.modalities.text.vocabularies.Vocabularies.train", stop)
        assert regard("demo", "--out", tmp_path, *QUICK).code == 130
    assert [one.name for one in (tmp_path / "run").iterdir()] == [".regard-demo"]  # nothing was trained yet
    assert regard("demo", "--out", tmp_path, *QUICK).code == 0

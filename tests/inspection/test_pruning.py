"""Pruning: what hurts least goes, what is left computes as if the rest were off, and can be trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.core.errors import OptionError
from regard.inspection.editing import without_heads
from regard.inspection.pruning import Worth, loss_of, prune, skipped, without_least
from regard.runs.load import Run, load
from regard.runs.train import train

WORLD = {"kind": "small-world", "train_size": 80, "validation_size": 15, "test_size": 12, "compositional_size": 0}
QUICK = {"steps": 4, "batch_tokens": 256, "threads": 1, "learning_rate": 1e-2, "schedule": {"kind": "constant"}}
TRANSLATOR = {"kind": "transformer", "encoder_layers": 2, "decoder_layers": 2, "width": 12, "heads": 3, "groups": 3}


def recipe(**model: Any) -> dict[str, Any]:
    return {"data": WORLD, "model": {**TRANSLATOR, **model}, "training": QUICK,
            "tokenizer": {"kind": "word", "min_frequency": 1, "joint": False}}  # fmt: skip


def writer(**model: Any) -> dict[str, Any]:
    return {
        "data": {"kind": "world-english", "train_size": 80, "validation_size": 15, "test_size": 12},
        "tokenizer": {"kind": "word", "min_frequency": 1}, "training": QUICK,
        "model": {"layers": 3, "width": 12, "heads": 3, **model},
        "task": {"kind": "language-model", "max_length": 16, "sample": 0},
    }  # fmt: skip


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("whole") / "run"
    train(recipe(), out)
    return load(out)


def test_the_least_worthy_layers_go_first_and_one_of_each_stack_stays() -> None:
    worth = [Worth("a", 0, 0.1), Worth("a", 1, 0.2), Worth("b", 0, 0.9), Worth("b", 1, 0.3), Worth("b", 2, 0.4)]
    kept = {"a": [0, 1], "b": [0, 1, 2]}
    assert without_least(kept, worth, 1) == {"a": [1], "b": [0, 1, 2]}
    assert without_least(kept, worth, 3) == {"a": [1], "b": [0]}


def test_without_heads_it_computes_as_if_they_were_off(translator: Run, tmp_path: Path) -> None:
    found = prune(translator, tmp_path / "small", heads=1)
    small = load(tmp_path / "small")
    assert small.recipe.model.model_dump()["heads"] == 2
    off = [(name.partition(" of ")[2], int(name.split()[1])) for name in found.removed]
    assert len(off) == 6  # one of each attention
    rises = {(one.name, one.number): one.rise for one in found.worth}
    assert all(rises[head] == min(rise for own, rise in rises.items() if own[0] == head[0]) for head in off)
    with without_heads(translator.model, off):
        expected = loss_of(translator, "validation")
    assert found.after.loss == pytest.approx(expected, abs=1e-5)
    assert found.before.loss == pytest.approx(loss_of(translator, "validation"), abs=1e-6)
    assert found.after.parameters < found.before.parameters
    assert small.predict(["the cat sleeps"])


def test_without_a_layer_it_computes_as_if_that_were_skipped(translator: Run, tmp_path: Path) -> None:
    found = prune(translator, tmp_path / "small", layers=1)
    (removed,) = found.removed
    with skipped(translator.model.get_submodule(removed)):
        expected = loss_of(translator, "validation")
    assert found.after.loss == pytest.approx(expected, abs=1e-5)
    assert min(one.rise for one in found.worth) == pytest.approx(expected - found.before.loss, abs=1e-5)


@pytest.mark.parametrize("model", [{"kind": one} for one in ("gpt", "llama", "transformer-xl")], ids=str)
def test_what_is_left_is_trained_on(model: dict[str, Any], tmp_path: Path) -> None:
    train(writer(**model), tmp_path / "whole")
    prune(load(tmp_path / "whole"), tmp_path / "small", layers=1, heads=1 if model["kind"] == "llama" else 0)
    done = train(writer(**model), tmp_path / "again", start=tmp_path / "small")
    assert done.steps == QUICK["steps"]
    again = load(tmp_path / "again")
    assert again.recipe.model.model_dump()["layers"] == 2


def test_what_cannot_go_is_refused(translator: Run, tmp_path: Path) -> None:
    def refused(run: Run, **wish: int) -> str:
        with pytest.raises(OptionError) as error:
            prune(run, tmp_path / "no", **wish)
        assert not (tmp_path / "no").exists()
        return str(error.value)

    assert "give --heads N, --layers N or both" in refused(translator)
    assert "--heads 3 is too many: every attention has 3, and at least one stays" in refused(translator, heads=3)
    counts = "encoder_layers = 2, decoder_layers = 2"
    assert f"--layers 3 is too many: of {counts} at least one of each stays; give at most 2" in refused(
        translator, layers=3
    )
    train(writer(kind="gpt"), tmp_path / "gpt")
    gpt = load(tmp_path / "gpt")
    assert "model.kind = 'gpt' divides its width among its heads" in refused(gpt, heads=1)
    train({**writer(), "model": {"kind": "recurrent", "width": 8}}, tmp_path / "rnn")
    assert "model.kind = 'recurrent' has no stacks of layers" in refused(load(tmp_path / "rnn"), layers=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("", encoding="utf-8")
    with pytest.raises(OptionError, match="is not empty; choose another --out"):
        prune(translator, tmp_path / "full", heads=1)


def test_layers_that_take_turns_are_not_swapped(tmp_path: Path) -> None:
    torch.manual_seed(1)
    local = {"kind": "window", "size": 4}
    train(writer(kind="gpt", attention={"kind": "alternating", "pattern": ("full", "local", "local"), "local": local}),
          tmp_path / "gpt")  # fmt: skip
    run = load(tmp_path / "gpt")
    from regard.inspection.pruning import write_smaller

    with pytest.raises(OptionError, match=r"stack\.layers\.1 would become layer 0, which this recipe builds"):
        write_smaller(run, tmp_path / "no", {"layers": [1, 2]}, {})
    write_smaller(run, tmp_path / "yes", {"layers": [0, 1]}, {})

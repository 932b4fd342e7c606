"""The way through the house is walked once: a recipe is parsed once, weights are read once, a text is run once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.decoding.engine import TorchEngine
from regard.inspection.look.gathering import look
from regard.runs import integrity, recipe
from regard.training import checkpoints

SMALL = [
    "training.steps=2", "data.train_size=40", "data.validation_size=11", "data.test_size=7", "model.width=16",
    "decoding.kind=beam", "decoding.size=3",
]  # fmt: skip


def test_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[str, int] = {"parsed": 0, "weights": 0, "searched": 0, "forward": 0}

    def counting(owner: Any, name: str, what: str, which: Any = lambda given: True) -> None:
        original = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            counted[what] += which(given)
            return original(*given, **named)

        monkeypatch.setattr(owner, name, call)

    counting(recipe, "parse", "parsed", lambda given: given[0] is recipe.Recipe)
    for owner, name in ((checkpoints, "load_tensors"), (integrity, "sha256_of"), (checkpoints, "sha256_of")):
        counting(owner, name, "weights", lambda given: Path(given[0]).name == "model.safetensors")
    regard.train("reverse", tmp_path / "run", SMALL)
    assert counted == {"parsed": 1, "weights": 0, "searched": 0, "forward": 0}, "training asks nothing twice"

    counted["parsed"] = 0
    run = regard.load(tmp_path / "run")
    assert counted == {"parsed": 1, "weights": 1, "searched": 0, "forward": 0}

    counting(TorchEngine, "explain", "searched")
    counting(TorchEngine, "predict", "searched")
    model: Any = run.model
    counted["encoded"] = 0  # a pass that goes around the model's own call would still read the source
    for module, what in ((model, "forward"), (model.encoder, "encoded")):
        module.register_forward_hook(lambda *_, what=what: counted.update({what: counted[what] + 1}))
    look(run, ["a b c"])
    assert (counted["forward"], counted["searched"]) == (1, 1), "one pass for all views, one search"
    assert counted["encoded"] == 2, "the source is read for the pass and for the search"

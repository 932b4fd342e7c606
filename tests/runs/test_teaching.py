"""Runs that learn from others: chances beside the right answers, the teacher's own answers, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from regard.core.errors import RecipeError, RegardError
from regard.layers.losses.distillation import Scored, Softening, class_distillation_loss, distillation_loss
from regard.runs.journal import NullObserver
from regard.runs.load import load
from regard.runs.train import train

WORLD = {"kind": "small-world", "train_size": 80, "validation_size": 12, "test_size": 12, "compositional_size": 0}
QUICK = {"steps": 4, "batch_tokens": 256, "threads": 1, "learning_rate": 1e-3, "checkpoint_every": 2,
         "validate_every": 2, "schedule": {"kind": "constant"}}  # fmt: skip
TEACHER = {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2}
STUDENT = {"kind": "bahdanau", "width": 8, "embedding": {"width": 8}}


def recipe(**changes: Any) -> dict[str, Any]:
    return {"data": WORLD, "model": TEACHER, "training": QUICK, **changes}


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("teacher") / "run"
    train(recipe(tokenizer={"kind": "bpe", "vocabulary": 300}), out)
    return out


def weights_after(out: Path, teacher: Path, **table: Any) -> dict[str, torch.Tensor]:
    train(recipe(model=STUDENT, teacher={"run": str(teacher), **table}), out)
    return load(out).model.state_dict()


def test_the_loss_is_that_of_the_formula_with_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.layers.losses.distillation.CHUNK_ELEMENTS", 13 * 3)  # three positions at once
    torch.manual_seed(1)
    states_ND, matrix_WD = torch.randn(7, 5, requires_grad=True), torch.randn(13, 5, requires_grad=True)
    theirs_NE, theirs_WE = torch.randn(7, 4, requires_grad=True), torch.randn(13, 4, requires_grad=True)
    found = 3 * distillation_loss(Scored(states_ND, matrix_WD), Scored(theirs_NE, theirs_WE), 2.5)
    ours, theirs = states_ND @ matrix_WD.T / 2.5, (theirs_NE @ theirs_WE.T / 2.5).detach()
    expected = 3 * 2.5**2 * (theirs.softmax(-1) * (theirs.log_softmax(-1) - ours.log_softmax(-1))).sum()
    torch.testing.assert_close(found, expected)
    both = (torch.autograd.grad(loss, (states_ND, matrix_WD), retain_graph=True) for loss in (found, expected))
    for one, other in zip(*both):
        torch.testing.assert_close(one, other)
    assert torch.autograd.grad(found, theirs_NE, allow_unused=True) == (None,), "the teacher learns nothing"
    of_logits = class_distillation_loss(states_ND @ matrix_WD.T, theirs_NE @ theirs_WE.T, 2.5)
    torch.testing.assert_close(3 * of_logits, expected)


def test_a_student_with_the_teacher_s_chances_loses_nothing() -> None:
    states_ND, matrix_WD = torch.randn(7, 5), torch.randn(13, 5)
    assert float(distillation_loss(Scored(states_ND, matrix_WD), Scored(states_ND, matrix_WD), 2.0)) == 0.0
    assert float(Softening(0.25, 2.0).mixed(torch.tensor(4.0), torch.tensor(8.0))) == 5.0


def test_a_student_of_another_family_reads_and_writes_the_teacher_s_pieces(teacher: Path, tmp_path: Path) -> None:
    taught = weights_after(tmp_path / "taught", teacher)
    alone = weights_after(tmp_path / "alone", teacher, weight=0.0, answers="own")
    run, theirs = load(tmp_path / "taught"), load(teacher)
    assert run.vocabularies.target.raw.to_str() == theirs.vocabularies.target.raw.to_str()
    assert any(not torch.equal(one, alone[name]) for name, one in taught.items())
    assert not any("teacher" in name for name in taught)


def test_the_teacher_s_chances_bring_a_student_closer_to_it(teacher: Path, tmp_path: Path) -> None:
    """With all weight on them, a student of the teacher's kind comes to give its chances."""
    longer = {**QUICK, "steps": 120, "learning_rate": 5e-3, "validate_every": 120, "checkpoint_every": 120}
    divergences = []
    for steps in (1, 120):
        out = tmp_path / str(steps)
        table = recipe(training={**longer, "steps": steps}, seed=5, teacher={"run": str(teacher), "weight": 1.0})
        train(table, out)
        student, theirs = load(out), load(teacher)
        pairs = student.task.encode_pairs([*_pairs(student)])
        batch = student.task.collate(pairs)
        asked = (batch.source_BS, batch.source_lengths_B, batch.target_in_BT)
        with torch.no_grad():
            ours, given = (run.model.head(run.model(*asked)).log_softmax(-1) for run in (student, theirs))
        divergences.append(float(functional.kl_div(ours, given, reduction="batchmean", log_target=True)))
    assert divergences[1] < 0.6 * divergences[0]


def _pairs(run: Any) -> list[Any]:
    from regard.data.corpus import Pair

    return [Pair("the cat sleeps", "le chat dort"), Pair("a dog saw the king", "un chien a vu le roi")]


def test_whole_answers_take_the_targets_place_and_are_kept(teacher: Path, tmp_path: Path) -> None:
    out = tmp_path / "own"
    train(recipe(model=STUDENT, teacher={"run": str(teacher), "weight": 0.0, "answers": "own"}), out)
    held = json.loads((out / "teacher_answers.json").read_text(encoding="utf-8"))
    assert len(held["answers"]) == WORLD["train_size"]
    theirs = load(teacher)
    from regard.data.ledger import Ledger
    from regard.runs.recipe import Recipe

    sources = [pair.source for pair in Recipe.of_run(out / "recipe.toml").data.load(1, Ledger()).splits["train"]]
    assert theirs.predict(sources[:3]) == held["answers"][:3]


class Stopping(NullObserver):
    """Ends a training in its third step, after the checkpoint of the second."""

    def on_step(self, step: int, figures: Mapping[str, float]) -> None:
        if step == 3:
            raise KeyboardInterrupt


def test_stopped_and_resumed_is_the_same(teacher: Path, tmp_path: Path) -> None:
    whole = weights_after(tmp_path / "whole", teacher)
    made = recipe(model=STUDENT, teacher={"run": str(teacher)})
    with pytest.raises(KeyboardInterrupt):
        train(made, tmp_path / "parts", observers=[Stopping()])
    train(made, tmp_path / "parts", resume=True)
    resumed = load(tmp_path / "parts").model.state_dict()
    assert all(torch.equal(one, resumed[name]) for name, one in whole.items())


def test_classes_and_running_text_are_taught_too(tmp_path: Path) -> None:
    moods = {"data": {**WORLD, "kind": "world-moods"}, "task": {"kind": "classification"}, "training": QUICK,
             "model": {"kind": "bert", "layers": 1, "width": 16, "heads": 2}}  # fmt: skip
    texts = {"data": {"kind": "world-english", "train_size": 80, "validation_size": 12, "test_size": 12},
             "task": {"kind": "language-model", "max_length": 16, "sample": 0}, "training": QUICK,
             "model": {"kind": "gpt", "layers": 1, "width": 16, "heads": 2}}  # fmt: skip
    for name, tree in (("moods", moods), ("texts", texts)):
        words = {**tree, "tokenizer": {"kind": "word", "min_frequency": 1}}
        train(words, tmp_path / name)
        found = []
        for weight in (0.1, 0.9):
            out = tmp_path / f"{name}-{weight}"
            train({**words, "seed": 3, "teacher": {"run": str(tmp_path / name), "weight": weight}}, out)
            found.append(load(out).model.state_dict())
        assert any(not torch.equal(one, found[1][key]) for key, one in found[0].items())


def test_what_is_refused(teacher: Path, tmp_path: Path) -> None:
    def refused(**changes: Any) -> str:
        with pytest.raises(RegardError) as error:
            train(recipe(**changes), tmp_path / "no")
        return str(error.value)

    assert "there is no run folder" in refused(teacher={"run": str(tmp_path / "none")})
    other = refused(
        teacher={"run": str(teacher)}, model={"kind": "gpt", "layers": 1, "width": 16, "heads": 2},
        data={"kind": "world-english"}, task={"kind": "language-model"},
    )  # fmt: skip
    assert "answers task.kind = 'translation', and this recipe learns 'language-model'" in other
    nothing = refused(teacher={"run": str(teacher), "weight": 0.0})
    assert 'weight = 0 and answers = "given" leave a teacher nothing to say' in nothing
    consistent = refused(teacher={"run": str(teacher)}, task={"kind": "translation", "consistency": 1.0})
    assert "task.consistency has no effect beside teacher.weight" in consistent
    with pytest.raises(RecipeError, match=r"teacher\.run names no run to learn from"):
        train(recipe(teacher={"weight": 0.3}), tmp_path / "no")

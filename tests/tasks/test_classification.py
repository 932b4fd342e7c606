"""Classification: what is read, cut, weighed and refused, and that it learns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from regard.cli.main import main
from regard.core.errors import DataError, OptionError
from regard.core.inputs import States
from regard.core.symbols import Specials
from regard.data.modalities.text.enclosing import Window
from regard.layers.headed import Pool, mean_state
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train

IDS = some.lists(some.integers(10, 99), max_size=12)


# -- what is read -------------------------------------------------------------------------------------------------


def test_one_text_and_two_between_symbols() -> None:
    window = Window(Specials(), 9)
    assert window.enclose([11, 12]).tokens.tolist() == [1, 11, 12, 2]
    both = window.enclose([11, 12], [13])
    assert (both.tokens.tolist(), both.second, both.cut) == ([1, 11, 12, 2, 13, 2], 4, 0)


@pytest.mark.parametrize(
    ("keep", "kept"), [("start", [11, 12, 13]), ("end", [14, 15, 16]), ("ends", [11, 15, 16])]
)
def test_what_stays_of_a_long_text(keep: Any, kept: list[int]) -> None:
    made = Window(Specials(), 5, keep).enclose(range(11, 17))
    assert made.tokens.tolist() == [1, *kept, 2]
    assert made.cut == 3


@given(first=IDS, second=IDS, longest=some.integers(5, 20))
def test_two_texts_share_the_window_fairly(first: list[int], second: list[int], longest: int) -> None:
    made = Window(Specials(), longest).enclose(first, second)
    assert len(made.tokens) == min(longest, len(first) + len(second) + 3)
    a, b = made.tokens[1 : made.second - 1].tolist(), made.tokens[made.second : -1].tolist()
    assert a == first[: len(a)]
    assert b == second[: len(b)]
    if made.cut:  # whoever lost something has no less than half, give or take one
        room = longest - 3
        assert len(a) == len(first) or len(a) >= room // 2
        assert len(b) == len(second) or len(b) >= room // 2
        assert len(a) + len(b) == room


def test_the_mean_leaves_padding_out() -> None:
    states = torch.arange(24.0).view(2, 3, 4)
    mean = mean_state(states, torch.tensor([2, 3]))
    assert torch.equal(mean[0], states[0, :2].mean(dim=0))
    assert torch.equal(mean[1], states[1].mean(dim=0))


def test_pooling_follows_what_states_know() -> None:
    x_BND, lengths_B = torch.arange(24.0).view(2, 3, 4), torch.tensor([2, 3])
    padded, full = States(x_BND, lengths_B), States(x_BND)

    class Left:
        causal = True

    class Both:
        causal = False

    assert torch.equal(Pool("auto", Left())(padded), torch.stack([x_BND[0, 1], x_BND[1, 2]]))
    assert torch.equal(Pool("auto", Left())(full), x_BND[:, 2])
    assert torch.equal(Pool("auto", Both())(padded), mean_state(x_BND, lengths_B))
    assert torch.equal(Pool("auto", Both())(full), x_BND.mean(dim=1))
    assert torch.equal(Pool("first", Both())(padded), x_BND[:, 0])
    with pytest.raises(OptionError, match="has no pooler"):
        Pool("pooler", Both())


# -- a run over a table of one's own ------------------------------------------------------------------------------

WORDS = {"good": ["fine", "lovely", "sweet"], "bad": ["awful", "bitter", "foul"]}


def table(path: Path, number: int, seed: int, *, two: bool = False) -> None:
    """With two texts, the label says whether both are of one kind."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        first, second = ("good", "bad") if generator.random() < 0.5 else ("bad", "good")
        second = second if generator.random() < 0.5 else first
        a, b = (f"the {generator.choice(WORDS[kind])} soup no {generator.integers(9)}" for kind in (first, second))
        label = ("same" if first == second else "other") if two else first
        rows.append({"text": a, "second": b, "label": label, "town": str(generator.choice(["Ulm", "Bonn"]))})
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def recipe(folder: Path, *, two: bool = False, **task: Any) -> dict[str, Any]:
    for split, number in (("train", 300), ("validation", 40), ("test", 40)):
        table(folder / f"{split}.jsonl", number, len(split), two=two)
    files = {split: str(folder / f"{split}.jsonl") for split in ("train", "validation", "test")}
    return {
        "data": {"kind": "labelled", **files, "second": "second" if two else "", "group": "town"},
        "tokenizer": {"kind": "wordpiece", "vocabulary": 200, "min_frequency": 1},
        "model": {"kind": "bert", "layers": 2, "width": 32, "heads": 2, "dropout": 0.0, "position": {"max_length": 32}},
        "task": {"kind": "classification", "max_length": 24, **task},
        "training": {"steps": 120, "batch_tokens": 512, "threads": 1, "learning_rate": 3e-3,
                     "schedule": {"kind": "constant"}, "optimizer": {"kind": "adamw"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("classes")
    train(recipe(folder), folder / "run")
    return load(folder / "run")


def test_it_learns_and_is_scored_by_class_and_group(run: Run) -> None:
    scores = evaluate(run)
    assert scores["accuracy"] == 1.0
    assert scores["labels"] == ["bad", "good"]
    assert scores["errors"] == []
    assert set(scores["groups"]) == {"Bonn", "Ulm"}
    assert sum(own["examples"] for own in scores["groups"].values()) == scores["examples"] == 40


def test_two_texts_are_told_apart(tmp_path: Path) -> None:
    made = recipe(tmp_path, two=True)
    made["training"] |= {"steps": 300}
    train(made, tmp_path / "run")
    run = load(tmp_path / "run")
    assert evaluate(run)["accuracy"] > 0.9
    assert run.predict(["the fine soup no 1\tthe sweet soup no 2", "the foul soup no 1\tthe sweet soup no 2"]) == [
        "same", "other",
    ]  # fmt: skip


def test_answers_are_probabilities_in_order(run: Run) -> None:
    answers = run.answers(["the foul soup no 3", "the sweet soup no 3"])
    assert [own[0].text for own in answers] == ["bad", "good"]
    for own in answers:
        assert sum(one.score for one in own) == pytest.approx(1)
        assert own[0].score >= own[1].score


def test_errors_come_with_their_texts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("the foul soup no 3\nthe sweet soup no 4\n")
    (tmp_path / "labels").write_text("good\ngood\n")
    scores = evaluate(run, source=tmp_path / "texts", reference=tmp_path / "labels")
    assert scores["accuracy"] == 0.5
    (error,) = scores["errors"]
    assert [error[key] for key in ("text", "label", "predicted", "line")] == ["the foul soup no 3", "good", "bad", 1]


def test_labels_that_training_never_saw_are_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("soup\nsoup\nsoup\n")
    (tmp_path / "labels").write_text("good\nso-so\nnone\n")
    with pytest.raises(DataError, match=r"no training example has \(known: bad, good\)") as caught:
        evaluate(run, source=tmp_path / "texts", reference=tmp_path / "labels")
    assert "'so-so'" in str(caught.value)
    assert "line 3" in str(caught.value)


def test_long_texts_are_cut_and_listed(tmp_path: Path) -> None:
    made = recipe(tmp_path, max_length=6)
    made["training"] |= {"steps": 1}
    train(made, tmp_path / "run")
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text())
    assert sum(one["truncated"] for one in ledger["files"]) == 380
    assert "longer than task.max_length = 6 tokens" in {one["reason"] for one in ledger["reasons"]}
    assert evaluate(load(tmp_path / "run"))["texts_cut"] == 40


def test_rare_classes_weigh_as_much_as_frequent_ones(tmp_path: Path) -> None:
    """Of text that says nothing, a balanced model holds both labels equally probable, whatever their number."""
    rows = [{"text": "soup", "label": "a" if n % 10 else "b"} for n in range(200)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = {}
    for balance in ("none", "classes"):
        made = recipe(tmp_path, balance=balance)
        made["data"] = {"kind": "labelled", "train": str(tmp_path / "t.jsonl"), "validation_size": 0}
        train(made, tmp_path / balance)
        found[balance] = {one.text: one.score for one in load(tmp_path / balance).answers(["soup"])[0]}
    assert found["none"]["a"] == pytest.approx(0.9, abs=0.05)
    assert found["classes"]["a"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": {"kind": "classification", "max_length": 64}}, "the body reads 32 tokens, but task.max_length is 64"),
        ({"data": {"kind": "small-world", "train_size": 50, "validation_size": 5, "compositional_size": 0}},
         "classification needs inputs with labels"),
        ({"task": {"kind": "classification", "labels": ["good"], "max_length": 24}}, "labels that no training example"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises((DataError, OptionError)) as caught:
        train({**recipe(tmp_path), **change}, tmp_path / "run")
    assert message in str(caught.value)


def test_one_label_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"text": f"soup {n}", "label": "a"}) for n in range(20)))
    made = recipe(tmp_path)
    made["data"] = {"kind": "labelled", "train": str(tmp_path / "t.jsonl"), "validation_size": 0}
    with pytest.raises(DataError, match="there is only one class, 'a'"):
        train(made, tmp_path / "run")


# -- at the command line ------------------------------------------------------------------------------------------


def said(run: Run, capfd: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main([words[0], str(run.folder.path), *words[1:]])
    assert stop.value.code in (0, None), capfd.readouterr().err
    return capfd.readouterr().out


def test_the_command_line_tells_labels_with_probabilities(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    label, share = said(run, capfd, "predict", "the foul soup no 3").rstrip("\n").split("\t")
    assert label == "bad"
    assert 0.5 < float(share) <= 1
    ranked = said(run, capfd, "predict", "the foul soup no 3", "the sweet soup", "--n-best", "2").splitlines()
    assert [line.split("\t")[:3] for line in ranked] == [
        ["1", "1", "bad"], ["1", "2", "good"], ["2", "1", "good"], ["2", "2", "bad"],
    ]  # fmt: skip
    made = json.loads(said(run, capfd, "predict", "the foul soup no 3", "--json"))
    assert made["outputs"] == ["bad"]
    assert set(made["probabilities"][0]) == {"bad", "good"}


def test_the_command_line_shows_classes_and_groups(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    shown = said(run, capfd, "evaluate")
    for word in ("accuracy", "macro f1", "calibration error", "precision", "bad", "good", "Bonn", "Ulm"):
        assert word in shown


def test_ways_of_decoding_are_refused(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["predict", str(run.folder.path), "soup", "--beam", "3"])
    assert stop.value.code == 1
    assert "has no use for --beam, which is for runs that write their answers" in capfd.readouterr().err


def test_a_run_with_a_head_is_checked_compared_and_not_always_exported(run: Run, tmp_path: Path) -> None:
    from regard.interop.checking import check
    from regard.interop.exporting import export
    from regard.runs.significance import significance

    found = {one.name: one for one in check(load(run.folder.path))}
    assert all(one.holds for one in found.values())
    assert not found["batch"].skipped
    assert not found["fused"].skipped
    assert "cannot be written as BertForSequenceClassification" in found["huggingface"].skipped
    assert not found["onnx"].skipped
    assert significance(run, run)["difference"] == 0
    for target in ("huggingface", "ctranslate2"):
        with pytest.raises(OptionError):
            export(run.folder.path, target, tmp_path / target)

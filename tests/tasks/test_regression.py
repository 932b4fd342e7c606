"""Regression: numbers of texts, pictures and graphs; what is no number; figures, and simple methods beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from regard.core.answers import NumberAnswer
from regard.core.errors import DataError
from regard.core.inputs import States
from regard.core.yardsticks import Yardstick, verdict
from regard.layers.headed import Pool
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import build_task, load_corpus, train
from regard.tasks.baselines.counts import fit_columns
from regard.tasks.baselines.ridge import PENALTIES, fit_ridge
from regard.tasks.metrics.numbers import number_scores, paired_errors, ranks
from regard.tasks.regression import numbers_in

WORLD = {"kind": "small-world", "train_size": 20, "validation_size": 2, "test_size": 2, "compositional_size": 0}
CHAINS = [5, 3, 7, 4, 6, 8, 2, 9, 10, 3, 6, 5, 11, 4, 7, 8]


def chain(nodes: int) -> dict[str, Any]:
    """A path, and of it how many nodes there are and twice as many."""
    return {
        "nodes": nodes, "edges": [[place, place + 1] for place in range(nodes - 1)], "size": [nodes, 2 * nodes],
        "length": nodes,
    }  # fmt: skip


def table(folder: Path, label: str = "length", **changes: Any) -> dict[str, Any]:
    for split, sizes in (("train", CHAINS), ("test", CHAINS[2:7])):
        (folder / f"{split}.json").write_text(json.dumps([chain(size) for size in sizes]))
    return {
        "data": {"kind": "graphs", "train": str(folder / "train.json"), "test": str(folder / "test.json"),
                 "label": label, "validation_size": 0},
        "input": {"kind": "graph", "structure": {"degree": 3}},
        "model": {"kind": "graph-transformer", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0},
        "task": {"kind": "regression", "pooling": "sum", "dropout": 0.0, **changes},
        "training": {"steps": 40, "batch_tokens": 128, "learning_rate": 0.01, "schedule": {"kind": "constant"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("chains")
    train(table(folder, "size", names=["nodes", "twice"]), out=folder / "run")
    return load(folder / "run")


def test_a_batch_of_graphs_holds_small_and_large_ones(run: Run) -> None:
    task = build_task(run.recipe, load_corpus(run.recipe), run.modalities)
    examples = task.examples("train", 0)
    assert examples.order is not None
    batches = examples.order(40)
    assert sorted(np.concatenate(batches)) == list(range(len(CHAINS)))
    assert np.mean([np.ptp(examples.lengths_NA[batch]) for batch in batches]) > 3, "alike ones would have one answer"


def test_a_trained_run_says_numbers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chain.json").write_text(json.dumps(chain(6)))
    ((answer,),) = run.answers([str(tmp_path / "chain.json")])
    assert isinstance(answer, NumberAnswer)
    assert answer.values == pytest.approx((6, 12), rel=0.3)
    assert answer.text == " ".join(f"{value:.6g}" for value in answer.values)


def test_what_the_data_decides_is_written_into_the_recipe(run: Run) -> None:
    config: Any = run.recipe.task
    assert config.mean == pytest.approx((np.mean(CHAINS), 2 * np.mean(CHAINS)))
    assert config.std == pytest.approx((np.std(CHAINS), 2 * np.std(CHAINS)))
    assert config.unresolved().mean == ()


def test_scores_come_with_intervals_numbers_apart_and_the_largest_errors(run: Run) -> None:
    scores = evaluate(run)
    assert scores["leading"] == ["mean_absolute_error"]
    low, high = scores["mean_absolute_error_low"], scores["mean_absolute_error_high"]
    assert low <= scores["mean_absolute_error"] <= high
    assert set(scores["numbers"]) == {"nodes", "twice"}
    own = [scores["numbers"][name]["mean_absolute_error"] for name in ("nodes", "twice")]
    assert scores["mean_absolute_error"] == pytest.approx(np.mean(own))
    assert len(scores["largest_errors"]) == 5
    worst = scores["largest_errors"][0]
    assert Path(worst["text"].partition("#")[0]).name == "test.json"
    errors = [np.abs(np.subtract(one["predicted"], one["numbers"])).mean() for one in scores["largest_errors"]]
    assert errors == sorted(errors, reverse=True)
    found = scores["yardsticks"]
    assert found["ridge regression on number of nodes"]["mean_absolute_error"] == pytest.approx(0, abs=0.05)
    assert found["always the median"]["mean_absolute_error"] > 1
    assert "below the simple method 'ridge regression" in scores["verdict"]


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_other_losses_learn_too(tmp_path: Path, loss: str) -> None:
    trained = train({**table(tmp_path, loss=loss), "seed": 5}, out=tmp_path / "run")
    assert trained.steps == 40
    assert evaluate(load(tmp_path / "run"), yardsticks=False)["mean_absolute_error"] < 1.5


def test_numbers_of_texts(tmp_path: Path) -> None:
    """The same task over another modality: how many words there are."""
    rows = [(" ".join(["word"] * count), count) for count in (2, 3, 5, 7, 4, 6, 8, 3)]
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(f"{text},{count}\n" for text, count in rows))
    recipe = {
        "data": {"kind": "labelled", "train": str(tmp_path / "train.csv"), "test": str(tmp_path / "train.csv"),
                 "validation_size": 0},
        "tokenizer": {"kind": "word", "min_frequency": 1},
        "model": {"kind": "bert", "layers": 1, "width": 12, "heads": 2},
        "task": {"kind": "regression", "pooling": "sum"},
        "training": {"steps": 3, "batch_tokens": 64},
    }  # fmt: skip
    train(recipe, out=tmp_path / "run")
    run = load(tmp_path / "run")
    scores = evaluate(run)
    assert scores["yardsticks"]["ridge regression on words"]["mean_absolute_error"] < 0.2
    assert len(run.predict(["word word"])) == 1


def test_numbers_of_pictures(tmp_path: Path) -> None:
    from PIL import Image

    lines = ["image,label"]
    for index, brightness in enumerate((0, 40, 80, 120, 160, 200, 240)):
        Image.fromarray(np.full((4, 4, 3), brightness, np.uint8)).save(tmp_path / f"{index}.png")
        lines.append(f"{index}.png,{brightness / 10}")
    (tmp_path / "train.csv").write_text("\n".join(lines))
    recipe = {
        "data": {"kind": "pictures", "train": str(tmp_path / "train.csv"), "test": str(tmp_path / "train.csv"),
                 "validation_size": 0},
        "input": {"kind": "image"},
        "model": {"kind": "vit", "layers": 1, "width": 12, "heads": 2, "front": {"kind": "patches", "size": 2}},
        "task": {"kind": "regression"},
        "training": {"steps": 3, "batch_tokens": 8},
    }  # fmt: skip
    train(recipe, out=tmp_path / "run")
    scores = evaluate(load(tmp_path / "run"))
    assert scores["yardsticks"]["ridge regression on pixels"]["mean_absolute_error"] < 0.1
    assert np.isfinite(scores["mean_absolute_error"])


# -- what is no number --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1.5", [1.5]), ("-3e2", [-300]), ("1 2", [1, 2]), ("[1.0, 2]", [1, 2]), ("1;2,3", [1, 2, 3]), ("one", []),
     ("nan", []), ("inf 1", []), ("", [])],
)  # fmt: skip
def test_numbers_in_a_label(text: str, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers


def test_labels_that_are_no_numbers_are_all_named(tmp_path: Path) -> None:
    recipe = table(tmp_path)
    trees = [{**chain(3), "length": value} for value in (1, "two", 3, "x")]
    (tmp_path / "train.json").write_text(json.dumps(trees))
    with pytest.raises(DataError) as caught:
        train(recipe, out=tmp_path / "run")
    told = str(caught.value)
    assert "regression needs a number as the label of every input, and 2 have something else" in told
    assert f"'two' ({tmp_path / 'train.json'}, line 2)" in told
    assert "line 4" in told


def test_names_for_another_number_of_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="regression needs 3 numbers as the label of every input"):
        train(table(tmp_path, "size", names=["a", "b", "c"]), out=tmp_path / "run")


def test_inputs_without_labels_are_refused(tmp_path: Path) -> None:
    recipe = {**table(tmp_path), "data": {**WORLD}, "input": {"kind": "text"}}
    with pytest.raises(DataError, match="regression needs inputs with a number as their label"):
        train({**recipe, "model": {"kind": "bert"}}, out=tmp_path / "run")


# -- figures ------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(1)
    gold, said = generator.standard_normal((2, 31, 3))
    scores = number_scores(said, gold)
    assert scores["mean_absolute_error"] == pytest.approx(mean_absolute_error(gold, said))
    assert scores["root_mean_squared_error"] == pytest.approx(root_mean_squared_error(gold, said))
    assert scores["r_squared"] == pytest.approx(r2_score(gold, said))
    assert scores["correlation"] == pytest.approx(np.mean([np.corrcoef(gold.T[i], said.T[i])[0, 1] for i in range(3)]))


def test_constant_answers_explain_nothing_and_break_nothing() -> None:
    gold = np.array([[1.0], [2.0], [3.0]])
    scores = number_scores(np.full((3, 1), 2.0), gold)
    assert (scores["r_squared"], scores["correlation"], scores["rank_correlation"]) == (0, 0, 0)
    assert number_scores(gold, np.full((3, 1), 2.0))["r_squared"] == 0


def test_equal_numbers_share_a_rank() -> None:
    assert ranks(np.array([[3.0], [1.0], [3.0], [7.0]])).ravel().tolist() == [2.5, 1, 2.5, 4]


def test_two_systems_by_their_errors() -> None:
    found = paired_errors([0.5] * 40, [0.1] * 40)
    assert found.difference == pytest.approx(-0.4)
    assert found.significant
    assert found.outcome("A", "B").startswith("B scores 0.4000 mean absolute error less than A (0.1000 against 0.5000)")


def test_of_errors_less_is_better_where_a_simple_method_is_ahead() -> None:
    scores = {"leading": ["mean_absolute_error"], "mean_absolute_error": 0.7}
    ahead, behind = (Yardstick({"mean_absolute_error": value}, "2 texts") for value in (0.6, 0.8))
    assert verdict(scores, {"ridge": behind}) == ""
    told = verdict(scores, {"ridge": ahead})
    assert "below the simple method 'ridge': mean absolute error 0.7000 against 0.6000" in told


def test_ridge_is_that_of_scikit_learn_with_the_best_penalty_by_leaving_one_out() -> None:
    generator = np.random.default_rng(2)
    x, y = generator.standard_normal((23, 7)), generator.standard_normal((23, 2))
    ours = fit_ridge(x, y)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    theirs = SklearnRidge(alpha=ours.penalty).fit(scaled, y)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(scaled), atol=1e-8)
    errors = {}
    for penalty in PENALTIES:
        left = [SklearnRidge(alpha=penalty).fit(np.delete(scaled, i, 0), np.delete(y, i, 0)) for i in range(23)]
        errors[penalty] = np.mean([np.square(one.predict(scaled[[i]]) - y[[i]]) for i, one in enumerate(left)])
    assert min(errors, key=lambda one: errors[one]) == ours.penalty


def test_columns_for_what_most_inputs_have() -> None:
    columns = fit_columns([{"a": 1, "b": 2}, {"b": 1}, {"b": 1, "c": 1, "a": 3}], most=2)
    assert columns.names == ("a", "b")
    assert columns.features([{"a": 5, "x": 1}]).tolist() == [[5, 0]]


def test_states_may_be_summed() -> None:
    class Body:
        causal = False

    states = States(torch.tensor([[[1.0], [2.0], [9.0]], [[3.0], [4.0], [5.0]]]), torch.tensor([2, 3]))
    assert Pool("sum", Body())(states).tolist() == [[3.0], [12.0]]
    assert Pool("sum", Body())(States(states.x_BND)).tolist() == [[12.0], [12.0]]

"""Runs that start from others: bodies, heads, pieces, adapters, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.core.errors import RecipeError, RunError
from regard.runs.load import load
from regard.runs.train import train
from regard.training import checkpoints

TINY = {"kind": "bert", "layers": 2, "width": 16, "heads": 2, "dropout": 0.0, "position": {"max_length": 40}}
QUICK = {"steps": 4, "batch_tokens": 256, "threads": 1, "learning_rate": 1e-3, "checkpoint_every": 2,
         "validate_every": 2, "schedule": {"kind": "constant"}}  # fmt: skip
SMALL = {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2}
WORLD = {"train_size": 200, "validation_size": 20, "test_size": 20}


def recipe(**changes: Any) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "data": {"kind": "world-english", **WORLD},
        "tokenizer": {"kind": "wordpiece", "vocabulary": 300},
        "model": TINY,
        "task": {"kind": "masked-language-model", "max_length": 24, "documents": "apart", "pseudo": 0},
        "training": QUICK,
    }
    return {**tree, **changes}


def moods(**changes: Any) -> dict[str, Any]:
    return recipe(
        data={"kind": "world-moods", **WORLD, "compositional_size": 0},
        task={"kind": "classification", "max_length": 24},
        **changes,
    )


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parent") / "bert"
    train(recipe(), out)
    return out


def weights(run: Path) -> dict[str, torch.Tensor]:
    return checkpoints.load_tensors(run / "model.safetensors")


def test_the_body_is_theirs_and_the_head_is_new(parent: Path, tmp_path: Path) -> None:
    train(moods(), tmp_path / "mood", ["start.frozen=['[!h]*']"], start=parent)
    before, after = weights(parent), weights(tmp_path / "mood")
    body = {name for name in after if name.startswith("body.")}
    assert body
    assert all(torch.equal(after[name], before[name.removeprefix("body.")]) for name in body)
    assert {name for name in after if not name.startswith("body.")} == {"head.classes.weight", "head.classes.bias"}
    run = load(tmp_path / "mood")
    assert run.recipe.task.labels == ("calm", "happy", "sad")  # type: ignore[attr-defined]
    assert (tmp_path / "mood" / "tokenizer.json").read_text() == (parent / "tokenizer.json").read_text()


def test_without_freezing_the_body_moves(parent: Path, tmp_path: Path) -> None:
    train(moods(), tmp_path / "mood", start=parent)
    before, after = weights(parent), weights(tmp_path / "mood")
    assert not torch.equal(after["body.layers.0.attention.project.weight"], before["layers.0.attention.project.weight"])


def test_a_run_goes_on_pre_training_from_another(parent: Path, tmp_path: Path) -> None:
    train(recipe(), tmp_path / "more", ["training.learning_rate=1e-12"], start=parent)
    before, after = weights(parent), weights(tmp_path / "more")
    assert before.keys() == after.keys()
    for name in before:
        torch.testing.assert_close(after[name], before[name], atol=1e-7, rtol=1e-5)


def test_settings_of_the_model_have_the_last_word(parent: Path, tmp_path: Path) -> None:
    train(moods(), tmp_path / "mood", ["model.dropout=0.25"], start=parent)
    assert load(tmp_path / "mood").recipe.model.dropout == 0.25  # type: ignore[attr-defined]


def test_a_killed_run_goes_on_without_its_parent(parent: Path, tmp_path: Path) -> None:
    whole = train(moods(), tmp_path / "whole", start=parent)
    moved = tmp_path / "parent"
    import shutil

    shutil.copytree(parent, moved)
    train(moods(), tmp_path / "parts", ["training.steps=2"], start=moved)
    for name in ("model.safetensors", "summary.json"):
        (tmp_path / "parts" / name).unlink()
    kept = tmp_path / "parts" / "recipe.toml"
    kept.write_text(kept.read_text().replace("steps = 2\n", "steps = 4\n"))
    shutil.rmtree(moved)
    resumed = train(kept, tmp_path / "parts", resume=True)
    assert resumed.steps == 4
    assert resumed.weights_sha256 == whole.weights_sha256


def test_a_model_of_another_shape_is_refused_with_every_tensor(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"does not fit the model of this recipe: \d+ problems") as caught:
        train(moods(), tmp_path / "mood", ["model.width=32"], start=parent)
    assert "embedding.weight" in str(caught.value)
    assert "layers.1.attention.project.weight" in str(caught.value)


def test_a_tokenizer_that_does_not_fit_is_refused(parent: Path, tmp_path: Path) -> None:
    table = tmp_path / "greek.csv"
    table.write_text("text,label\n" + "".join(f"καλημέρα κόσμε {n},{n % 2}\n" for n in range(40)), encoding="utf-8")
    data = {"kind": "labelled", "train": str(table), "validation_size": 4}
    with pytest.raises(RunError, match=r"the tokenizer of .* does not fit: \d+\.\d% of the pieces .* are unknown"):
        train({**moods(), "data": data}, tmp_path / "mood", start=parent)


def test_shared_pieces_keep_their_vectors(parent: Path, tmp_path: Path) -> None:
    settings = ["start.tokenizer=retrain", "start.frozen=['embedding*']"]
    tokenizer = {"kind": "wordpiece", "vocabulary": 200}
    train(moods(tokenizer=tokenizer), tmp_path / "child", settings, start=parent)
    old, new = load(parent), load(tmp_path / "child")
    before, after = weights(parent)["embedding.weight"], weights(tmp_path / "child")["body.embedding.weight"]
    ids = {old.vocabularies.target.token(id): id for id in range(old.vocabularies.target.size)}
    shared = 0
    for id in range(new.vocabularies.target.size):
        piece = new.vocabularies.target.token(id)
        if piece in ids:
            shared += 1
            assert torch.equal(after[id], before[ids[piece]]), piece
    assert shared > 100


def test_adapters_change_little_and_merge_to_the_same_answers(parent: Path, tmp_path: Path) -> None:
    settings = ["start.adapters.rank=3", "training.learning_rate=0.05", "training.schedule.kind=constant"]
    train(moods(), tmp_path / "apart", [*settings, "start.adapters.merge=false"], start=parent)
    train(moods(), tmp_path / "merged", settings, start=parent)
    before, apart, merged = weights(parent), weights(tmp_path / "apart"), weights(tmp_path / "merged")
    name = "layers.0.attention.project"
    assert torch.equal(apart[f"body.{name}.parametrizations.weight.original"], before[f"{name}.weight"])
    change = merged[f"body.{name}.weight"] - before[f"{name}.weight"]
    assert 0 < torch.linalg.matrix_rank(change, rtol=1e-4) <= 3
    assert torch.equal(merged["body.embedding.weight"], before["embedding.weight"])
    texts = ["the happy cat sleeps", "the sad dog was never tired"]
    one, other = load(tmp_path / "apart"), load(tmp_path / "merged")
    for ours, theirs in zip(one.answers(texts), other.answers(texts), strict=True):
        assert [answer.text for answer in ours] == [answer.text for answer in theirs]
        assert [answer.score for answer in ours] == pytest.approx([answer.score for answer in theirs], abs=1e-6)


def test_a_run_whose_adapters_stand_apart_can_be_started_from(parent: Path, tmp_path: Path) -> None:
    settings = ["start.adapters.rank=3", "start.adapters.alpha=5", "training.learning_rate=0.05"]
    train(moods(), tmp_path / "apart", [*settings, "start.adapters.merge=false"], start=parent)
    train(moods(), tmp_path / "merged", settings, start=parent)
    for name in ("apart", "merged"):
        train(moods(), tmp_path / f"from-{name}", ["start.frozen=['layers.*']"], start=tmp_path / name)
    one, other = (weights(tmp_path / f"from-{name}") for name in ("apart", "merged"))
    assert one.keys() == other.keys()
    body = [name for name in one if name.startswith("body.layers.")]
    torch.testing.assert_close({name: one[name] for name in body}, {name: other[name] for name in body})


def test_patterns_that_match_nothing_are_refused(parent: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"nothing is called 'layer\.0"):
        train(moods(), tmp_path / "a", ["start.frozen=['layer.0.*']"], start=parent)
    with pytest.raises(regard.RegardError, match=r"no linear layer is called nothing; there are: layers\.0"):
        train(moods(), tmp_path / "b", ["start.adapters.rank=2", "start.adapters.targets=['nothing']"], start=parent)
    with pytest.raises(RunError, match="there is no run folder"):
        train(moods(), tmp_path / "c", start=tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["gpt", "llama", "recurrent", "transformer", "bahdanau", "luong", "convolution",
                                  "fixed-context"])  # fmt: skip
def test_every_family_is_a_body(kind: str, tmp_path: Path) -> None:
    """A head on it learns, and its run is loaded again with the same answers."""
    small = {"layers": 1, "width": 16, "heads": 2}
    sizes = {"gpt": small, "llama": {**small, "groups": 1},
             "transformer": {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2}}  # fmt: skip
    model = {"kind": kind, **sizes.get(kind, {"width": 16})}
    tokenizer = {"kind": "word", "min_frequency": 1}
    trained = train(moods(model=model, tokenizer=tokenizer), tmp_path / "run")
    run = load(tmp_path / "run")
    assert checkpoints.weights_hash(checkpoints.weights_of(run.model)) == trained.weights_sha256
    texts = ["the cat sleeps", "the happy child sees a very sad old dog in the garden"]
    together = [own[0].score for own in run.answers(texts)]
    alone = [run.answers([text])[0][0].score for text in texts]
    assert together == pytest.approx(alone, abs=1e-5)
    assert not any(name.startswith(("body.head", "body.decoder")) for name in weights(tmp_path / "run"))


def test_language_models_and_translators_are_tuned_too(tmp_path: Path) -> None:
    """Their heads come along: they write, before and after."""
    writer = recipe(
        model={"kind": "gpt", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0, "position": {"max_length": 32}},
        tokenizer={"kind": "word", "min_frequency": 1},
        task={"kind": "language-model", "max_length": 16, "sample": 0},
    )
    translator = recipe(
        data={"kind": "small-world", **WORLD, "compositional_size": 0},
        model={**SMALL, "dropout": 0.0},
        tokenizer={"kind": "word", "min_frequency": 1, "joint": False},
        task={"kind": "translation"},
    )
    for name, table in (("writer", writer), ("translator", translator)):
        train(table, tmp_path / name)
        train(table, tmp_path / f"{name}-tuned", ["training.learning_rate=1e-12"], start=tmp_path / name)
        before, after = weights(tmp_path / name), weights(tmp_path / f"{name}-tuned")
        assert before.keys() == after.keys()
        for key in before:
            torch.testing.assert_close(after[key], before[key], atol=1e-7, rtol=1e-5)
    train(moods(), tmp_path / "mood", start=tmp_path / "writer")  # a head on a writer's body
    assert load(tmp_path / "mood").recipe.model.kind == "gpt"


def test_a_child_translator_keeps_the_vectors_of_words_on_both_sides(tmp_path: Path) -> None:
    """Parent to child: other data, own words, the parent's vectors where it knows them, on each side by itself."""
    parent = recipe(
        data={"kind": "small-world", **WORLD, "compositional_size": 0},
        model={**SMALL, "tied": "none"},
        tokenizer={"kind": "word", "min_frequency": 1, "joint": False},
        task={"kind": "translation"},
    )
    train(parent, tmp_path / "parent")
    settings = ["start.tokenizer=retrain", "start.frozen=['*embedding*', 'head*']", "data.train_size=60", "seed=9"]
    train(parent, tmp_path / "child", settings, start=tmp_path / "parent")
    old, new = load(tmp_path / "parent"), load(tmp_path / "child")
    tables = {"source": ["source_embedding.weight"], "target": ["target_embedding.weight", "head.weight"]}
    for side, names in tables.items():
        before, after = getattr(old.vocabularies, side), getattr(new.vocabularies, side)
        assert before.size > after.size
        ids = {before.token(id): id for id in range(before.size)}
        shared = [(ids[after.token(id)], id) for id in range(after.size) if after.token(id) in ids]
        assert len(shared) > 20
        for name in names:
            theirs, ours = weights(tmp_path / "parent")[name], weights(tmp_path / "child")[name]
            assert all(torch.equal(theirs[of], ours[to]) for of, to in shared)


def test_lower_layers_move_more_slowly(parent: Path) -> None:
    from regard.training.layer_decay import layer_scales

    model = load(parent).model
    shares = layer_scales(model, 0.5)
    by_name = {name: shares[parameter] for name, parameter in model.named_parameters()}
    assert by_name["embedding.weight"] == by_name["position.table_SD"] == by_name["norm.weight"] == 0.125
    assert by_name["layers.0.attention.project.weight"] == 0.25
    assert by_name["layers.1.feed_forward.inner.weight"] == 0.5
    assert by_name["head.dense.weight"] == 1.0


def test_layer_decay_reaches_the_optimiser(parent: Path, tmp_path: Path) -> None:
    """One step of Adam from equal weights: how far each layer went is its share of the rate."""
    settings = [
        "training.steps=1", "training.layer_decay=0.1", "training.schedule.kind=constant", "training.clip=0.0",
        "training.optimizer.kind=adamw", "training.optimizer.weight_decay=0.0",
    ]  # fmt: skip
    train(moods(), tmp_path / "mood", settings, start=parent)
    before, after = weights(parent), weights(tmp_path / "mood")
    far = {name: float((after[f"body.{name}"] - before[name]).abs().max()) for name in
           ("layers.0.attention.output.weight", "layers.1.attention.output.weight")}  # fmt: skip
    assert far["layers.1.attention.output.weight"] == pytest.approx(1e-4, rel=0.05)
    assert far["layers.0.attention.output.weight"] == pytest.approx(1e-5, rel=0.05)

"""Vectors of texts: the loss against its formula, batches that do not matter, mates that are found, and search."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.core.config import parse
from regard.core.errors import DataError, OptionError, TrainingError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import WordTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.layers.headed import Headed
from regard.runs.evaluate import evaluate
from regard.runs.load import load
from regard.runs.recipe import Recipe
from regard.runs.train import build_model, train
from regard.tasks.embedding import Embedding, EmbeddingConfig
from regard.tasks.metrics.retrieval import pair_ranks, retrieval_scores
from regard.tasks.vectors.sentence_vectors import Embedder

CPU = torch.device("cpu")
BERT = {"kind": "bert", "layers": 1, "width": 24, "heads": 2, "dropout": 0.0, "position": {"max_length": 30}}
GPT = {"kind": "gpt", "layers": 1, "width": 24, "heads": 2, "dropout": 0.0}
PAIRS = [
    Pair("the cat sleeps", "le chat dort", 1, "p"),
    Pair("a dog", "un chien", 2, "p"),
    Pair("the dog saw the old cat", "le chien a vu le vieux chat", 3, "p"),
    Pair("a dog", "le chien", 4, "p"),
]


def task_over(pairs: list[Pair], **settings: Any) -> Embedding:
    corpus = Corpus({"train": tuple(pairs)}, Ledger())
    made = WordTokenizer(min_frequency=1).train([text for one in pairs for text in (one.source, one.target)])
    modalities = Modalities.of_text(Vocabularies(made, made))
    return EmbeddingConfig(**{"max_length": 20, **settings}).build(corpus, modalities, 1)


def headed(task: Embedding, model: dict[str, Any]) -> Headed:
    body = build_model(parse(Recipe, {"model": model, "seed": 3}), task.ports())
    return Headed(body, task.head(body)).eval()


@pytest.mark.parametrize("pooling", ["mean", "first", "last", "auto"])
@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_the_loss_is_its_formula_and_equal_texts_are_no_strangers(model: dict[str, Any], pooling: Any) -> None:
    """−log of the mate's share of e^(cosine/τ), by hand; pairs 2 and 4 have the same source and do not compete."""
    task = task_over(PAIRS, pooling=pooling, temperature=0.2)
    made = headed(task, model)
    with torch.no_grad():
        found = task.sums(made, task.collate(task.examples("train", 0)))
    embedder = task.embedder(made, CPU)
    sources, targets = (embedder.embed([getattr(one, side) for one in PAIRS])[0] for side in ("source", "target"))
    np.testing.assert_allclose(np.linalg.norm(sources, axis=1), 1, rtol=1e-5)
    expected = 0.0
    for own in range(4):
        rivals = [other for other in range(4) if {own, other} != {1, 3}]
        for first, second in ((sources, targets), (targets, sources)):
            total = sum(math.exp(float(first[own] @ second[other]) / 0.2) for other in rivals)
            expected -= math.log(math.exp(float(first[own] @ second[own]) / 0.2) / total) / 2
    assert float(found.sums["loss"]) == pytest.approx(expected, rel=1e-4)
    assert found.counts["loss"] == 4


@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_a_text_has_the_same_vector_in_any_company_and_order(model: dict[str, Any]) -> None:
    task = task_over(PAIRS)
    embedder = task.embedder(headed(task, model), CPU)
    texts = [text for one in PAIRS for text in (one.source, one.target)]
    together = embedder.embed(texts).vectors_ND
    alone = np.concatenate([embedder.embed([text]).vectors_ND for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(embedder.embed(texts[::-1]).vectors_ND[::-1], together, atol=1e-6)


def test_what_is_cut_is_counted() -> None:
    task = task_over(PAIRS, max_length=5)
    assert [(one.line, one.detail) for one in task.corpus.ledger.exceptions] == [(3, "7 tokens were cut")]
    embedder = task.embedder(headed(task, BERT), CPU)
    found = embedder.embed(["the cat sleeps", "the dog saw the old cat"])
    assert found.cut == 1
    np.testing.assert_allclose(found.vectors_ND[1], embedder.embed(["the dog saw"]).vectors_ND[0], atol=1e-6)


def test_ranks_by_hand() -> None:
    queries = np.array([[1.0, 0], [0, 1], [0.6, 0.8]])
    others = np.array([[0.9, 0.1], [1.0, 0], [0.7, 0.7]])
    assert pair_ranks(queries, others).tolist() == [2, 3, 1]
    scores = retrieval_scores(queries, others)
    assert scores["source_to_target"]["retrieval_accuracy"] == pytest.approx(1 / 3)
    assert scores["source_to_target"]["mean_reciprocal_rank"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    assert scores["target_to_source"]["retrieval_accuracy"] == pytest.approx(2 / 3)
    assert scores["retrieval_accuracy"] == 0.5
    assert scores["retrieval_accuracy_low"] < 0.5 < scores["retrieval_accuracy_high"]
    assert pair_ranks(queries, others, ["a", "a", "b"]).tolist() == [1, 2, 1], "equal texts do not compete"
    assert pair_ranks(np.ones((4, 2)), np.ones((4, 2))).tolist() == [4, 4, 4, 4], "equal vectors earn nothing"
    with pytest.raises(DataError, match="3 sources against 2 targets"):
        retrieval_scores(queries, others[:2])


def test_what_cannot_be_learned_from_is_refused(tmp_path: Path) -> None:
    two = [WordTokenizer(min_frequency=1).train([text]) for text in ("a b", "c d")]
    with pytest.raises(OptionError, match=r"needs one tokenizer: set tokenizer\.joint=true"):
        EmbeddingConfig().build(Corpus({"train": tuple(PAIRS)}, Ledger()), Modalities.of_text(Vocabularies(*two)), 1)
    with pytest.raises(OptionError, match=r"the body reads 30 tokens, but task\.max_length is 40"):
        headed(task_over(PAIRS, max_length=40), BERT)
    with pytest.raises(TrainingError, match="this task's loss does not add over examples"):
        train(recipe(BERT), tmp_path / "run", ["training.accumulate=2"])


def recipe(model: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {"kind": "small-world", "train_size": 300, "validation_size": 20, "test_size": 30,
                 "compositional_size": 0},
        "tokenizer": {"kind": "wordpiece", "vocabulary": 400},
        "model": model,
        "task": {"kind": "embedding", "max_length": 30, "pooling": "mean"},
        "training": {"steps": 120, "batch_tokens": 512, "threads": 1, "learning_rate": 1e-2, "validate_every": 999,
                     "schedule": {"kind": "linear", "warmup": 5}},
    }  # fmt: skip


@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_mates_are_found_after_a_little_training(model: dict[str, Any], tmp_path: Path) -> None:
    """A thirtieth would be found by chance."""
    train(recipe(model), tmp_path / "run")
    run = load(tmp_path / "run")
    scores = evaluate(run)
    assert scores["retrieval_accuracy"] > 0.3
    assert scores["pairs"] == 30
    cosine, vector = run.predict(["the cat sleeps\tle chat dort", "the cat sleeps"])
    one, other = run.embed(["the cat sleeps", "le chat dort"])
    assert float(cosine) == pytest.approx(float(one @ other), abs=1e-5)
    np.testing.assert_allclose(np.array(vector.split(), float), one, atol=1e-5)


def test_a_model_that_gives_no_states_is_refused() -> None:
    made = WordTokenizer(min_frequency=1).train(["a"])
    with pytest.raises(OptionError, match="Linear gives a text no states"):
        Embedder.of(torch.nn.Linear(2, 2), made, CPU)

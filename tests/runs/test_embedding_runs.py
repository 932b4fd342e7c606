"""Any run gives texts vectors, and ``regard search`` finds lines with them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertModel

from regard.cli.main import main
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import load
from regard.runs.train import train
from tests.interop.pretrained import minilm

WORLD = {"train_size": 100, "validation_size": 10, "test_size": 10}
SMALL = {"layers": 1, "width": 16, "heads": 2}
RUNS: dict[str, dict[str, Any]] = {
    "masked": {"data": {"kind": "world-english", **WORLD}, "tokenizer": {"kind": "wordpiece", "vocabulary": 300},
               "model": {"kind": "bert", **SMALL, "position": {"max_length": 20}},
               "task": {"kind": "masked-language-model", "max_length": 12, "documents": "apart", "pseudo": 0}},
    "language": {"data": {"kind": "world-english", **WORLD}, "model": {"kind": "gpt", **SMALL},
                 "tokenizer": {"kind": "word"}, "task": {"kind": "language-model", "max_length": 12, "sample": 0}},
    "moods": {"data": {"kind": "world-moods", **WORLD, "compositional_size": 0},
              "model": {"kind": "recurrent", "width": 16}, "tokenizer": {"kind": "word"},
              "task": {"kind": "classification", "max_length": 24}},
    "translation": {"data": {"kind": "small-world", **WORLD, "compositional_size": 0}, "task": {"kind": "translation"},
                    "tokenizer": {"kind": "word", "joint": False},
                    "model": {"kind": "bahdanau", "width": 16}},
}  # fmt: skip
TEXTS = ["the cat sleeps", "a dog", "the old king saw the small dog near the house", "the cat sleeps"]


@pytest.mark.parametrize("name", RUNS)
def test_any_run_embeds_without_being_trained_to(name: str, tmp_path: Path) -> None:
    training = {"steps": 1, "batch_tokens": 128, "threads": 1, "learning_rate": 1e-3}
    train({**RUNS[name], "training": training}, tmp_path / "run")
    run = load(tmp_path / "run")
    found = run.embed(TEXTS)
    assert found.shape == (4, run.embedder().body.width)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(found[0], found[3], atol=1e-6)
    np.testing.assert_allclose(run.embed(TEXTS[1]), found[1:2], atol=1e-5)
    long = run.embed(TEXTS, "last", unit=False)
    np.testing.assert_allclose(long / np.linalg.norm(long, axis=1, keepdims=True), run.embed(TEXTS, "last"), atol=1e-5)
    assert not np.allclose(run.embed(TEXTS, "last")[2], found[2], atol=1e-3)
    if name == "masked":
        with pytest.warns(UserWarning, match="1 of 2 texts are longer than the 20 tokens that the model reads"):
            run.embed(["the cat " * 10, "a dog"])


def search(*words: object) -> dict[str, Any]:
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as leaving:
        main(["search", *map(str, words), "--json"])
    assert not leaving.value.code
    return json.loads(out.getvalue())


def test_a_real_model_finds_the_same_similarities_as_elsewhere_and_searches(tmp_path: Path) -> None:
    folder = minilm()
    import_folder(folder, tmp_path / "run")
    run = load(tmp_path / "run")
    texts = ["A man is eating food.", "Someone eats a meal.", "The girl is carrying a baby.", "Ünïcode — 東京!",
             "The stock market fell sharply on Monday, and investors were worried about the rest."]  # fmt: skip
    asked = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states_BSD = BertModel.from_pretrained(folder).eval()(**asked).last_hidden_state
    there_BS1 = asked["attention_mask"][:, :, None]
    theirs_BD = torch.nn.functional.normalize((states_BSD * there_BS1).sum(1) / there_BS1.sum(1)).numpy()
    ours_BD = run.embed(texts)
    furthest = np.abs(ours_BD @ ours_BD.T - theirs_BD @ theirs_BD.T).max()
    assert furthest < 1e-5, furthest
    file = tmp_path / "notes.txt"
    file.write_text("\n".join([*texts[:3], "", texts[4]]) + "\n", encoding="utf-8")
    found = search(tmp_path / "run", file, "he has lunch", "shares lost value", "--top", 2)
    assert [one["hits"][0]["line"] for one in found["results"]] in ([1, 5], [2, 5])
    assert [hit["rank"] for hit in found["results"][0]["hits"]] == [1, 2]
    assert found["lines"] == 4
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("notes.txt.*.npy")}
    assert len(kept) == 1
    assert search(tmp_path / "run", file, "he has lunch", "shares lost value", "--top", 2) == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("notes.txt.*.npy")} == kept, "made once"

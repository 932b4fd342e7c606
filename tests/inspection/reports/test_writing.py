"""What is said about a language model is what its numbers say."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import regard
from regard.attention.mechanism import MatrixMechanism
from regard.inspection.figures.pixels import picture, png
from regard.inspection.reports.writing import analyse, head_facts, position_losses, write_analysis
from regard.inspection.reports.writing_page import writing_page

TREE: dict[str, Any] = {
    "tokenizer": {"kind": "character"},
    "model": {"kind": "gpt", "layers": 2, "width": 12, "heads": 3},
    "task": {"kind": "language-model", "max_length": 16, "sample": 0},
    "training": {"steps": 4, "batch_tokens": 64, "learning_rate": 1e-2, "validate_every": 2, "log_every": 1},
    "decoding": {"kind": "sampling"},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("writing")
    (folder / "text.txt").write_text("a <b> & the cat sat on the mat\n" * 40, encoding="utf-8")
    regard.train({**TREE, "data": {"kind": "text", "train": str(folder / "text.txt")}}, folder / "run")
    return regard.load(folder / "run")


def test_losses_by_position(run: Any) -> None:
    tokens_BT = torch.randint(4, run.vocabularies.target.size, (21, 9), generator=torch.Generator().manual_seed(1))
    found = position_losses(run.model, tokens_BT)
    with torch.no_grad():
        for place in (0, 3, 7):
            logits_BW = run.model.head(run.model(tokens_BT[:, : place + 1]))[:, -1]
            expected = functional.cross_entropy(logits_BW, tokens_BT[:, place + 1])
            assert found[place] == pytest.approx(float(expected), rel=1e-5)
    assert len(found) == 8


class Fixed(MatrixMechanism):
    """A mechanism whose weights are known."""

    cacheable = False

    def __init__(self, weights_TS: Tensor) -> None:
        super().__init__()
        self.weights_TS = weights_TS

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Any, bias: Any = None) -> Tensor:
        return v

    def weights(self, q: Tensor, k: Tensor, mask: Any, bias: Any = None) -> Tensor:
        return self.weights_TS.expand(len(q), 1, -1, -1)


class Reader(nn.Module):
    def __init__(self, weights_TS: Tensor) -> None:
        super().__init__()
        self.attention = Fixed(weights_TS)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        x = tokens_BT[:, None, :, None].float()
        return self.attention(x, x, x, None)


@pytest.mark.parametrize(
    ("rows", "sentence", "figures"),
    [
        ([[1, 0, 0], [1, 0, 0], [0, 1, 0]], "reads the token before", {"previous": 1, "distance": 1, "entropy": 0}),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], "reads itself", {"same": 1.0, "distance": 0.0}),
        ([[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0]], "rests on the first", {"first": 0.75, "distance": 1.25}),
    ],
)
def test_heads_by_hand(rows: list[list[float]], sentence: str, figures: dict[str, float]) -> None:
    model = Reader(torch.tensor(rows, dtype=torch.float32))
    found = head_facts(model, torch.zeros(2, 4, dtype=torch.long))[0]
    assert found.sentence == sentence
    for name, value in figures.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-6)


def test_a_head_that_reads_everything_alike() -> None:
    even_TS = torch.ones(40, 40).tril()
    found = head_facts(Reader(even_TS / even_TS.sum(-1, keepdim=True)), torch.zeros(1, 41, dtype=torch.long))[0]
    assert found.sentence == "spreads evenly"
    assert found.evenness == pytest.approx(1.0, abs=1e-5)


def test_the_page_and_its_numbers(run: Any) -> None:
    page = write_analysis(run, writing_page)
    text = page.read_text(encoding="utf-8")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert text.count('class="pixels"') == 6
    assert text.count('download="') == text.count("<svg") + 6  # curves, and the heads with their tokens
    assert "temperature 0.5" in text
    held = json.loads(Path(run.folder.path / "analysis.json").read_text(encoding="utf-8"))
    assert [step for step, _ in held["validation_curve"]] == [2, 4]
    assert len(held["losses"]) == 16
    assert len(held["heads"]) == 6
    assert analyse(run).as_dict()["losses"] == pytest.approx(held["losses"])


def test_pixels() -> None:
    data = png([[0.0, 1.0], [0.5, 2.0], [-1.0, 0.0]], (10, 20, 30))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (2, 3)
    length = struct.unpack(">I", data[33:37])[0]
    assert data[37:41] == b"IDAT"
    raw = zlib.decompress(data[41 : 41 + length])
    assert [raw[row * 9 + 4] for row in range(3)] == [0, 128, 0]
    assert [raw[row * 9 + 8] for row in range(3)] == [255, 255, 0]
    assert 'alt="a head"' in picture([[1.0]], "a head")

"""BERT: known sizes, a layer by hand, segments, the pooler, states of every layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.core.ports import Ports, text_ports
from regard.core.taps import last_outputs
from regard.models.bert import PRESETS
from regard.runs.recipe import Recipe

WORDS = text_ports(13, 13, shared=True)
BERT: dict[str, Any] = {"kind": "bert", "layers": 2, "width": 12, "heads": 3, "dropout": 0.0}
TOKENS_BS, LENGTHS_B = torch.tensor([[1, 5, 9, 2], [1, 7, 2, 0]]), torch.tensor([4, 3])


def build(table: dict[str, Any], ports: Ports = WORDS) -> Any:
    torch.manual_seed(3)
    return parse(Recipe, {"model": table}).model.build(ports).eval()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("preset", "symbols", "parameters"),
    [
        # As counted in the published checkpoints, less the two rows and biases that judge next sentences.
        ("bert-tiny", 30522, 4_433_210),
        ("bert-mini", 30522, 11_267_386),
        ("bert-small", 30522, 29_057_850),
        ("bert-medium", 30522, 41_667_386),
        ("bert-base", 30522, 110_104_890),
        ("bert-large", 30522, 336_224_058),
        ("distilbert", 30522, 66_985_530),
        ("roberta-base", 50265, 125_288_025),
    ],
)
def test_known_sizes_have_the_known_number_of_parameters(preset: str, symbols: int, parameters: int) -> None:
    with torch.device("meta"):  # counted, not made
        model = build({"kind": "bert", **PRESETS[preset]}, text_ports(symbols, symbols, shared=True))
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_the_order_of_embeddings_and_norms() -> None:
    """Words, segments and positions are added, then normalised; each sub-layer is added, then normalised."""
    model = build(BERT)
    segments_BS = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 0]])
    with torch.no_grad():
        for norm in (model.norm, model.layers[0].attention_residual.norm, model.layers[0].feed_forward_residual.norm):
            norm.weight.normal_()
            norm.bias.normal_()
        rows = model.embedding.weight[TOKENS_BS] + model.position.table_SD[:4] + model.segments.weight[segments_BS]
        x = model.norm(rows)
        with last_outputs(model, "layers.0", "layers.0.attention") as seen:
            model(TOKENS_BS, LENGTHS_B, segments_BS)
        first = model.layers[0]
        x = first.attention_residual.norm(x + seen["layers.0.attention"])
        inner = functional.gelu(first.feed_forward.inner(x))
        x = first.feed_forward_residual.norm(x + first.feed_forward.outer(inner))
    torch.testing.assert_close(seen["layers.0"], x)


def test_the_head_is_dense_gelu_norm_and_the_words_themselves() -> None:
    model = build(BERT)
    with torch.no_grad():
        model.head.words.bias.normal_()
        states = torch.randn(2, 3, 12)
        found = model.head(states)
        inner = model.head.norm(functional.gelu(states @ model.head.dense.weight.T + model.head.dense.bias))
        torch.testing.assert_close(found, inner @ model.embedding.weight.T + model.head.words.bias)


def test_segments_say_something_or_are_refused() -> None:
    segments_BS = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]])
    model = build(BERT)
    plain, parted = model(TOKENS_BS, LENGTHS_B), model(TOKENS_BS, LENGTHS_B, segments_BS)
    assert (plain[0] - parted[0]).abs().max() > 1e-4
    assert torch.equal(plain[1], parted[1]), "segment 0 is meant where none is said"
    without = build({**BERT, "segments": 0})
    assert torch.equal(without(TOKENS_BS, LENGTHS_B, segments_BS * 0), without(TOKENS_BS, LENGTHS_B))
    with pytest.raises(OptionError, match=r"no vectors for segments \(model\.segments = 0\); leave segments_BS out"):
        without(TOKENS_BS, LENGTHS_B, segments_BS)


def test_one_vector_for_a_text() -> None:
    states = torch.randn(2, 4, 12)
    assert torch.equal(build(BERT).pooler(states), states[:, 0])
    model = build({**BERT, "pooler": "tanh"})
    expected = torch.tanh(states[:, 0] @ model.pooler.dense.weight.T + model.pooler.dense.bias)
    torch.testing.assert_close(model.pooler(states), expected)


def test_states_of_every_layer_by_name() -> None:
    model = build(BERT)
    with last_outputs(model, "norm", "layers.0", "layers.1") as seen:
        states = model(TOKENS_BS, LENGTHS_B)
    assert list(seen) == ["norm", "layers.0", "layers.1"]
    assert torch.equal(seen["layers.1"], states)
    assert not torch.equal(seen["layers.0"], states)
    seen.clear()
    model(TOKENS_BS, LENGTHS_B)
    assert not seen, "nothing is kept after the block"
    with (
        pytest.raises(OptionError, match=r"no module of this model is called 'layers\.2'; available: embedding"),
        last_outputs(model, "layers.2"),
    ):
        pass


def test_positions_may_start_at_a_later_row() -> None:
    """The rows before are never read, and do not count."""
    model = build({**BERT, "position": {"kind": "learned", "max_length": 6, "first": 2}})
    assert model.max_length == 6
    assert model.position.table_SD.shape == (8, 12)
    before = model(TOKENS_BS, LENGTHS_B)
    with torch.no_grad():
        model.position.table_SD[:2] += 1.0
    assert torch.equal(model(TOKENS_BS, LENGTHS_B), before)
    with torch.no_grad():
        model.position.table_SD[2] += torch.arange(12.0)
    assert (model(TOKENS_BS, LENGTHS_B) - before).abs().max() > 1e-4
    with pytest.raises(OptionError, match="a sequence of 7 tokens does not fit into 6 positions"):
        model(torch.ones(1, 7, dtype=torch.long), torch.tensor([7]))


def test_recomputed_activations_give_the_same_gradients() -> None:
    gradients = []
    for recompute in (False, True):
        model = build(BERT).train()
        model.recompute = recompute
        model.head(model(TOKENS_BS, LENGTHS_B)).square().sum().backward()
        gradients.append(model.layers[0].feed_forward.inner.weight.grad)
    torch.testing.assert_close(*gradients)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(RecipeError, match="width 12 is not divisible by 5 heads"):
        build({**BERT, "heads": 5})

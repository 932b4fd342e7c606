"""GPT and Llama: known sizes, documents kept apart, room that does not matter."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.core.ports import Ports, text_ports
from regard.models.gpt import PRESETS
from regard.runs.recipe import Recipe

WORDS = text_ports(13, 13, shared=True)
GPT = {"kind": "gpt", "layers": 2, "width": 12, "heads": 3, "dropout": 0.0}
LLAMA = {"kind": "llama", "layers": 2, "width": 12, "heads": 6, "groups": 2, "dropout": 0.0}


def build(table: dict[str, Any], ports: Ports = WORDS) -> Any:
    torch.manual_seed(3)
    return parse(Recipe, {"model": table}).model.build(ports).eval()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        ("gpt2", 124_439_808),  # as counted in the published checkpoints
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
        ("gpt3", 174_604_259_328),  # "175B"
    ],
)
def test_known_sizes_have_the_known_number_of_parameters(preset: str, parameters: int) -> None:
    with torch.device("meta"):  # counted, not made
        model = build({"kind": "gpt", **PRESETS[preset]}, text_ports(50257, 50257, shared=True))
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_one_layer_of_gpt_by_hand() -> None:
    """Pre-norm, with the identity for every matrix that can be one: what is added can be computed on paper."""
    model = build({**GPT, "layers": 1, "width": 2, "heads": 1, "feed_forward": {"width": 2, "activation": "relu"},
                   "position": {"kind": "none"}})  # fmt: skip
    layer = model.stack.layers[0]
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        for norm in (layer.attention_residual.norm, layer.feed_forward_residual.norm, model.stack.norm):
            norm.weight.fill_(1.0)
        layer.attention.project.weight[4:] = torch.eye(2)  # W_v; W_q = W_k = 0: all positions weigh the same
        layer.attention.output.weight.copy_(torch.eye(2))
        model.embedding.weight[5] = torch.tensor([3.0, 1.0])
        model.embedding.weight[6] = torch.tensor([1.0, 5.0])
        seen = model.stack.layers[0](model.embedding(torch.tensor([[5, 6]])), _causal(), model.stack.position)
    # norm([3, 1]) = [1, −1], norm([1, 5]) = [−1, 1]: the first position reads itself, the second both, which is 0.
    torch.testing.assert_close(seen, torch.tensor([[[4.0, 0.0], [1.0, 5.0]]]), atol=1e-4, rtol=0)


def _causal() -> Any:
    from regard.attention.masks import CAUSAL

    return CAUSAL


@pytest.mark.parametrize("table", [GPT, LLAMA], ids=["gpt", "llama"])
def test_segments_keep_documents_apart(table: dict[str, Any]) -> None:
    model = build({**table, "position": {"kind": "rotary"}})
    tokens_BT = torch.tensor([[4, 5, 2, 7, 8, 9]])
    segments_BT = torch.tensor([[0, 0, 1, 1, 1, 1]])
    with torch.no_grad():
        apart = model(tokens_BT, segments_BT)
        torch.testing.assert_close(apart[:, 2:], model(tokens_BT[:, 2:]), atol=1e-5, rtol=1e-5)
        assert (apart[:, 2:] - model(tokens_BT)[:, 2:]).abs().max() > 1e-4


def test_a_recurrent_model_says_that_it_reads_on() -> None:
    model = build({"kind": "recurrent", "width": 8})
    with pytest.raises(OptionError, match=r'task\.documents = "joined"'):
        model(torch.tensor([[4, 5]]), torch.tensor([[0, 1]]))


@pytest.mark.parametrize("table", [GPT, LLAMA], ids=["gpt", "llama"])
@pytest.mark.parametrize("room", [0, 3, 64])
def test_room_for_the_cache_changes_nothing(table: dict[str, Any], room: int) -> None:
    model = build(table)
    tokens_BT = torch.randint(4, 13, (2, 20), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits, state = model.step(tokens_BT, model.start((2, room)))
        assert state.ages == 20
        assert torch.equal(logits, model.step(tokens_BT, model.start((2, 0)))[0])
        if room == 64:
            assert state.caches[0].k_BGSK.shape[2] == 64, "the room that was asked for is still the same"


def test_parts_of_gpt_have_their_own_defaults() -> None:
    assert parse(Recipe, {"model": GPT}).model.feed_forward.activation == "gelu-tanh"  # type: ignore[attr-defined]
    chosen = parse(Recipe, {"model": {**GPT, "feed_forward": {"width": 7}}}).model.feed_forward  # type: ignore[attr-defined]
    assert (chosen.width, chosen.activation) == (7, "gelu-tanh")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({**GPT, "width": 13}, "width 13 is not divisible by 3 heads"),
        ({**LLAMA, "groups": 4}, "6 heads cannot share 4 key/value groups"),
    ],
)
def test_what_does_not_fit_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(Recipe, {"model": table})


@torch.no_grad()
def test_padding_beyond_the_last_position_refuses_nobody() -> None:
    """A row near its end shares a step with one that reads a long prompt: only real tokens need positions."""
    model = build({**GPT, "position": {"kind": "learned", "max_length": 10}})
    old_BT, prompt = torch.randint(4, 13, (1, 8)), [5, 6, 7, 8, 9]
    _, state = model.step(old_BT, model.start((1, 0)))
    state = state.join(model.start((1, 0)))
    tokens_BT, lengths_B = torch.tensor([[4, 0, 0, 0, 0], prompt]), torch.tensor([1, 5])
    logits_BTW, state = model.step(tokens_BT, state, lengths_B)
    expected = model.head(model(torch.cat((old_BT, tokens_BT[:1, :1]), dim=1)))
    assert torch.allclose(logits_BTW[0, 0], expected[0, -1], atol=1e-5)
    assert torch.allclose(logits_BTW[1], model.head(model(torch.tensor([prompt])))[0], atol=1e-5)
    with pytest.raises(OptionError, match="a sequence of 11 tokens does not fit into 10 positions"):
        model.step(torch.tensor([[4, 4], [4, 0]]), state, torch.tensor([2, 1]))

"""Taps read and replace what flows through a model, by name, for the length of a block and no longer."""

import pytest
import torch
from torch import Tensor, nn

from regard.attention import formulas
from regard.attention.masks import CAUSAL
from regard.core.config import parse
from regard.core.errors import OptionError
from regard.core.ports import text_ports
from regard.core.taps import attention_points, record, replace
from regard.models.transformer import Transformer, TransformerConfig

EVERY_POINT = [
    "encoder.layers.0.attention",
    "encoder.layers.1.attention",
    "decoder.layers.0.attention",
    "decoder.layers.0.cross",
    "decoder.layers.1.attention",
    "decoder.layers.1.cross",
]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    settings = {"encoder_layers": 2, "decoder_layers": 2, "width": 14, "heads": 2, "dropout": 0.0}
    position = {"kind": "relative-bias", "max_distance": 3}
    config = parse(TransformerConfig, {**settings, "position": position, "feed_forward": {"width": 11}})
    made = config.build(text_ports(17, 19))
    for name, weight in made.named_parameters():
        if "bias_HC" in name:
            nn.init.normal_(weight)
    return made


def batch() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    source_BS = torch.randint(4, 17, (3, 7), generator=generator)
    return source_BS, torch.tensor([4, 7, 2]), torch.randint(4, 19, (3, 5), generator=generator)


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_every_mechanism_goes_by_the_name_of_its_heads(model: Transformer) -> None:
    assert list(attention_points(model)) == EVERY_POINT


def test_recorded_weights_are_those_of_the_formula(model: Transformer) -> None:
    source_BS, lengths_B, target_BT = batch()
    with record(model, "encoder.layers.0.attention") as seen:
        model(source_BS, lengths_B, target_BT)
    x_BSD = model.source_embedding(source_BS)
    heads = model.encoder.layers[0].attention
    q_BSJ, k_BSJ, _ = heads.project(x_BSD).split(14, dim=-1)
    scores = formulas.scaled_dot_scores(formulas.split_heads(q_BSJ, 2), formulas.split_heads(k_BSJ, 2))
    scores = scores + model.encoder.position.bias(7, 7)
    may_look = (torch.arange(7) < lengths_B[:, None])[:, None, None, :]
    expected = torch.softmax(scores.masked_fill(~may_look, -torch.inf), dim=-1)
    found = seen["encoder.layers.0.attention"].weights
    assert found.shape == (3, 2, 7, 7)
    assert not found.requires_grad
    assert torch.allclose(found, expected, atol=1e-5)


def test_weights_times_values_are_what_the_mechanism_answered(model: Transformer) -> None:
    answers: dict[str, tuple[Tensor, Tensor]] = {}
    for name, mechanism in attention_points(model).items():
        def keep(_: nn.Module, inputs: tuple[Tensor, ...], out: Tensor, name: str = name) -> None:
            answers[name] = inputs[2], out

        mechanism.register_forward_hook(keep)
    with record(model, "*") as seen:
        model(*batch())
    assert list(seen) == EVERY_POINT
    for name, attention in seen.items():
        values, out = answers[name]
        assert torch.allclose(attention.weights @ values, out, atol=1e-5)


def test_a_pattern_takes_what_it_matches_and_heads_are_chosen_by_number(model: Transformer) -> None:
    with record(model, "decoder.*.cross") as all_heads, record(model, "decoder.*.cross", heads=[1]) as second_head:
        model(*batch())
    assert list(second_head) == ["decoder.layers.0.cross", "decoder.layers.1.cross"]
    for name, attention in second_head.items():
        assert torch.equal(attention.weights, all_heads[name].weights[:, 1:])
    with record(model, model.anatomy.source_attention) as seen:
        assert list(seen) == list(second_head)


@torch.no_grad()
def test_a_decoding_seen_step_by_step_gives_the_weights_of_the_parallel_pass(model: Transformer) -> None:
    source_BS, lengths_B, target_BT = batch()
    with record(model, "decoder.*") as parallel:
        model(source_BS, lengths_B, target_BT)
    with record(model, "decoder.*") as stepwise:
        state = model.start((source_BS, lengths_B))
        for tokens_BT in target_BT.split([2, 1, 1, 1], dim=1):
            _, state = model.step(tokens_BT, state)
    for name in parallel:  # over their own past the later steps see more keys than the earlier ones
        assert torch.allclose(stepwise[name].weights, parallel[name].weights, atol=1e-5)


def test_mask_and_bias_may_be_named_in_any_order(model: Transformer) -> None:
    heads = model.encoder.layers[0].attention
    q, k, bias = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 5, 7), torch.randn(3, 5, 5)
    with record(heads, "*") as seen:
        heads.mechanism(q, k, k, bias=bias, mask=CAUSAL)
        heads.mechanism(q, k, k, CAUSAL, bias)
    first, second = next(iter(seen.values())).weights.split(5, dim=-2)
    assert torch.equal(first, second)


def test_a_pattern_without_a_match_lists_what_there_is(model: Transformer) -> None:
    with pytest.raises(OptionError) as caught, record(model, "decoder.*.crosss"):
        pass
    assert str(caught.value) == (
        f"no attention in this model is called 'decoder.*.crosss'; available: {', '.join(EVERY_POINT)}"
    )
    with pytest.raises(OptionError, match="available: none at all"), record(nn.Linear(2, 3), "*"):
        pass


def test_weights_of_what_was_never_called_are_refused(model: Transformer) -> None:
    with record(model, "decoder.layers.0.cross") as seen:
        pass
    with pytest.raises(OptionError, match=r"decoder\.layers\.0\.cross was not called while it was recorded"):
        _ = seen["decoder.layers.0.cross"].weights


def test_nothing_stays_behind_after_the_block_even_after_an_error(model: Transformer) -> None:
    for tap in (record(model, "*"), replace(model, "encoder.*", lambda name, out: out)):
        with pytest.raises(ZeroDivisionError), tap:
            assert hooks(model) > 0
            raise ZeroDivisionError
        assert hooks(model) == 0
    with record(model, "*") as seen:
        model(*batch())
    model(*batch())
    assert [len(attention.calls) for attention in seen.values()] == [1] * 6


def test_recording_changes_no_answer_and_keeps_gradients(model: Transformer) -> None:
    expected = model(*batch())
    with record(model, "*"):
        found = model(*batch())
    assert torch.equal(found, expected)
    found.sum().backward()
    assert model.source_embedding.weight.grad is not None


def test_replace_passes_outputs_through_a_change_while_the_block_lasts(model: Transformer) -> None:
    source_BS, lengths_B, target_BT = batch()
    other_BS = (source_BS - 3) % 13 + 4
    untouched = model(source_BS, lengths_B, target_BT)
    changed: list[str] = []

    def silence(name: str, output: Tensor) -> Tensor:
        changed.append(name)
        return torch.zeros_like(output)

    with replace(model, "decoder.layers.*.cross", silence) as names:
        silent = model(source_BS, lengths_B, target_BT)
        assert torch.equal(silent, model(other_BS, lengths_B, target_BT))  # nothing of the source comes through
    assert names == ["decoder.layers.0.cross", "decoder.layers.1.cross"]
    assert changed == names * 2
    assert not torch.allclose(silent, untouched, atol=1e-3)
    assert torch.equal(model(source_BS, lengths_B, target_BT), untouched)


def test_replace_without_a_match_lists_every_module() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    with pytest.raises(OptionError) as caught, replace(model, "decoder", lambda name, out: out):
        pass
    assert str(caught.value) == "no module of this model is called 'decoder'; available: 0, 1"

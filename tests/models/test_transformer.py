"""The Transformer against the paper's counts, torch's own Transformer, and the promises of its configuration."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.ports import Ports, text_ports
from regard.models.transformer import Transformer, TransformerConfig
from regard.runs.recipe import Recipe

SMALL: dict[str, Any] = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "width": 14,
    "heads": 2,
    "dropout": 0.0,
    "feed_forward": {"width": 11},
}


def small(ports: Ports = text_ports(17, 19), **settings: Any) -> Transformer:  # noqa: B008
    """A tiny model whose norms and biases are random, so that none of them can be left out unseen."""
    torch.manual_seed(5)
    model = parse(TransformerConfig, {**SMALL, **settings}).build(ports)
    for weight in model.parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight, mean=0.5)
    return model


def batch() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    source_BS = torch.randint(4, 17, (3, 7), generator=generator)
    return source_BS, torch.tensor([4, 7, 2]), torch.randint(4, 19, (3, 5), generator=generator)


@pytest.mark.parametrize(
    "name, exact, published", [("transformer-base", 63_082_496, 65e6), ("transformer-big", 214_245_376, 213e6)]
)
def test_the_papers_models_have_the_papers_number_of_parameters(name: str, exact: int, published: float) -> None:
    with torch.device("meta"):
        model = Recipe.read(name).model.build(text_ports(37000, 37000, shared=True))
    count = sum(weight.numel() for weight in model.parameters())
    assert count == exact
    assert count == pytest.approx(published, rel=0.03)  # the paper rounds, and its vocabulary is "about 37000"


def torch_twin(model: Transformer, activation: str) -> nn.Transformer:
    """torch's Transformer with the same weights."""
    config = model.config
    twin = nn.Transformer(
        config.width, config.heads, config.encoder_layers, config.decoder_layers, config.feed_forward.width,
        dropout=0.0, activation=activation, batch_first=True, norm_first=config.norm == "pre",
    )  # fmt: skip
    for theirs, ours in zip(twin.encoder.layers, model.encoder.layers, strict=True):
        copy_self_attention(theirs.self_attn, ours.attention)
        copy_network(theirs, ours.feed_forward)
        copy_all((theirs.norm1, ours.attention_residual.norm), (theirs.norm2, ours.feed_forward_residual.norm))
    for theirs, ours in zip(twin.decoder.layers, model.decoder.layers, strict=True):
        copy_self_attention(theirs.self_attn, ours.attention)
        copy_cross_attention(theirs.multihead_attn, ours.cross)
        copy_network(theirs, ours.feed_forward)
        copy_all(
            (theirs.norm1, ours.attention_residual.norm),
            (theirs.norm2, ours.cross_residual.norm),
            (theirs.norm3, ours.feed_forward_residual.norm),
        )
    if config.norm == "pre":
        copy_all((twin.encoder.norm, model.encoder.norm), (twin.decoder.norm, model.decoder.norm))
    else:
        twin.encoder.norm = twin.decoder.norm = None  # the paper has no further norm after the last layer's
    return twin


def copy_all(*pairs: tuple[nn.Module, nn.Module]) -> None:
    for theirs, ours in pairs:
        theirs.load_state_dict(ours.state_dict())


def copy_self_attention(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
    theirs.in_proj_weight.data.copy_(ours.project.weight)
    theirs.in_proj_bias.data.copy_(ours.project.bias)
    copy_all((theirs.out_proj, ours.output))


def copy_cross_attention(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
    theirs.in_proj_weight.data.copy_(torch.cat((ours.project_query.weight, ours.project_memory.weight)))
    theirs.in_proj_bias.data.copy_(torch.cat((ours.project_query.bias, ours.project_memory.bias)))
    copy_all((theirs.out_proj, ours.output))


def copy_network(theirs: nn.Module, ours: nn.Module) -> None:
    copy_all((theirs.linear1, ours.inner), (theirs.linear2, ours.outer))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equals_torchs_transformer_with_the_same_weights(norm: str, activation: str) -> None:
    model = small(norm=norm, feed_forward={"width": 11, "activation": activation})
    source_BS, lengths_B, target_BT = batch()
    padded_BS = torch.arange(7) >= lengths_B[:, None]  # torch says True for "may not look"
    expected = torch_twin(model, activation)(
        model.encoder.position.embed(model.source_embedding(source_BS)),
        model.decoder.position.embed(model.target_embedding(target_BT)),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(5).isinf(),
        src_key_padding_mask=padded_BS,
        memory_key_padding_mask=padded_BS,
        tgt_is_causal=True,
    )
    found = model(source_BS, lengths_B, target_BT)
    assert found.shape == (3, 5, 14)
    assert torch.allclose(found, expected, atol=1e-5)


def test_embeddings_are_multiplied_by_the_root_of_the_width() -> None:
    model = small()
    expected = model.source_embedding.weight[3] * 14**0.5
    assert torch.allclose(model.source_embedding(torch.tensor([[3]]))[0, 0], expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_cross_own_lets_each_decoder_layer_read_its_own_encoder_layer(norm: str) -> None:
    own, last = small(norm=norm, cross="own"), small(norm=norm)
    own.load_state_dict(last.state_dict())
    source_BS, lengths_B, target_BT = batch()
    assert not torch.allclose(own(source_BS, lengths_B, target_BT), last(source_BS, lengths_B, target_BT), atol=1e-3)
    states = own.encoder(own.source_embedding(source_BS), own.memories(source_BS, lengths_B)[0].mask)
    assert len(states) == 2
    for layer, memory, state in zip(own.decoder.layers, own.memories(source_BS, lengths_B), states, strict=True):
        assert torch.allclose(memory.k_BGSK, layer.cross.memory(state, memory.mask).k_BGSK)
    same = {memory.k_BGSK.data_ptr() for memory in last.memories(source_BS, lengths_B)}
    assert len(same) == 2  # one encoder state, projected by each decoder layer


def test_cross_own_carries_a_gradient_straight_to_each_encoder_layer() -> None:
    model = small(cross="own")
    source_BS, lengths_B, target_BT = batch()
    first, second = model.memories(source_BS, lengths_B)
    first_layer, second_layer = (layer.feed_forward.outer.weight for layer in model.encoder.layers)
    from_first = torch.autograd.grad(
        first.k_BGSK.square().sum(), (first_layer, second_layer), retain_graph=True, allow_unused=True
    )
    assert from_first[0] is not None
    assert from_first[0].any()
    assert from_first[1] is None  # the first decoder layer never sees the second encoder layer
    assert torch.autograd.grad(second.k_BGSK.square().sum(), second_layer)[0].any()
    model(source_BS, lengths_B, target_BT).square().sum().backward()
    assert first_layer.grad is not None
    assert first_layer.grad.any()


def test_tied_embeddings_are_one_parameter_and_untied_ones_are_not() -> None:
    shared = text_ports(17, 17, shared=True)
    everything, output, nothing = (small(shared, tied=tied) for tied in ("all", "output", "none"))
    assert everything.source_embedding.weight is everything.target_embedding.weight is everything.head.weight
    assert output.source_embedding.weight is not output.target_embedding.weight
    assert output.head.weight is output.target_embedding.weight
    assert len({id(x.weight) for x in (nothing.source_embedding, nothing.target_embedding, nothing.head)}) == 3
    apart = small(text_ports(17, 19, shared=False), tied="all")  # two vocabularies cannot share one matrix
    assert apart.source_embedding.weight.shape == (17, 14)
    assert apart.head.weight is apart.target_embedding.weight
    counts = [sum(weight.numel() for weight in model.parameters()) for model in (everything, output, nothing)]
    assert (counts[1] - counts[0], counts[2] - counts[1]) == (17 * 14, 17 * 14)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_recomputed_activations_give_the_same_gradients(dropout: float) -> None:
    source_BS, lengths_B, target_BT = batch()
    gradients = []
    for recompute in (False, True):
        model = small(dropout=dropout, position={"kind": "rotary"}, width=16)
        model.encoder.recompute = model.decoder.recompute = recompute
        torch.manual_seed(9)
        model.head(model(source_BS, lengths_B, target_BT)).square().sum().backward()
        gradients.append([weight.grad for weight in model.parameters()])
    for kept, recomputed in zip(*gradients, strict=True):
        assert torch.equal(kept, recomputed)


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "reversed-binary", "relative-bias", "rotary", "none"])
@torch.no_grad()
def test_decoding_step_by_step_equals_the_parallel_pass(position: str) -> None:
    model = small(position={"kind": position}, width=16, groups=1)
    source_BS, lengths_B, target_BT = batch()
    expected = model.head(model(source_BS, lengths_B, target_BT))
    state, found = model.start((source_BS, lengths_B)), []
    for tokens_BT in target_BT.split([2, 1, 1, 1], dim=1):
        logits, state = model.step(tokens_BT, state)
        found.append(logits)
    assert torch.allclose(torch.cat(found, dim=1), expected, atol=1e-5)


@pytest.mark.parametrize(
    "first, then",
    [
        ([0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4]),  # beams change places within their sentences
        ([0, 0, 1, 1, 2, 2], [2, 3, 4, 4]),  # the first sentence is finished
        ([2, 0], [1, 0, 1]),  # sentences change places, one comes twice
        ([0, 0, 0, 2], [3, 1, 0]),  # unequal groups
    ],
)
@torch.no_grad()
def test_a_reordered_state_goes_on_as_its_rows_would_have(first: list[int], then: list[int]) -> None:
    model = small()
    source_BS, lengths_B, target_BT = batch()
    _, state = model.step(target_BT[:, :2], model.start((source_BS, lengths_B)))
    state = state.reorder(torch.tensor(first))
    new_R1 = torch.randint(4, 19, (len(first), 1))
    _, state = model.step(new_R1, state)
    state = state.reorder(torch.tensor(then))
    last_R1 = torch.randint(4, 19, (len(then), 1))
    logits, _ = model.step(last_R1, state)
    owners = torch.tensor(first)[then]
    target = torch.cat((target_BT[owners, :2], new_R1[then], last_R1), dim=1)
    expected = model.head(model(source_BS[owners], lengths_B[owners], target))[:, -1:]
    assert torch.allclose(logits, expected, atol=1e-5)


def test_what_stands_in_the_padding_does_not_matter() -> None:
    model = small()
    source_BS, lengths_B, target_BT = batch()
    other_BS = torch.where(torch.arange(7) < lengths_B[:, None], source_BS, 3)
    assert torch.equal(model(source_BS, lengths_B, target_BT), model(other_BS, lengths_B, target_BT))


def test_a_decoder_may_read_embeddings_alone() -> None:
    source_BS, lengths_B, target_BT = batch()
    assert small(encoder_layers=0)(source_BS, lengths_B, target_BT).isfinite().all()


def test_keys_and_values_may_have_widths_of_their_own() -> None:
    source_BS, lengths_B, target_BT = batch()
    model = small(heads=3, key_width=5, value_width=2, groups=1)  # 14 is not divisible by 3, and need not be
    assert model.encoder.layers[0].attention.project.weight.shape == (3 * 5 + 5 + 2, 14)
    assert model(source_BS, lengths_B, target_BT).shape == (3, 5, 14)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"width": 10, "heads": 4}, "width 10 is not divisible by 4 heads; change one of them"),
        ({"heads": 2, "groups": 3}, "2 heads cannot share 3 key/value groups; change one of them"),
        (
            {"cross": "own", "encoder_layers": 3},
            'cross = "own" pairs layers, but there are 3 encoder and 2 decoder layers; make them equal',
        ),
        ({"encoder_layers": -1}, "encoder_layers: Input should be greater than or equal to 0, found -1"),
        ({"decoder_layers": 0}, "decoder_layers: Input should be greater than or equal to 1, found 0"),
        ({"width": 0}, "width: Input should be greater than or equal to 1, found 0"),
        ({"heads": 0}, "heads: Input should be greater than or equal to 1, found 0"),
        ({"key_width": -1}, "key_width: Input should be greater than or equal to 0, found -1"),
        ({"value_width": -1}, "value_width: Input should be greater than or equal to 0, found -1"),
        ({"dropout": 1.0}, "dropout: Input should be less than 1, found 1.0"),
        ({"feed_forward_dropout": -0.1}, "feed_forward_dropout: Input should be greater than or equal to 0"),
        ({"norm": "middle"}, "norm: Input should be 'post' or 'pre', found 'middle'"),
        ({"cross": "first"}, "cross: Input should be 'last' or 'own', found 'first'"),
        ({"tied": "some"}, "tied: Input should be 'all', 'output' or 'none', found 'some'"),
        ({"attention": {"kind": "softmux"}}, "attention.kind: unknown attention kind 'softmux' (did you mean"),
        ({"position": {"kind": "rotari"}}, "position.kind: unknown position kind 'rotari' (did you mean 'rotary'?)"),
        ({"head": 4}, "head: unknown key (did you mean 'heads'?)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_every_wrong_setting_says_what_is_wrong(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)):
        parse(TransformerConfig, {**SMALL, **settings})

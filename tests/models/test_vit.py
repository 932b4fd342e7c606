"""ViT: known sizes, a block by hand, the class token, other grids, padded series, states of every layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import OptionError, RecipeError
from regard.core.inputs import Inputs
from regard.core.ports import INPUT, Arrays
from regard.core.taps import last_outputs
from regard.models.vit import PRESETS, Vit, VitConfig

SMALL: dict[str, Any] = {"layers": 2, "dropout": 0.0, "width": 12, "heads": 3, "front": {"kind": "patches", "size": 2}}
PICTURE = Arrays(3, (6, 4))


def build(table: dict[str, Any], port: Arrays = PICTURE) -> Vit:
    torch.manual_seed(3)
    return parse(VitConfig, table).build({INPUT: port}).eval()


def whole(values_BC: Tensor) -> Inputs:
    return Inputs(values_BC, torch.full((len(values_BC),), values_BC.shape[2]))


@pytest.mark.parametrize(
    ("preset", "parameters"),
    [
        # As counted in the published checkpoints for pictures of 224×224, less their heads of 1000 classes.
        ("vit-tiny", 5_717_416 - 193_000),
        ("vit-small", 22_050_664 - 385_000),
        ("vit-base", 86_567_656 - 769_000),
        ("vit-large", 304_326_632 - 1_025_000),
        ("vit-huge", 632_045_800 - 1_281_000),
    ],
)
def test_known_sizes_have_the_known_number_of_parameters(preset: str, parameters: int) -> None:
    with torch.device("meta"):  # counted, not made
        model = build(PRESETS[preset], Arrays(3, (224, 224)))
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_positions_blocks_and_norms_in_their_order() -> None:
    """Patches and positions are added; each part reads a norm of the stream and adds to it; a norm ends it."""
    model = build(SMALL)
    inputs = whole(torch.randn(2, 3, 6, 4))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.normal_()
        x = model.front(inputs).x_BND + model.state_dict()["position.table_ND"]
        with last_outputs(model, "layers.0.attention", "layers.1.attention") as seen:
            states = model.represent(inputs)
        for index, layer in enumerate(model.layers):
            x = x + seen[f"layers.{index}.attention"]
            inner = functional.gelu(layer.feed_forward.inner(layer.feed_forward_residual.norm(x)))  # type: ignore[union-attr, operator]
            x = x + layer.feed_forward.outer(inner)  # type: ignore[union-attr, operator]
        torch.testing.assert_close(states.x_BND, model.norm(x))
    assert states.lengths_B.tolist() == [7, 7]
    assert states.penalty is None


def test_a_patch_moves_the_class_token_and_its_place_matters() -> None:
    model = build(SMALL)
    picture = torch.randn(1, 3, 6, 4)
    other = picture.clone()
    other[..., :2, :2], other[..., 4:, 2:] = picture[..., 4:, 2:], picture[..., :2, :2]
    with torch.no_grad():
        first, second = (model.represent(whole(one)).x_BND[:, 0] for one in (picture, other))
        assert (first - second).abs().max() > 1e-4
        bag = build({**SMALL, "position": {"kind": "none"}})
        torch.testing.assert_close(*(bag.represent(whole(one)).x_BND[:, 0] for one in (picture, other)))


def test_sinusoids_read_other_grids_and_learned_positions_refuse_larger_ones() -> None:
    larger = whole(torch.randn(1, 3, 8, 4))
    free = build({**SMALL, "position": {"kind": "sinusoidal"}})
    assert free.max_length == 0
    assert free.represent(larger).x_BND.shape == (1, 9, 12)
    model = build(SMALL)
    assert model.max_length == 7
    with pytest.raises(OptionError, match="9 positions does not fit into the 7 learned ones"):
        model.represent(larger)


@pytest.mark.parametrize(
    "front", [{"kind": "patches", "size": 2}, {"kind": "convolution", "channels": (5,), "strides": (2,)}], ids=str
)
def test_padding_is_invisible(front: dict[str, Any]) -> None:
    """Series of 7 and of 3 steps in one batch: each has the states that it has alone."""
    model = build({**SMALL, "front": front}, Arrays(2, (8,)))
    values_BCN = torch.randn(2, 2, 8)
    with torch.no_grad():
        together = model.represent(Inputs(values_BCN, torch.tensor([7, 3])))
        alone = model.represent(whole(values_BCN[1:, :, :3]))
    assert together.lengths_B.tolist() == [5, 3]
    torch.testing.assert_close(together.x_BND[1:, :3], alone.x_BND)


def test_saved_and_loaded_is_the_same() -> None:
    model, other = build(SMALL), parse(VitConfig, SMALL).build({INPUT: PICTURE}).eval()
    inputs = whole(torch.randn(2, 3, 6, 4))
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        assert torch.equal(model.represent(inputs).x_BND, other.represent(inputs).x_BND)


def test_a_few_pictures_can_be_learned_by_heart() -> None:
    model = build({**SMALL, "front": {"kind": "convolution", "channels": (5,), "strides": (2,)}}).train()
    inputs, classes_B = whole(torch.randn(4, 3, 6, 4)), torch.arange(4)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        loss = functional.cross_entropy(model.represent(inputs).x_BND[:, 0], classes_B)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.1


def test_recomputing_changes_nothing() -> None:
    model, inputs = build(SMALL).train(), whole(torch.randn(2, 3, 6, 4))
    plain = torch.autograd.grad(model.represent(inputs).x_BND.square().sum(), model.front.projection.weight)[0]
    model.recompute = True
    again = torch.autograd.grad(model.represent(inputs).x_BND.square().sum(), model.front.projection.weight)[0]
    torch.testing.assert_close(plain, again)


def test_it_computes_what_transformers_computes() -> None:
    """The same weights by other names: W_q, W_k and W_v stacked, the patches' kernel flattened."""
    import transformers

    torch.manual_seed(11)
    settings = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48}
    sizes = {"image_size": (6, 4), "patch_size": 2, "layer_norm_eps": 1e-6}
    theirs = transformers.ViTModel(transformers.ViTConfig(**settings, **sizes), add_pooling_layer=False).eval()
    given = {name: torch.randn_like(weight) * 0.3 for name, weight in theirs.state_dict().items()}
    theirs.load_state_dict(given)
    model = build(SMALL)
    model.load_state_dict(dict(from_transformers(given)))
    pictures_BCHW = torch.randn(2, 3, 6, 4)
    with torch.no_grad():
        expected = theirs(pictures_BCHW).last_hidden_state
        torch.testing.assert_close(model.represent(whole(pictures_BCHW)).x_BND, expected)


def from_transformers(given: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    yield "front.class_embedding", given["embeddings.cls_token"].flatten()
    yield "front.projection.weight", given["embeddings.patch_embeddings.projection.weight"].flatten(1)
    yield "front.projection.bias", given["embeddings.patch_embeddings.projection.bias"]
    yield "position.table_ND", given["embeddings.position_embeddings"][0]
    for kind in ("weight", "bias"):
        yield f"norm.{kind}", given[f"layernorm.{kind}"]
        for layer in ("layers.0", "layers.1"):
            stacked = [given[f"{layer}.attention.{letter}_proj.{kind}"] for letter in "qkv"]
            yield f"{layer}.attention.project.{kind}", torch.cat(stacked)
            yield f"{layer}.attention.output.{kind}", given[f"{layer}.attention.o_proj.{kind}"]
            yield f"{layer}.feed_forward.inner.{kind}", given[f"{layer}.mlp.fc1.{kind}"]
            yield f"{layer}.feed_forward.outer.{kind}", given[f"{layer}.mlp.fc2.{kind}"]
            yield f"{layer}.attention_residual.norm.{kind}", given[f"{layer}.layernorm_before.{kind}"]
            yield f"{layer}.feed_forward_residual.norm.{kind}", given[f"{layer}.layernorm_after.{kind}"]


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(RecipeError, match="width 10 is not divisible by 3 heads"):
        parse(VitConfig, {"width": 10, "heads": 3})

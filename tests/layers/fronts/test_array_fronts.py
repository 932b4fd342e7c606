"""Fronts for arrays: patches by hand and as a convolution, stems, padding, places, class tokens."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.core.config import Choices, parse
from regard.core.errors import RecipeError
from regard.core.inputs import Embedded, Inputs
from regard.core.ports import Arrays
from regard.layers.fronts import ARRAY_FRONTS, ArrayFront
from regard.layers.fronts.convolution import ConvolutionConfig
from regard.layers.fronts.hierarchy import HierarchyConfig
from regard.layers.fronts.patches import Patches, PatchesConfig, cut, grid_places

WIDTH = 11
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
FRONTS = [
    {"kind": "patches", "size": 2},
    {"kind": "patches", "size": 2, "class_token": False},
    {"kind": "convolution", "channels": (5, 7), "strides": (1, 2)},
    {"kind": "convolution", "channels": (5,), "strides": (1,), "size": 2, "class_token": False},
]


def build(table: dict[str, object], port: Arrays) -> ArrayFront:
    torch.manual_seed(5)
    config = parse(ARRAY_FRONTS.resolve(str(table["kind"])), table)
    assert isinstance(config, PatchesConfig | ConvolutionConfig)
    return config.build(port, WIDTH)


def whole(values_BC: Tensor) -> Inputs:
    return Inputs(values_BC, torch.full((len(values_BC),), values_BC.shape[2]))


def test_the_table_of_fronts_resolves() -> None:
    assert isinstance(ARRAY_FRONTS, Choices)
    assert ARRAY_FRONTS.resolve("patches") is PatchesConfig
    assert ARRAY_FRONTS.resolve("convolution") is ConvolutionConfig
    assert ARRAY_FRONTS.resolve("hierarchy") is HierarchyConfig


def test_a_picture_is_cut_row_by_row_and_a_patch_lists_its_channels_one_after_the_other() -> None:
    picture_BCHW = torch.arange(2 * 4 * 6).reshape(1, 2, 4, 6)
    patches_BNP = cut(picture_BCHW, (2, 3))
    assert patches_BNP.shape == (1, 4, 12)
    assert patches_BNP[0, 1].tolist() == [3, 4, 5, 9, 10, 11, 27, 28, 29, 33, 34, 35]
    assert patches_BNP[0, 2, :3].tolist() == [12, 13, 14]
    assert grid_places((2, 2)).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_the_projection_by_hand() -> None:
    """One channel, patches of two numbers: x = w₁ a + w₂ b + bias, behind the class token."""
    front = Patches(1, (4,), (2,), 1)
    with torch.no_grad():
        front.projection.weight.copy_(torch.tensor([[2.0, 3.0]]))
        front.projection.bias.fill_(0.5)
        front.class_embedding.fill_(7.0)
    embedded = front(whole(torch.tensor([[[1.0, 10.0, 100.0, 1000.0]]])))
    assert embedded.x_BND.flatten().tolist() == [7.0, 32.5, 3200.5]
    assert embedded.lengths_B.tolist() == [3]
    assert embedded.places_BNA is not None
    assert embedded.places_BNA.tolist() == [[[-1], [0], [1]]]


@pytest.mark.parametrize(("shape", "size"), [((15,), (5,)), ((6, 10), (3, 2)), ((4, 6, 9), (2, 2, 3))])
def test_patches_are_a_convolution_whose_stride_is_its_kernel(shape: tuple[int, ...], size: tuple[int, ...]) -> None:
    front = Patches(3, shape, size, WIDTH, class_token=False)
    convolution = CONVOLUTIONS[len(shape)](3, WIDTH, size, stride=size)
    with torch.no_grad():
        front.projection.weight.copy_(convolution.weight.flatten(1))
        front.projection.bias.copy_(convolution.bias)
        values = torch.randn(2, 3, *shape)
        found = front(whole(values)).x_BND
        torch.testing.assert_close(found, convolution(values).flatten(2).mT)


@pytest.mark.parametrize("table", FRONTS, ids=str)
@pytest.mark.parametrize("shape", [(8,), (8, 6), (8, 4, 6)], ids=str)
def test_every_front_tells_its_grid_and_its_places(table: dict[str, object], shape: tuple[int, ...]) -> None:
    front = build(table, Arrays(3, shape))
    embedded: Embedded = front(whole(torch.randn(2, 3, *shape)))
    assert front.grid == tuple(length // 2 for length in shape)
    positions = front.class_tokens + torch.Size(front.grid).numel()
    assert embedded.x_BND.shape == (2, positions, WIDTH)
    assert embedded.lengths_B.tolist() == [positions] * 2
    assert embedded.places_BNA is not None
    assert embedded.places_BNA.shape == (2, positions, len(shape))
    assert embedded.places_BNA[0, -1].tolist() == [length - 1 for length in front.grid]
    assert (embedded.places_BNA[0] < 0).all(-1).sum() == front.class_tokens


@pytest.mark.parametrize("table", FRONTS, ids=str)
def test_what_is_padded_has_no_influence(table: dict[str, object]) -> None:
    """A series of 5 steps in a batch of 8: the same vectors as alone, whatever stands in the padding."""
    front = build(table, Arrays(3, (8,)))
    short, padded = torch.randn(1, 3, 5), torch.randn(1, 3, 8)
    padded[..., :5] = short
    embedded = front(Inputs(padded, torch.tensor([5])))
    alone = front(whole(short))
    assert embedded.lengths_B.tolist() == [front.class_tokens + 3]
    torch.testing.assert_close(embedded.x_BND[:, : front.class_tokens + 3], alone.x_BND)


def test_a_stem_is_norm_and_activation_of_a_convolution_at_each_position() -> None:
    front = build({"kind": "convolution", "channels": (5,), "strides": (2,), "class_token": False}, Arrays(2, (6, 4)))
    assert isinstance(front, nn.Module)
    weights = dict(front.named_parameters())
    with torch.no_grad():
        weights["stem.0.norm.weight"].normal_()
        weights["stem.0.norm.bias"].normal_()
        values = torch.randn(3, 2, 6, 4)
        kernel = weights["stem.0.kernel"].reshape(5, 2, 3, 3)
        x = nn.functional.conv2d(values, kernel, stride=2, padding=1)
        mean, variance = x.mean(1, keepdim=True), x.var(1, keepdim=True, correction=0)
        gain, bias = (weights[f"stem.0.norm.{name}"][:, None, None] for name in ("weight", "bias"))
        x = torch.relu((x - mean) / (variance + 1e-5).sqrt() * gain + bias).flatten(2).mT
        expected = x @ weights["patches.projection.weight"].T + weights["patches.projection.bias"]
        torch.testing.assert_close(front(whole(values)).x_BND, expected)


def test_a_size_that_leaves_a_rest_is_refused_with_those_that_do_not() -> None:
    with pytest.raises(RecipeError, match=r"28×28 cannot be cut into patches of 5×5.*one of 1, 2, 4, 7, 14, 28"):
        PatchesConfig(size=5).build(Arrays(1, (28, 28)), WIDTH)


@pytest.mark.parametrize("size", [(4, 4, 4), 0, (4, 0)])
def test_a_size_for_other_axes_is_refused(size: int | tuple[int, ...]) -> None:
    with pytest.raises(RecipeError, match="does not fit an input of 2 axes; give one number of at least 1, or 2"):
        PatchesConfig(size=size).build(Arrays(1, (28, 28)), WIDTH)


def test_convolutions_need_as_many_strides_as_channels() -> None:
    with pytest.raises(RecipeError, match="2 numbers of channels and 1 strides were found"):
        parse(ConvolutionConfig, {"channels": [4, 8], "strides": [2]})

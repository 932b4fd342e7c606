"""What training does to pictures: crops, colours, erasing, mixing; drawn from the generator, refused without effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.seams.modality import Mixes
from regard.data.modalities.image.augmenting import Augmentation, Box, Change, apply_changes
from regard.data.modalities.image.mixing import Mixture, draw_mixture
from regard.data.modalities.image.modality import ImageItem, ImageModality, ImagePart

EVERYTHING = {
    "shift": 2, "padding": "mirror", "flip": True, "crop": 0.4, "brightness": 0.3, "contrast": 0.3, "saturation": 0.3,
    "erase": 0.5, "mixup": 0.4, "cutmix": 1.0,
}  # fmt: skip


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def fitted(**augmentation: Any) -> ImageModality:
    pictures = [noise(7, 11, 3, seed=seed) for seed in range(3)]
    return parse(ImagePart, {"augmentation": augmentation}).measured(pictures)


def drawn(augmentation: Augmentation, count: int = 400) -> list[Change]:
    return [augmentation.draw(np.random.default_rng((3, 0, index))) for index in range(count)]


def test_a_margin_may_mirror_the_picture() -> None:
    pixels = noise(1, 1, 5, 7)
    found = apply_changes(pixels, [Change(down=2, right=-1)], "mirror")
    assert (found[..., 2:, :-1] == pixels[..., :-2, 1:]).all()
    assert (found[0, 0, :2, :-1] == pixels[0, 0, [1, 0], 1:]).all()
    assert (found[0, 0, 2:, -1] == pixels[0, 0, :-2, -1]).all()


def test_one_setting_alters_the_effect_of_no_other() -> None:
    """What an earlier version drew with these two settings is drawn still."""
    alone, among = Augmentation(shift=2, flip=True), parse(Augmentation, EVERYTHING)
    for one, other in zip(drawn(alone), drawn(among), strict=True):
        assert (one.down, one.right, one.flipped) == (other.down, other.right, other.flipped)
    first = drawn(alone, 6)
    assert [(one.down, one.right) for one in first] == [
        tuple(np.random.default_rng((3, 0, index)).integers(-2, 2, size=2, endpoint=True)) for index in range(6)
    ]


def test_a_crop_keeps_its_share_and_enlarges_a_part_to_the_whole() -> None:
    parts = [one.part for one in drawn(Augmentation(crop=0.3))]
    areas = [part.height * part.width for part in parts if part is not None]
    assert len(areas) == len(parts)
    assert 0.25 < min(areas) < 0.4 < 0.9 < max(areas) <= 1
    assert all(part.top + part.height <= 1 + 1e-9 and part.left + part.width <= 1 + 1e-9 for part in parts if part)
    pixels = np.zeros((1, 2, 8, 8), np.uint8)
    pixels[..., 4:, 4:] = 200
    lower_right = apply_changes(pixels, [Change(part=Box(0.5, 0.5, 0.5, 0.5))])
    assert (lower_right[..., 1:, 1:] == 200).all()  # pixels at the edge know a little of what was cut off


def test_colours_change_by_their_factors() -> None:
    pixels = np.array([[[60, 120]], [[100, 100]], [[40, 80]]], np.uint8)[None]
    brighter = apply_changes(pixels, [Change(brightness=1.5)])
    assert brighter[0, :, 0].tolist() == [[90, 180], [150, 150], [60, 120]]
    assert apply_changes(pixels, [Change(brightness=9.0)]).max() == 255
    flat = apply_changes(pixels, [Change(contrast=0.0)])
    assert len(set(flat.flatten().tolist())) == 1
    grey = apply_changes(pixels, [Change(saturation=0.0)])
    light = 0.299 * 60 + 0.587 * 100 + 0.114 * 40
    assert grey[0, :, 0, 0].tolist() == [round(light)] * 3
    factors = [one.brightness for one in drawn(Augmentation(brightness=0.2))]
    assert 0.8 <= min(factors) < 0.85 < 1.15 < max(factors) <= 1.2


def test_a_rectangle_is_erased_with_the_mean_colour() -> None:
    changed = [one.erased for one in drawn(Augmentation(erase=0.25))]
    assert 0.18 < np.mean([one is not None for one in changed]) < 0.32
    modality = fitted(erase=1.0)
    item = ImageItem(noise(7, 11, 3), Change(erased=Box(0.3, 0.0, 0.4, 0.5)))
    values = modality.collate([item]).values[0]
    whole = modality.collate([ImageItem(noise(7, 11, 3))]).values[0]
    assert values[:, 2:5, :5].abs().max() < 0.02  # a mean that is rounded to a byte
    kept = torch.ones(7, 11, dtype=torch.bool)
    kept[2:5, :6] = False
    assert torch.equal(values[:, kept], whole[:, kept])


def test_two_pictures_are_blended_or_one_gets_a_rectangle_of_the_other() -> None:
    modality = fitted(mixup=0.4)
    assert isinstance(modality, Mixes)
    assert modality.mixes
    assert not fitted().mixes
    one, other = ImageItem(noise(7, 11, 3, seed=1)), ImageItem(noise(7, 11, 3, seed=2), Change(flipped=True))
    first, second = modality.collate([one, other]).values
    blended = modality.collate([one._replace(other=other, mixture=Mixture(0.25)), one]).values
    torch.testing.assert_close(blended[0], 0.25 * first + 0.75 * second)
    assert torch.equal(blended[1], first)
    part = Mixture(0.9, slice(2, 4), slice(3, 6))
    pasted = modality.collate([one._replace(other=other, mixture=part)]).values[0]
    inside = torch.zeros(7, 11, dtype=torch.bool)
    inside[2:4, 3:6] = True
    assert torch.equal(pasted[:, inside], second[:, inside])
    assert torch.equal(pasted[:, ~inside], first[:, ~inside])


def test_the_share_of_a_mixture_is_what_is_left_of_the_picture() -> None:
    mixtures = [draw_mixture(np.random.default_rng(seed), 0.0, 1.0, (7, 11)) for seed in range(200)]
    for one in mixtures:
        assert one.rows is not None
        taken = len(range(*one.rows.indices(7))) * len(range(*one.columns.indices(11)))
        assert one.share == pytest.approx(1 - taken / 77)
    assert min(one.share for one in mixtures) < 0.2 < 0.95 < max(one.share for one in mixtures)
    both = [draw_mixture(np.random.default_rng(seed), 1.0, 1.0, (7, 11)).rows is None for seed in range(200)]
    assert 0.4 < np.mean(both) < 0.6


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"augmentation": {"padding": "mirror"}}, r"padding has no effect: shift = 0, so nothing comes in"),
        ({"channels": 1, "augmentation": {"saturation": 0.2}}, r"saturation has no effect on grey pictures"),
        ({"augmentation": {"crop": 0.0}}, r"augmentation\.crop: .*greater than 0"),
        ({"augmentation": {"erase": 1.5}}, r"augmentation\.erase: .*less than or equal to 1"),
        ({"augmentation": {"mixing": 1.0}}, r"augmentation\.mixing: unknown key \(did you mean 'mixup'\?\)"),
    ],
)
def test_settings_without_effect_or_out_of_range_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(ImagePart, table)


def test_what_is_written_out_is_read_again() -> None:
    for table in ({}, {"flip": True}, EVERYTHING):
        made = parse(Augmentation, table)
        assert parse(Augmentation, made.model_dump()) == made

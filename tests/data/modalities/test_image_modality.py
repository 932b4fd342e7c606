"""The image modality: modes, sizes, normalising, augmentation, batches, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.core.config import parse
from regard.core.errors import DataError, RecipeError, RunError
from regard.core.ports import Arrays
from regard.data import TokenizerPart
from regard.data.modalities.image.augmenting import Augmentation, Change, apply_changes
from regard.data.modalities.image.decoding import Frame, read_pixels
from regard.data.modalities.image.modality import ImageItem, ImageModality, ImagePart
from regard.data.modalities.image.pictures import Picture

GREY, COLOUR = Frame(1, 5, 7), Frame(3, 5, 7)

NO_TOKENIZER = TokenizerPart()


def fitted(raws: list[Any], **settings: Any) -> ImageModality:
    return parse(ImagePart, settings).measured(raws)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    "mode", ["1", "L", "P", "RGB", "RGBA", "LA", "PA", "CMYK", "YCbCr", "HSV", "LAB", "I", "I;16", "F"]
)
@pytest.mark.parametrize("frame", [GREY, COLOUR], ids=["grey", "colour"])
def test_every_mode_becomes_grey_or_colour(mode: str, frame: Frame) -> None:
    if mode.startswith("I"):
        image = Image.new(mode, (7, 5), 65535)
    elif mode == "LAB":
        image = Image.merge(mode, [Image.new("L", (7, 5), value) for value in (255, 128, 128)])
    else:
        image = Image.new("RGB", (7, 5), "white").convert("RGBA" if mode == "PA" else mode).convert(mode)
    assert image.mode == mode
    pixels = read_pixels(image, frame)
    assert pixels.shape == (frame.channels, 5, 7)
    assert pixels.dtype == np.uint8
    assert pixels.min() >= 253


def test_what_is_transparent_lies_on_white() -> None:
    image = Image.new("RGBA", (7, 5), (255, 0, 0, 0))
    image.putpixel((2, 1), (255, 0, 0, 255))
    image.putpixel((3, 1), (0, 0, 0, 128))
    pixels = read_pixels(image, COLOUR)
    assert pixels[:, 0, 0].tolist() == [255, 255, 255]
    assert pixels[:, 1, 2].tolist() == [255, 0, 0]
    assert pixels[:, 1, 3].tolist() == [127, 127, 127]
    palette = Image.new("P", (7, 5), 1)
    palette.putpalette([0, 0, 0, 10, 20, 30])
    assert read_pixels(palette, COLOUR)[:, 0, 0].tolist() == [10, 20, 30]
    palette.info["transparency"] = 1
    assert read_pixels(palette, COLOUR)[:, 0, 0].tolist() == [255, 255, 255]


def test_sixteen_bits_keep_their_upper_ones() -> None:
    values = np.linspace(0, 65535, 35).astype(np.uint16).reshape(5, 7)
    assert (read_pixels(Image.fromarray(values), GREY)[0] == values // 257).all()


def test_a_photograph_is_turned_upright(tmp_path: Path) -> None:
    image = Image.fromarray(noise(7, 5, 3))
    exif = image.getexif()
    exif[0x0112] = 6  # the camera was held on its side
    image.save(tmp_path / "side.png", exif=exif)
    assert (read_pixels(Picture(str(tmp_path / "side.png")), COLOUR) == noise(7, 5, 3)[::-1].transpose(2, 1, 0)).all()


def test_other_sizes_are_cropped_in_the_middle_or_stretched() -> None:
    wide = np.zeros((10, 40), np.uint8)
    wide[:, 13:27] = 200  # the middle 14 of 40 columns: what a frame of 5×7 keeps of 10 rows
    cropped = read_pixels(wide, GREY)
    assert (cropped[..., 1:-1] == 200).all()
    assert (cropped > 170).all()  # pixels at the edge know a little of what was cut off
    stretched = read_pixels(wide, GREY._replace(resize="stretch"))
    assert stretched[0, 2, 0] == 0
    assert stretched[0, 2, 3] == 200
    assert read_pixels(noise(2, 3), GREY).shape == (1, 5, 7)  # smaller ones grow


def test_an_array_that_is_no_picture_is_refused() -> None:
    for wrong in (np.zeros((5, 7)), noise(5), noise(5, 7, 5)):
        with pytest.raises(DataError, match="is not a picture; bytes of rows × columns are expected"):
            read_pixels(wrong, GREY)


def test_mean_and_standard_deviation_are_measured_or_given() -> None:
    pictures = [noise(5, 7, 3, seed=seed) for seed in range(6)]
    modality = fitted(pictures)
    values = np.stack(pictures) / 255
    np.testing.assert_allclose(modality.mean, values.mean((0, 1, 2)))
    np.testing.assert_allclose(modality.std, values.std((0, 1, 2)))
    found = modality.collate([ImageItem(one) for one in pictures]).values
    torch.testing.assert_close(found.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.std((0, 2, 3), correction=0), torch.ones(3))
    given = fitted(pictures, mean=[0.5, 0.5, 0.5], std=[0.25, 0.5, 1.0])
    found = given.collate([ImageItem(pictures[0])]).values
    expected = (pictures[0][2, 3] / 255 - 0.5) / np.array([0.25, 0.5, 1.0])
    np.testing.assert_allclose(found[0, :, 2, 3], expected, atol=1e-6)


def test_pictures_that_are_all_alike_are_not_divided_by_nothing() -> None:
    modality = fitted([np.full((5, 7), 80, np.uint8)] * 2, channels=1)
    assert modality.collate([ImageItem(np.full((5, 7), 80, np.uint8))]).values.abs().max() < 1e-6


def test_the_size_is_given_or_that_of_the_first_picture() -> None:
    assert fitted([noise(5, 7)], channels=1).port() == Arrays(1, (5, 7))
    assert fitted([noise(5, 7)], size=4).port() == Arrays(3, (4, 4))
    assert fitted([noise(5, 7)], size=[4, 6]).port() == Arrays(3, (4, 6))
    with pytest.raises(DataError, match="there are no pictures to measure"):
        fitted([])


def test_a_picture_is_encoded_alone_and_batched_as_alone(tmp_path: Path) -> None:
    raws: list[Any] = [noise(5, 7, 3), noise(9, 6), Image.fromarray(noise(3, 3, 3))]
    Image.fromarray(noise(8, 8, 4)).save(tmp_path / "a.png")
    raws.append(Picture(str(tmp_path / "a.png")))
    modality = fitted(raws[:1])
    items = modality.encode(raws)
    together = modality.collate(items)
    assert together.values.shape == (4, 3, 5, 7)
    assert together.values.dtype == torch.float32
    assert together.lengths_B is None, "pictures have one size"
    for index, item in enumerate(items):
        assert torch.equal(modality.collate([item]).values[0], together.values[index])
        assert modality.size(item) == 1
    assert modality.pixels(items[0]).tolist() == raws[0].tolist()


def test_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    config = parse(ImagePart, {"resize": "stretch", "augmentation": {"shift": 2, "flip": True}})
    modality = config.measured([noise(5, 7, 3, seed=seed) for seed in range(3)])
    modality.save(tmp_path)
    assert config.load(tmp_path, NO_TOKENIZER).input == modality
    (tmp_path / "image.json").write_text('{"shape": [3]}')
    with pytest.raises(RunError, match=r"image.json should hold shape, mean and std"):
        config.load(tmp_path, NO_TOKENIZER)


def test_changes_are_drawn_from_the_generator_alone() -> None:
    augmentation = Augmentation(shift=2, flip=True)
    drawn = [augmentation.draw(np.random.default_rng((3, epoch, index))) for epoch in range(9) for index in range(50)]
    again = [augmentation.draw(np.random.default_rng((3, epoch, index))) for epoch in range(9) for index in range(50)]
    assert drawn == again
    assert {one.down for one in drawn} == {one.right for one in drawn} == {-2, -1, 0, 1, 2}
    assert 0.4 < np.mean([one.flipped for one in drawn]) < 0.6
    assert Augmentation().draw(np.random.default_rng(1)) == Change()


def test_pictures_are_shifted_and_flipped_each_by_its_own_change() -> None:
    pixels = noise(4, 2, 5, 7)
    changes = [Change(), Change(down=1, right=-2), Change(flipped=True), Change(down=-3, flipped=True)]
    found = apply_changes(pixels, changes)
    assert (found[0] == pixels[0]).all()
    assert (found[1, :, 1:, :-2] == pixels[1, :, :-1, 2:]).all()
    assert (found[1, :, 0] == 0).all()
    assert (found[1, :, :, -2:] == 0).all()
    assert (found[2] == pixels[2][..., ::-1]).all()
    assert (found[3, :, :2] == pixels[3, :, 3:, ::-1]).all()
    assert (pixels == noise(4, 2, 5, 7)).all()  # what was given is untouched


def test_augmented_items_are_small_until_they_are_collated() -> None:
    modality = fitted([noise(5, 7)], channels=1, augmentation={"shift": 1, "flip": True})
    (item,) = modality.encode([noise(5, 7)])
    changed = modality.augment(item, np.random.default_rng(4))
    assert changed.raw is item.raw
    values = modality.collate([changed]).values
    expected = modality.normalise(apply_changes(noise(5, 7)[None, None], [changed.change]))
    assert (values.numpy() == expected).all()


def test_a_word_of_the_command_line_is_a_path(tmp_path: Path) -> None:
    modality = fitted([noise(5, 7)])
    path = tmp_path / "a.png"
    with pytest.raises(DataError, match=r"there is no file .*a\.png.; this run reads pictures"):
        modality.parse(str(path))
    with pytest.raises(DataError, match="is a folder, but one picture is expected"):
        modality.parse(str(tmp_path))
    path.write_text("a sentence")
    with pytest.raises(DataError, match=r"a\.png is not a readable picture: no known format"):
        modality.parse(str(path))
    Image.fromarray(noise(50, 70)).save(path)
    assert modality.parse(str(path)) == Picture(str(path))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match=r"a\.png is not a readable picture"):
        modality.parse(str(path))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": [28]}, r"size = \(28,\) is not a picture size; give rows and columns"),
        ({"size": [28, 0]}, r"is not a picture size"),
        ({"size": -1}, r"is not a picture size"),
        ({"mean": [0.5]}, r"mean has 1 values for 3 channels"),
        ({"std": [0.5, 0.5, 0.0]}, r"divides pixels; give numbers above 0"),
        ({"channels": 2}, r"channels: .*found 2"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(ImagePart, settings)

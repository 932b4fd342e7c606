"""Folders of numbered frames: which are clips, in which order, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.video.reading import numbered, read_class_folders, read_clip


def write(folder: Path, names: list[str], size: tuple[int, int] = (6, 8)) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(names):
        Image.fromarray(np.full((*size, 3), 10 * place, np.uint8)).save(folder / name)
    return folder


def test_frames_are_ordered_by_their_numbers_and_may_begin_anywhere(tmp_path: Path) -> None:
    folder = write(tmp_path / "clip", [f"frame-{number}.png" for number in (11, 9, 10, 8)])
    (folder / "notes.txt").write_text("none of them")
    assert numbered(folder) == ("frame-8.png", "frame-9.png", "frame-10.png", "frame-11.png")
    clip = read_clip(folder)
    assert (clip.count, clip.size) == (4, (6, 8))
    assert str(clip.frames([3])[0]).endswith("frame-11.png")


def another_size(folder: Path) -> None:
    write(folder, ["003.png"], size=(5, 8))


def broken(folder: Path) -> None:
    (folder / "002.png").write_bytes((folder / "002.png").read_bytes()[:50])


@pytest.mark.parametrize(
    ("names", "change", "told"),
    [
        (["001.png", "002.png", "005.png"], None, "there is no frame number 3, 4; put it back"),
        (["001.png", "002.png", "1.png"], None, "001.png and 1.png have the same number"),
        (["a1.png", "b2.png"], None, "several sequences of frames, such as a1.png, b2.png"),
        (["one.png"], None, "has no numbered frames in it, such as frame-001.png"),
        (["001.png", "002.png"], another_size, r"001.png has 6 × 8 pixels, and other sizes have 003.png \(5 × 8\)"),
        (["001.png", "002.png"], broken, r"002.png \(.*\) cannot be read"),
    ],
)
def test_what_is_no_clip_is_told(
    names: list[str], change: Callable[[Path], None] | None, told: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "clip", names)
    if change is not None:
        change(folder)
    with pytest.raises(DataError, match=told):
        read_clip(folder)


def test_clips_that_cannot_be_read_are_skipped_and_named(tmp_path: Path) -> None:
    write(tmp_path / "left" / "a", ["1.png", "2.png"])
    write(tmp_path / "left" / "b", ["1.png", "3.png"])
    write(tmp_path / "right" / "c", ["1.png", "2.png", "3.png"])
    ledger = Ledger()
    clips = read_class_folders(tmp_path, "train", ledger)
    assert [(one.label, one.raw.count) for one in clips] == [("left", 2), ("right", 3)]
    (skipped,) = ledger.exceptions
    assert (skipped.line, skipped.reason) == (2, "not a readable clip")
    assert "no frame number 2" in skipped.detail
    ledger.check()


def test_a_folder_without_clips_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    with pytest.raises(DataError, match=r"as in .*001\.png"):
        read_class_folders(tmp_path, "train", Ledger())

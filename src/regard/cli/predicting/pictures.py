"""Pictures that a language model of grey values continues: their upper half is the prompt, and what it made a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.cli.predicting.answering import Answered
    from regard.data.modalities.text.grey_levels import GreyLevels

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
ENLARGED = 16
"""Pixels to a side of one."""
BETWEEN = 2
"""Pixels of the model's between two pictures."""


def beginnings(grey: GreyLevels, words: Sequence[str]) -> list[str]:
    """Paths of pictures as the texts of their upper halves; other words as they are."""
    import numpy as np
    from PIL import Image

    found = []
    for word in words:
        path = Path(word).expanduser()
        if path.suffix.lower() in ENDINGS and path.is_file():
            with Image.open(path) as picture:
                found.append(grey.beginning(np.asarray(picture.convert("L"))))
        else:
            found.append(word)
    return found


def check_picture(file: Path) -> None:
    """Before anything is computed."""
    if file.suffix != ".png":
        raise OptionError(f"--figure is written as .png where pictures are continued; found {file.name!r}")


def draw_side_by_side(grey: GreyLevels, answered: Sequence[Answered], file: Path) -> None:
    """All pictures in one row."""
    import numpy as np
    from PIL import Image

    texts = [one.text + answer.text for one in answered for answer in one.answers]
    between_HW = np.full((grey.rows, BETWEEN), 255, np.uint8)
    parts: list[Any] = [part for text in texts for part in (between_HW, grey.pixels(text))][1:]
    large_HW = np.kron(np.concatenate(parts, axis=1), np.ones((ENLARGED, ENLARGED), np.uint8))
    Image.fromarray(large_HW).save(file)

"""Pictures that a language model of grey values continues: their upper half is the prompt, and what it made a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.console import escape_markup, notes, say
from regard.cli.predicting.output import Output
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


class WithPictures:
    """Another output, and a file with all pictures side by side when they are there."""

    def __init__(self, output: Output, grey: GreyLevels, file: Path) -> None:
        self.output, self.grey, self.file = output, grey, file
        self.seen: list[Answered] = []

    def write(self, answered: Sequence[Answered]) -> None:
        self.output.write(answered)
        self.seen += answered

    def close(self) -> None:
        import numpy as np
        from PIL import Image

        self.output.close()
        texts = [one.text + answer.text for one in self.seen for answer in one.answers]
        if not texts:
            return
        between_HW = np.full((self.grey.rows, BETWEEN), 255, np.uint8)
        parts: list[Any] = [part for text in texts for part in (between_HW, self.grey.pixels(text))][1:]
        large_HW = np.kron(np.concatenate(parts, axis=1), np.ones((ENLARGED, ENLARGED), np.uint8))
        Image.fromarray(large_HW).save(self.file)
        say(escape_markup(f"figure: {self.file}"), to=notes)

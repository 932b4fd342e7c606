"""Text as a modality: tokens between the special symbols around them, one text or two, cut to a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from regard.core.errors import OptionError
from regard.core.inputs import Axis, Inputs
from regard.core.ports import Tokens
from regard.core.symbols import Specials
from regard.data.modalities.text.enclosing import (
    Enclosed,
    Keep,
    Window,
    collate_texts,
    enclose_all,
    split_texts,
)
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.wording import random_texts, spelled, token_axis

USUAL_LENGTH = 256
"""Tokens that are read of a text where nobody says how many."""
UNLIMITED = 1 << 62
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
"""How the names of picture files end."""


@dataclass(frozen=True)
class TextModality:
    """Texts by one tokenizer; ``max_length`` tokens are read at most, the symbols around a text among them."""

    tokenizer: Tokenizer
    file: str
    vocabulary: str = "joint"
    max_length: int = UNLIMITED
    keep: Keep = "start"
    dropout: float = 0.0  # BPE-dropout of training pairs

    lazy = False
    batch_positions = 8192
    name = "text"

    @property
    def specials(self) -> Specials:
        return self.tokenizer.specials

    @property
    def window(self) -> Window:
        return Window(self.specials, self.max_length, self.keep)

    def port(self) -> Tokens:
        return Tokens(self.tokenizer.size, self.vocabulary)

    def parse(self, argument: str) -> str:
        if argument.lower().endswith(PICTURES) and Path(argument).is_file():
            raise OptionError(
                f"{argument} is a picture, and this run reads texts; name a run that was trained on pictures"
            )
        return argument

    def limited(self, max_length: int, keep: str) -> TextModality:
        return replace(self, max_length=max_length or USUAL_LENGTH, keep=cast(Keep, keep))

    def encode(self, raws: Sequence[str | tuple[str, ...]]) -> list[Enclosed]:
        """One text each, or two: a tuple, or one string with a tab between them."""
        return enclose_all(self.tokenizer, self.window, [split_texts(raw) for raw in raws])

    def augment(self, item: Enclosed, generator: np.random.Generator) -> Enclosed:
        return item

    def size(self, item: Enclosed) -> int:
        return len(item.tokens)

    def cut(self, item: Enclosed) -> int:
        return item.cut

    def collate(self, items: Sequence[Enclosed]) -> Inputs:
        return collate_texts(items, self.specials.pad)

    def axis(self, item: Enclosed) -> Axis:
        return token_axis(self.tokenizer, item.tokens.tolist())

    def describe(self, item: Enclosed) -> str:
        return spelled(self.tokenizer, item.tokens.tolist())

    def random_items(self, generator: np.random.Generator, rows: int, length: int) -> list[Enclosed]:
        return random_texts(generator, self.tokenizer, rows, length)

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder / self.file)

"""Texts on both sides, by the tokenizer that a recipe chooses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.modalities import ModalityPart

if TYPE_CHECKING:
    from regard.data import TokenizerPart
    from regard.data.modalities.both import Modalities


class TextPart(ModalityPart):
    """Texts; how they are cut into tokens is said in [tokenizer]."""

    example = '"a sentence"'

    kind: str = "text"

    @property
    def is_text(self) -> bool:
        return True

    def is_kept(self, folder: Path) -> bool:
        from regard.data.modalities.text.vocabularies import JOINT, SOURCE, TARGET

        return any(all((folder / name).is_file() for name in names) for names in ((JOINT,), (SOURCE, TARGET)))

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        from regard.data.modalities.both import Modalities
        from regard.data.modalities.text.vocabularies import Vocabularies

        return Modalities.of_text(Vocabularies.train(tokenizer, corpus))

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        from regard.data.modalities.both import Modalities
        from regard.data.modalities.text.vocabularies import Vocabularies

        return Modalities.of_text(Vocabularies.load(folder, tokenizer))

"""Kinds of input, one folder or file each: how raw inputs become numbers and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from regard.core.config import Choices, Part

if TYPE_CHECKING:
    from regard.data import TokenizerPart
    from regard.data.modalities.both import Modalities


class ModalityPart(Part):
    """Settings of a modality: how it is learned from training data, and found again in a run folder."""

    unit: ClassVar[str] = "tokens"  # of what a batch holds so many, and training reads so many a second

    @property
    def is_text(self) -> bool:
        """Whether a tokenizer has a part in it."""
        return False

    @property
    def example(self) -> str:
        """What regard predict might be asked, as it is typed."""
        return "input"

    def is_kept(self, folder: Path) -> bool:
        """Whether a run folder holds what was learned."""
        raise NotImplementedError

    def fit(self, corpus: Any, tokenizer: TokenizerPart) -> Modalities:
        """Learned from the training split alone."""
        raise NotImplementedError

    def load(self, folder: Path, tokenizer: TokenizerPart) -> Modalities:
        """As a run folder holds it."""
        raise NotImplementedError


MODALITIES = Choices(
    "input",
    ModalityPart,
    "text",
    {
        "text": "regard.data.modalities.text.part:TextPart",
        "image": "regard.data.modalities.image.modality:ImagePart",
        "audio": "regard.data.modalities.audio.modality:AudioPart",
    },
)

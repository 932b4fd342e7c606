"""The modalities of a run: what goes in, and what comes out where that is generated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import OptionError
from regard.core.ports import INPUT, OUTPUT, Port
from regard.core.seams.modality import Modality
from regard.data.modalities.text.modality import TextModality
from regard.data.modalities.text.vocabularies import JOINT, SOURCE, TARGET, Vocabularies


@dataclass(frozen=True)
class Modalities:
    """The input's modality and, where there is one, the output's."""

    input: Modality
    output: Modality | None = None

    @classmethod
    def of_text(cls, both: Vocabularies) -> Modalities:
        """Texts on both sides, by one tokenizer or by two."""
        files = (JOINT, JOINT) if both.joint else (SOURCE, TARGET)
        names = ("joint", "joint") if both.shared else ("source", "target")
        return cls(*(
            TextModality(own, file, name, dropout=both.dropout)
            for own, file, name in zip((both.source, both.target), files, names, strict=True)
        ))

    def ports(self) -> dict[str, Port]:
        """What the data fixes about a model."""
        sides = {INPUT: self.input, OUTPUT: self.output}
        return {side: modality.port() for side, modality in sides.items() if modality is not None}

    @property
    def vocabularies(self) -> Vocabularies:
        """The tokenizers of both sides; refused, in words, where a side is no text."""
        source, target = self.input, self.output
        if not isinstance(source, TextModality) or not isinstance(target, TextModality):
            raise OptionError(
                f"this needs texts, and the run reads a {self.input.name}; name a run that was trained on texts"
            )
        same_ids = source.vocabulary == target.vocabulary
        return Vocabularies(source.tokenizer, target.tokenizer, same_ids=same_ids, dropout=source.dropout)

    def save(self, folder: Path) -> None:
        for modality in (self.input, self.output):
            if modality is not None:
                modality.save(folder)

"""The tokenizers of a run: one for both sides, or one for each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.core.symbols import Sizes
from regard.data.corpus import Corpus
from regard.data.tokenizers import Tokenizer, TokenizerPart

JOINT, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """How source and target texts become numbers; joint where both are the same object."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        return self.source is self.target

    def sizes(self) -> Sizes:
        return Sizes(self.source.size, self.target.size, shared=self.joint)

    @classmethod
    def train(cls, config: TokenizerPart, corpus: Corpus) -> Vocabularies:
        """Learned from the training split alone."""
        pairs = corpus.splits["train"]
        if config.joint:
            both = config.train(text for pair in pairs for text in (pair.source, pair.target))
            return cls(both, both)
        return cls(config.train(pair.source for pair in pairs), config.train(pair.target for pair in pairs))

    def save(self, folder: Path) -> None:
        if self.joint:
            self.source.save(folder / JOINT)
        else:
            self.source.save(folder / SOURCE)
            self.target.save(folder / TARGET)

    @classmethod
    def load(cls, folder: Path) -> Vocabularies:
        if (folder / JOINT).is_file() or not (folder / SOURCE).is_file():
            both = Tokenizer.load(folder / JOINT)
            return cls(both, both)
        return cls(Tokenizer.load(folder / SOURCE), Tokenizer.load(folder / TARGET))

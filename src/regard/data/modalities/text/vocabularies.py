"""The tokenizers of a run: one for both sides, or one for each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.core.ports import Port, text_ports
from regard.data import TokenizerPart
from regard.data.corpus import Corpus
from regard.data.modalities.text.token_files import cache_folder
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.texts import Text, is_running_text

JOINT, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """How source and target texts become numbers; joint where both are the same object.

    ``same_ids``: texts are taken apart in two ways, but a number means the same piece on both sides. ``dropout``: how
    many merges are left out when training pairs are cut, see ``bpe_dropout.py``.
    """

    source: Tokenizer
    target: Tokenizer
    same_ids: bool = False
    dropout: float = 0.0

    @property
    def joint(self) -> bool:
        return self.source is self.target

    @property
    def shared(self) -> bool:
        """Whether both sides may have one embedding."""
        return self.joint or self.same_ids

    def ports(self) -> dict[str, Port]:
        """What they fix about a model."""
        return text_ports(self.source.size, self.target.size, shared=self.shared)

    @classmethod
    def train(cls, config: TokenizerPart, corpus: Corpus[Any]) -> Vocabularies:
        """Learned from the training split alone. Of running text, which may be long, a second time is a look-up."""
        kept = known_place(config, corpus) if is_running_text(corpus) else None
        if kept is not None and kept.is_file():
            both = Tokenizer.load(kept, config.specials())
            return cls(both, both, dropout=config.pair_dropout)
        streams = corpus.training_texts(config.joint)
        sides = [config.of_side(side) for side in range(2)] if len(streams) == 2 else [config]
        made = [own.train(texts) for own, texts in zip(sides, streams, strict=True)]
        if kept is not None:
            made[0].save(kept)
        return cls(made[0], made[-1], dropout=config.pair_dropout)

    def save(self, folder: Path) -> None:
        if self.joint:
            self.source.save(folder / JOINT)
        else:
            self.source.save(folder / SOURCE)
            self.target.save(folder / TARGET)

    @classmethod
    def load(cls, folder: Path, config: TokenizerPart) -> Vocabularies:
        """Imported ones have one list of ids, even where they are two."""
        specials, dropout = config.specials(), config.pair_dropout
        if (folder / JOINT).is_file() or not (folder / SOURCE).is_file():
            both = Tokenizer.load(folder / JOINT, specials)
            return cls(both, both, dropout=dropout)
        source, target = (Tokenizer.load(folder / name, specials) for name in (SOURCE, TARGET))
        return cls(source, target, same_ids=config.numbers_alike, dropout=dropout)


def known_place(config: TokenizerPart, corpus: Corpus[Text]) -> Path:
    """Where the tokenizer of these settings and these very texts is kept."""
    digest = hashlib.sha256(config.model_dump_json().encode())
    for text in corpus.splits["train"]:
        digest.update(f"|{text.key()}".encode())
    return cache_folder() / "tokenizers" / f"{digest.hexdigest()[:32]}.json"

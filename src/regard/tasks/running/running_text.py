"""The base of tasks over running text: the tokens of every split in one file."""

from __future__ import annotations

from regard.core.ports import Ports
from regard.data.corpus import Corpus
from regard.data.modalities.text.token_files import TokenFiles
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.texts import Text


class RunningTextTask:
    """What such a task holds; ``files`` are the tokens of its splits."""

    def __init__(self, corpus: Corpus[Text], vocabularies: Vocabularies, seed: int) -> None:
        self.corpus, self.vocabularies, self.seed = corpus, vocabularies, seed
        self.tokenizer: Tokenizer = vocabularies.target
        self.files = TokenFiles(corpus.splits, self.tokenizer)

    def ports(self) -> Ports:
        return self.vocabularies.ports()

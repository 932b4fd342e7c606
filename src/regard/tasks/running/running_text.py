"""The base of tasks over running text: the tokens of every split in one file."""

from __future__ import annotations

from typing import Any

from regard.core.errors import OptionError
from regard.core.ports import Ports
from regard.core.seams import max_length_of
from regard.data.corpus import Corpus
from regard.data.modalities.text.token_files import TokenFiles
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.texts import Text


class RunningTextTask:
    """What such a task holds; ``files`` are the tokens of its splits, ``window`` is how many are read at once."""

    def __init__(self, corpus: Corpus[Text], vocabularies: Vocabularies, seed: int, window: int) -> None:
        self.corpus, self.vocabularies, self.seed, self.window = corpus, vocabularies, seed, window
        self.tokenizer: Tokenizer = vocabularies.target
        self.files = TokenFiles(corpus.splits, self.tokenizer)

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def check_lengths(self, model: Any, batch_tokens: int) -> None:
        """Windows that the model has no positions for are refused before the first step."""
        room = max_length_of(model)
        if room and self.window > room:
            raise OptionError(
                f"task.max_length = {self.window}, and the model reads at most {room} tokens at once; set "
                f"task.max_length={room}, or let the model read more (model.position.max_length or model.max_length)"
            )

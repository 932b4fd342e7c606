"""Language modelling: what comes next, at every position of running text, in windows or in streams.

Windows are cut from the token stream at a new place every epoch. With ``carry`` the text is read in parallel
streams instead: the model's state goes on from window to window, the gradient stops at each (truncated
back-propagation through time, Williams & Peng 1990).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from regard.core.config import Part
from regard.core.errors import DataError, OptionError
from regard.core.seams import Answer, Decodable, Engine, Progress, Sums
from regard.core.symbols import Sizes
from regard.data.batching import in_length_order
from regard.data.corpus import Corpus
from regard.data.texts import Text, documents
from regard.data.token_files import TokenFile, token_file
from regard.data.tokenizers import Tokenizer
from regard.data.vocabularies import Vocabularies
from regard.decoding.options import Sampling, Strategy
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.tasks.continuation import Continuation
from regard.tasks.padding import pad, real_states
from regard.tasks.scores import summed

SCORED_AT_ONCE = 16384
"""Tokens of a batch when a split is scored."""
STREAMS = 32
"""Streams in which a split is scored where the state is carried on."""


class LanguageModelConfig(Part):
    """What comes next in running text."""

    kind: str = "language-model"
    context: int = Field(256, ge=1)  # tokens that are read at once
    documents: Literal["joined", "apart"] = "joined"  # apart: attention stays inside a document
    carry: bool = False  # for recurrent models: the state goes on from window to window
    sample: int = Field(160, ge=0)  # tokens that are written after each validation, to be looked at; 0: none
    prompt: str = ""  # how that sample begins

    def build(
        self, corpus: Corpus[Any], vocabularies: Vocabularies, seed: int, dropout: float = 0.0
    ) -> LanguageModelling:
        if dropout:
            raise OptionError("tokenizer.dropout is for pairs; running text is tokenised once: set it to 0")
        return LanguageModelling(self, documents(corpus), vocabularies, seed)


class Window(NamedTuple):
    """Tokens in a row, one more than are read; ``place`` is the window's number in the stream."""

    tokens: np.ndarray
    place: int


class Windows(Sequence[Window]):
    """A token stream in windows that meet: the last token of one is the first of the next."""

    def __init__(self, tokens: np.ndarray, context: int, first: int = 0, *, whole: bool) -> None:
        self.tokens, self.context, self.first = tokens, context, first
        predicted = max(len(tokens) - first - 1, 0)
        self.number = predicted // context if whole else -(-predicted // context)

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < self.number:
            raise IndexError(place)
        start = self.first + place * self.context
        return Window(self.tokens[start : start + self.context + 1], place)

    def lengths(self) -> np.ndarray:
        """How many tokens of each window are read."""
        lengths_N = np.full(self.number, self.context, np.int64)
        if self.number:
            left = len(self.tokens) - self.first - 1 - (self.number - 1) * self.context
            lengths_N[-1] = min(left, self.context)
        return lengths_N


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """Windows side by side; ``real_N`` are the flat indices of positions that are not padding."""

    tokens_BT: Tensor
    segments_BT: Tensor | None
    real_N: Tensor
    targets_N: Tensor
    place: int


class LanguageModelling:
    """The task over one corpus of running text."""

    one_shape = True  # full windows, equally many in all batches but the last

    def __init__(
        self, config: LanguageModelConfig, corpus: Corpus[Text], vocabularies: Vocabularies, seed: int
    ) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.seed = seed
        self.additive = not config.carry  # what a stream remembers belongs to the batch before
        self._files: dict[str, TokenFile] = {}
        self._held: dict[bool, tuple[int, Any]] = {}  # training or not: the last place, and what is remembered there
        self._restored: dict[str, Tensor] = {}

    @property
    def tokenizer(self) -> Tokenizer:
        return self.vocabularies.target

    def sizes(self) -> Sizes:
        return self.vocabularies.sizes()

    # -- examples and batches -------------------------------------------------------------------------------

    def file(self, split: str) -> TokenFile:
        """The split's tokens, made on first use."""
        if split not in self._files:
            texts = self.corpus.splits[split]
            self._files[split] = token_file(texts, self.tokenizer)
        return self._files[split]

    def examples(self, split: str, epoch: int) -> Sequence[Window]:
        if split not in self.corpus.splits:
            return []
        tokens, context = self.file(split).open(), self.config.context
        if split != "train":
            return Windows(tokens, context, whole=False)
        if len(tokens) <= context:
            raise DataError(
                f"the training text has {len(tokens):,} tokens, and one window takes {context + 1:,}; "
                "give more text, or lower task.context"
            )
        room = min(context, len(tokens) - context)
        return Windows(tokens, context, int(np.random.default_rng((self.seed, epoch)).integers(room)), whole=True)

    def lengths(self, examples: Sequence[Window]) -> np.ndarray:
        if isinstance(examples, Windows):
            return examples.lengths()[:, None]
        return np.array([len(window.tokens) - 1 for window in examples]).reshape(-1, 1)

    def weight(self, lengths_NA: np.ndarray) -> int:
        return int(lengths_NA.sum())

    def order(self, examples: Sequence[Window], budget: int) -> list[np.ndarray] | None:
        """With ``carry``: batch t holds the t-th window of every stream; what no stream has room for comes last."""
        if not self.config.carry:
            return None
        streams = max(1, min(budget // self.config.context, len(examples)))
        steps = len(examples) // streams
        batches = [np.arange(streams) * steps + step for step in range(steps)]
        rest = np.arange(streams * steps, len(examples))
        return batches + ([rest] if len(rest) else [])

    def collate(self, examples: Sequence[Window], device: torch.device) -> WindowBatch:
        rows = [window.tokens.astype(np.int64) for window in examples]
        tokens_BT, lengths_B = pad([row[:-1] for row in rows])
        targets_BT, _ = pad([row[1:] for row in rows])
        real_N = np.flatnonzero(np.arange(tokens_BT.shape[1]) < lengths_B[:, None])
        segments_BT = None
        if self.config.documents == "apart":
            segments_BT = torch.from_numpy((tokens_BT == self.tokenizer.specials.eos).cumsum(axis=1)).to(device)
        arrays = (tokens_BT, real_N, targets_BT.ravel()[real_N])
        tokens, real, targets = (torch.from_numpy(array).to(device) for array in arrays)
        return WindowBatch(tokens, segments_BT, real, targets, examples[0].place)

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: WindowBatch) -> Sums:
        states_ND = real_states(self.states(model, batch), batch.real_N)
        head: Any = model.head
        loss = vocabulary_loss(states_ND, head.weight, batch.targets_N)
        count = len(batch.targets_N)
        return Sums(
            {"loss": loss.smoothed, "token_accuracy": loss.correct},
            {"loss": count, "token_accuracy": count},
        )

    def states(self, model: Any, batch: WindowBatch) -> Tensor:
        if self.config.carry:
            return self.read_on(model, batch)
        if batch.segments_BT is None:
            return model(batch.tokens_BT)
        return model(batch.tokens_BT, batch.segments_BT)

    def read_on(self, model: Any, batch: WindowBatch) -> Tensor:
        """Reads a batch from where the one before it ended; a batch that does not follow it begins anew."""
        state = model.start((len(batch.tokens_BT), 0))
        if not hasattr(state, "detached"):
            raise OptionError(
                f"task.carry = true is for models that carry a state from window to window, and "
                f"{type(model).__name__} carries none; set task.carry = false"
            )
        if model.training and self._restored:
            place = int(self._restored["place"])
            self._held[True] = place, state.restored(self._restored)
            self._restored = {}
        place, held = self._held.get(model.training, (-1, None))
        if held is not None and batch.place == place + 1 and held.rows == len(batch.tokens_BT):
            state = held
        states_BTD = model.read(batch.tokens_BT, state)
        self._held[model.training] = batch.place, state.detached()
        return states_BTD

    def carried(self) -> dict[str, Tensor]:
        """What training must find again after an interruption, beside weights and optimiser."""
        if True not in self._held:
            return {}
        place, state = self._held[True]
        return {**state.tensors(), "place": torch.tensor(place)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self._restored = dict(tensors)

    def derived(self, split: str, figures: Mapping[str, float]) -> dict[str, float]:
        """Perplexity, and bits for each character where the split's characters are known."""
        if split not in self.corpus.splits:
            return {}
        file = self.file(split)
        bits = figures["loss"] * (file.tokens - 1) / max(file.characters, 1) / math.log(2)
        return {"perplexity": math.exp(min(figures["loss"], 700.0)), "bits_per_character": bits}

    # -- answers and scores ---------------------------------------------------------------------------------

    def continuation(self, model: nn.Module, device: torch.device, engine: Engine | None = None) -> Continuation:
        """What writes on with this model."""
        context = getattr(model, "context", 0) or self.config.context
        return Continuation(cast(Decodable, model), self.tokenizer, device, context, engine)

    def predict(
        self,
        model: nn.Module,
        inputs: Sequence[str],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> list[list[Answer]]:
        """How each text goes on."""
        return self.continuation(model, device, engine).predict(inputs, options, progress=progress)

    def glimpse(self, model: nn.Module, device: torch.device) -> str:
        """A sample of what the model writes now."""
        if not self.config.sample:
            return ""
        options = Sampling(max_length=self.config.sample, temperature=0.8, seed=self.seed)
        writing = self.continuation(model, device)
        return self.config.prompt + writing.predict([self.config.prompt], options, keep_end=True)[0][0].text

    def score(
        self,
        model: nn.Module,
        split: str,
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Loss per token, perplexity and bits per character over windows that do not overlap."""
        examples = self.examples(split, 0)
        batches = self.order(examples, STREAMS * self.config.context)
        if batches is None:
            batches = in_length_order(self.lengths(examples), SCORED_AT_ONCE)
        totals, count = summed(self, model, examples, batches, device, progress)
        means = {name: totals.get(name, 0.0) / max(count, 1) for name in ("loss", "token_accuracy")}
        return {**means, **self.derived(split, means), "tokens": count, "characters": self.file(split).characters}

"""Language modelling: predicts the next token at every position of running text, in windows or in streams.

Windows are cut from the token stream at a new place every epoch. With ``carry`` the text is read in parallel
streams instead: the model's state goes on from window to window, the gradient stops at each (truncated
back-propagation through time, Williams & Peng 1990).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.core.answers import Answer
from regard.core.batch import Examples, TokenBatch, row_lengths
from regard.core.errors import DataError, OptionError
from regard.core.inputs import Inputs
from regard.core.metrics import Metric, share
from regard.core.probe import UNKNOWN, Probe
from regard.core.roles import Role
from regard.core.seams import ConstantSizeState, Decodable, max_length_of
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data import TokenizerPart
from regard.data.batching import in_length_order
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.token_files import first_tokens
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.wording import random_ids, token_axis
from regard.data.padding import pad
from regard.data.texts import Text, documents
from regard.decoding.options import Sampling
from regard.layers.losses.distillation import Lesson, Scored, Softening
from regard.layers.states import real_states
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.tasks import TaskPart
from regard.tasks.baselines.ngrams import fit_ngrams_of_best_length
from regard.tasks.probing import check_no_target, check_probe_length, max_probe_length, vocabulary_logits
from regard.tasks.running.continuation import Continuation
from regard.tasks.running.running_text import RunningTextTask
from regard.tasks.scores import sum_over

SCORED_AT_ONCE = 16384
"""Tokens of a batch when a split is scored."""
STREAMS = 32
"""Streams in which a split is scored where the state is carried on."""
MOST_COUNTED = 2_000_000
"""Training tokens of which n-grams are counted."""


class LanguageModelConfig(TaskPart):
    """What comes next in running text."""

    generates = True
    needs = Role.CONTINUES
    explains_itself = True
    headline = (
        Metric("bits_per_character", "bits per character", higher_is_better=False),
        Metric("perplexity", "perplexity", digits=2, higher_is_better=False),
        share("token_accuracy", "token accuracy"),
    )
    accuracy = "token_accuracy"

    one_sided = True

    kind: str = "language-model"
    max_length: int = Field(256, ge=1)  # tokens that are read at once
    documents: Literal["joined", "apart", "whole"] = "joined"  # apart: attention stays inside; whole: windows do too
    carry: bool = False  # for recurrent models: the state goes on from window to window
    sample: int = Field(160, ge=0)  # tokens that are written after each validation, to be looked at; 0: none
    prompt: str = ""  # how that sample begins

    def example(self, tokenizer: TokenizerPart) -> str:
        return '--prompt "a beginning"'

    @model_validator(mode="after")
    def _streams_are_joined(self) -> Self:
        if self.carry and self.documents == "whole":
            raise ValueError(
                'task.documents = "whole" starts again with every document, and carry = true never does; leave one out'
            )
        return self

    def build(
        self, corpus: Corpus[Any], modalities: Modalities, seed: int
    ) -> LanguageModelling:
        return LanguageModelling(self, documents(corpus), modalities.vocabularies, seed)


class TokenWindow(NamedTuple):
    """Tokens in a row, one more than are read; ``place`` is the window's number in the stream."""

    tokens: np.ndarray
    place: int


class TokenWindows(Sequence[TokenWindow]):
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
        return TokenWindow(self.tokens[start : start + self.context + 1], place)

    def lengths(self) -> np.ndarray:
        """How many tokens of each window are read."""
        lengths_N = np.full(self.number, self.context, np.int64)
        if self.number:
            left = len(self.tokens) - self.first - 1 - (self.number - 1) * self.context
            lengths_N[-1] = min(left, self.context)
        return lengths_N


class DocumentWindows(Sequence[TokenWindow]):
    """Windows that begin with the symbol before a document, and stay in it; a long document has several."""

    def __init__(self, tokens: np.ndarray, context: int, end: int) -> None:
        self.tokens = tokens
        ends = np.flatnonzero(tokens == end).tolist()
        self.spans = [
            (start, min(start + context, stop))
            for first, stop in pairwise(ends) for start in range(first, stop, context)
        ]  # fmt: skip

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, place: Any) -> Any:
        start, stop = self.spans[place]
        return TokenWindow(self.tokens[start : stop + 1], place)

    def lengths(self) -> np.ndarray:
        """How many tokens of each window are read."""
        return np.array([stop - start for start, stop in self.spans], np.int64)


@dataclass(frozen=True, slots=True)
class WindowBatch(TokenBatch):
    """Windows side by side; ``place`` is the number of the first among all windows."""

    tokens_BT: Tensor
    segments_BT: Tensor | None
    place: int

    @property
    def written_lengths_B(self) -> Tensor:
        return row_lengths(self.real_N, self.tokens_BT)


class LanguageModelling(RunningTextTask):
    """The task over one corpus of running text."""

    static_shapes = True  # full windows, equally many in all batches but the last

    def __init__(
        self, config: LanguageModelConfig, corpus: Corpus[Text], vocabularies: Vocabularies, seed: int
    ) -> None:
        super().__init__(corpus, vocabularies, seed, config.max_length)
        self.config = config
        self.additive = not config.carry  # what a stream remembers belongs to the batch before
        self._held: dict[bool, tuple[int, Any]] = {}  # training or not: the last place, and what is remembered there
        self._restored: dict[str, Tensor] = {}

    # -- examples and batches -------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        if split not in self.corpus.splits:
            return Examples()
        tokens, context = self.files[split].open(), self.config.max_length
        if self.config.documents == "whole":
            return self.gathered(DocumentWindows(tokens, context, self.tokenizer.specials.eos))
        if split != "train":
            return self.gathered(TokenWindows(tokens, context, whole=False))
        if len(tokens) <= context:
            raise DataError(
                f"the training text has {len(tokens):,} tokens, and one window takes {context + 1:,}; "
                "give more text, or lower task.max_length"
            )
        room = min(context, len(tokens) - context)
        first = int(np.random.default_rng((self.seed, epoch)).integers(room))
        return self.gathered(TokenWindows(tokens, context, first, whole=True))

    def gathered(self, windows: TokenWindows | DocumentWindows) -> Examples:
        order = partial(stream_order, len(windows), self.config.max_length) if self.config.carry else None
        return Examples(windows, windows.lengths()[:, None], order=order)

    def collate(self, items: Sequence[TokenWindow]) -> WindowBatch:
        rows = [window.tokens.astype(np.int64) for window in items]
        tokens_BT, lengths_B = pad([row[:-1] for row in rows])
        targets_BT, _ = pad([row[1:] for row in rows])
        real_N = np.flatnonzero(np.arange(tokens_BT.shape[1]) < lengths_B[:, None])
        segments_BT = None
        if self.config.documents == "apart":
            segments_BT = torch.from_numpy((tokens_BT == self.tokenizer.specials.eos).cumsum(axis=1))
        arrays = (real_N, targets_BT.ravel()[real_N], tokens_BT)
        real, targets, tokens = (torch.from_numpy(array) for array in arrays)
        return WindowBatch(real, targets, tokens, segments_BT, items[0].place)

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        check_no_target(target)
        writing = self.continuation(session)
        ids = replace(writing, context=0).openings([raw], keep_end=False)[0]
        check_probe_length(len(ids), writing.context, "the text")
        made = self.probe_examples(session, [TokenWindow(np.array([*ids, ids[-1]]), 0)])
        return replace(made, expected=(*ids[1:], UNKNOWN))  # nobody knows what follows the end

    def probe_examples(self, session: Session, items: Sequence[TokenWindow]) -> Probe:
        batch, specials = self.collate(items), self.tokenizer.specials
        lengths_B = torch.tensor([len(window.tokens) - 1 for window in items])
        first = items[0].tokens.tolist()
        probe = Probe(
            Inputs(batch.tokens_BT, lengths_B, batch.segments_BT), forward_window, vocabulary_logits,
            self.tokenizer.token,
            start=lambda own: (len(own.inputs.values), 0), axis=token_axis(self.tokenizer, first[:-1]),
            expected=tuple(first[1:]), asked=tuple(range(len(first) - 1)), text=self.tokenizer.decode(first[:-1]),
            blank=specials.unk if specials.unk >= 0 else specials.eos,
        )  # fmt: skip
        return session.move(probe)

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[TokenWindow]:
        """All of one length: no window of a text is padded but the last."""
        size = max_probe_length(session.model, length)
        return [TokenWindow(random_ids(generator, self.tokenizer, size + 1), 0) for _ in range(rows)]

    # -- loss -----------------------------------------------------------------------------------------------

    def check_taught(self, teacher: Any) -> None:
        if self.config.carry:
            raise OptionError("task.carry = true reads on from a state that a teacher has not; leave one of them out")

    def distilled(self, model: nn.Module, teacher: Any, batch: WindowBatch, softening: Softening) -> Sums:
        with torch.no_grad():
            states_ND = real_states(self.states(teacher, batch), batch.real_N)
        return self.sums(model, batch, Lesson(Scored(states_ND, teacher.head.weight), softening))

    def sums(self, model: nn.Module, batch: WindowBatch, lesson: Lesson | None = None) -> Sums:
        states_ND = real_states(self.states(model, batch), batch.real_N)
        head: Any = model.head
        loss = vocabulary_loss(states_ND, head.weight, batch.targets_N)
        if lesson is not None:
            loss = lesson.added(loss, Scored(states_ND, head.weight))
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
        if not isinstance(state, ConstantSizeState):
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

    def state_dict(self) -> dict[str, Tensor]:
        """What training must find again after an interruption, beside weights and optimiser."""
        if True not in self._held:
            return {}
        place, state = self._held[True]
        return {**state.tensors(), "place": torch.tensor(place)}

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        self._restored = dict(tensors)

    def derived(self, split: str, means: Mapping[str, float]) -> dict[str, float]:
        """Perplexity, and bits for each character where the split's characters are known."""
        if split not in self.corpus.splits:
            return {}
        file = self.files[split]
        bits = means["loss"] * (file.tokens - 1) / max(file.characters, 1) / math.log(2)
        return {"perplexity": math.exp(min(means["loss"], 700.0)), "bits_per_character": bits}

    # -- answers and scores ---------------------------------------------------------------------------------

    def continuation(self, session: Session) -> Continuation:
        """What writes on with this model."""
        context = max_length_of(session.model) or self.config.max_length
        model = cast(Decodable, session.model)
        lead = (self.tokenizer.specials.eos,) if self.config.documents == "whole" else ()
        return Continuation(model, self.tokenizer, session.device, context, session.engine, lead)

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        """How each text goes on."""
        writing = self.continuation(session)
        return writing.predict(inputs, session.options, progress=session.progress, numbers=session.numbers)

    def sample(self, model: nn.Module, device: torch.device) -> str:
        """What the model writes now."""
        if not self.config.sample:
            return ""
        options = Sampling(max_length=self.config.sample, temperature=0.8, seed=self.seed)
        writing = self.continuation(Session(model, device, options))
        return self.config.prompt + writing.predict([self.config.prompt], options, keep_end=True)[0][0].text

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Loss per token, perplexity and bits per character over windows that do not overlap."""
        examples = self.examples(split, 0)
        if examples.order is not None:
            batches = examples.order(STREAMS * self.config.max_length)
        else:
            batches = in_length_order(examples.lengths_NA, SCORED_AT_ONCE)
        totals, count = sum_over(self, session, examples, batches)
        means = {name: totals.get(name, 0.0) / max(count, 1) for name in ("loss", "token_accuracy")}
        return {**means, **self.derived(split, means), "tokens": count, "characters": self.files[split].characters}

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """An n-gram model of the same tokens."""
        counted = first_tokens(documents(corpus).splits["train"], self.tokenizer, MOST_COUNTED)
        fitted = fit_ngrams_of_best_length(counted.tokens_N, self.tokenizer.size)
        means = {"loss": fitted.loss(np.asarray(self.files[split].open()))}
        return {f"Kneser–Ney {fitted.longest}-gram": Yardstick({**means, **self.derived(split, means)}, counted.told)}


def forward_window(model: nn.Module, probe: Probe) -> Tensor:
    """states_BTD of every token, which knows those before it."""
    inputs = probe.inputs
    return model(inputs.values) if inputs.segments_BN is None else model(inputs.values, inputs.segments_BN)


def stream_order(windows: int, context: int, budget: int) -> list[np.ndarray]:
    """Batch t holds the t-th window of every stream; what no stream has room for comes last."""
    streams = max(1, min(budget // context, windows))
    steps = windows // streams
    batches = [np.arange(streams) * steps + step for step in range(steps)]
    rest = np.arange(streams * steps, windows)
    return batches + ([rest] if len(rest) else [])

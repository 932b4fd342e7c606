"""Masked language modelling: some words of a text are hidden, and guessed from both sides (Devlin et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer
from regard.core.batch import Examples
from regard.core.errors import DataError, OptionError, RecipeError, enumerate_problems
from regard.core.inputs import Inputs
from regard.core.metrics import Metric, share
from regard.core.probe import UNKNOWN, Probe
from regard.core.roles import Role
from regard.core.seams import GuessesWords, RelatesTexts, max_length_of
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data import TokenizerPart
from regard.data.batching import in_length_order
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.token_files import first_tokens
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import continues_word
from regard.data.modalities.text.wording import random_ids, random_lengths, token_axis
from regard.data.padding import pad
from regard.data.texts import Text, documents
from regard.layers.embeddings import output_matrix, output_states
from regard.layers.vocabulary_loss import VocabularyLoss, vocabulary_loss
from regard.tasks import TaskPart
from regard.tasks.baselines.unigrams import fit_unigrams
from regard.tasks.masked.filling import Filling
from regard.tasks.masked.masking import Hidden, MaskedWindows, Masking, document_spans, joined_spans
from regard.tasks.masked.next_sentence import HiddenPair, Pairs
from regard.tasks.probing import check_no_target, check_probe_length, max_probe_length, vocabulary_logits
from regard.tasks.reading import TextBatch
from regard.tasks.running.running_text import RunningTextTask
from regard.tasks.scores import sum_over

SCORED_AT_ONCE = 16384
"""Tokens of a batch when a split is scored."""
SCORING_SEED = 0
"""Whatever a run's seed, the same words are hidden when it is scored."""
MOST_COUNTED = 2_000_000
"""Training tokens that are counted for the most frequent one."""


class MaskedLanguageModelConfig(TaskPart):
    """What stands behind the masks in running text."""

    headline = (
        Metric("masked_perplexity", "masked perplexity", digits=2, higher_is_better=False),
        share("masked_accuracy", "masked accuracy"),
        Metric("pseudo_perplexity", "pseudo-perplexity", digits=2, higher_is_better=False),
    )
    accuracy = "masked_accuracy"

    one_sided = True
    needs = Role.FILLS

    kind: str = "masked-language-model"
    max_length: int = Field(128, ge=3)  # tokens that are read at once, the symbols around a text among them
    documents: Literal["joined", "apart"] = "joined"  # apart: a text is one document, or a piece of it
    share: float = Field(0.15, gt=0, le=1)  # of all tokens, to be guessed
    masked: float = Field(0.8, ge=0, le=1)  # of those, shown as the mask
    random: float = Field(0.1, ge=0, le=1)  # of those, shown as any other symbol; the rest is shown as it is
    words: Literal["pieces", "whole"] = "pieces"  # whole: all pieces of a word are hidden together
    second: Literal["none", "next"] = "none"  # next: texts are read in two parts, and it says whether they belong so
    pseudo: int = Field(1000, ge=0)  # tokens over which the pseudo-perplexity is taken; 0: it is not

    @model_validator(mode="after")
    def _adds_up(self) -> MaskedLanguageModelConfig:
        if self.masked + self.random > 1:
            raise ValueError(f"masked = {self.masked} and random = {self.random} are more than all; lower one of them")
        return self

    def example(self, tokenizer: TokenizerPart) -> str:
        return f'"a sentence with a {tokenizer.mask_symbol}"'

    def build(
        self, corpus: Corpus[Any], modalities: Modalities, seed: int
    ) -> MaskedLanguageModelling:
        vocabularies = modalities.vocabularies
        check_symbols(vocabularies.target)
        return MaskedLanguageModelling(self, documents(corpus), vocabularies, seed)


def check_symbols(tokenizer: Tokenizer) -> None:
    needed = {"pad": "fills up", "sos": "opens a text", "eos": "closes a text", "mask": "hides a word"}
    lacking = [f"none that {what}" for name, what in needed.items() if tokenizer.specials.named()[name] < 0]
    if lacking:
        title = (
            "masked language modelling needs symbols that this tokenizer lacks; choose "
            'tokenizer.kind = "wordpiece", or kind = "bpe" with mask = true'
        )
        raise RecipeError(enumerate_problems(title, lacking))


@dataclass(frozen=True, slots=True)
class MaskedBatch(TextBatch):
    """Texts side by side; ``chosen_N`` are the flat indices of the positions that are asked about.

    Texts in two parts have segments, and in ``follows_B`` 1 where the second part belongs to the first.
    """

    chosen_N: Tensor
    answers_N: Tensor
    follows_B: Tensor | None = None

    @property
    def loss_terms(self) -> int:
        return len(self.answers_N)


class MaskedLanguageModelling(RunningTextTask):
    """The task over one corpus of running text."""

    additive = True
    static_shapes = False

    def __init__(
        self, config: MaskedLanguageModelConfig, corpus: Corpus[Text], vocabularies: Vocabularies, seed: int
    ) -> None:
        super().__init__(corpus, vocabularies, seed, config.max_length)
        self.config = config

    # -- examples and batches -------------------------------------------------------------------------------

    @cached_property
    def masking(self) -> Masking:
        config, specials = self.config, self.tokenizer.specials
        ordinary_W = np.isin(np.arange(self.tokenizer.size), specials.known(), invert=True)
        goes_on_W = continues_word(self.tokenizer) if config.words == "whole" else None
        return Masking(config.share, config.masked, config.random, specials.mask, ordinary_W, goes_on_W)

    def examples(self, split: str, epoch: int) -> Examples:
        if split not in self.corpus.splits:
            return Examples()
        pairs = self.config.second == "next"
        specials, room = self.tokenizer.specials, self.config.max_length - 2 - pairs
        tokens = self.files[split].open()
        trained = split == "train"
        if self.config.documents == "apart":
            spans_N2 = document_spans(tokens, specials.eos, room)
        else:
            first = int(np.random.default_rng((self.seed, epoch)).integers(room)) if trained else 0
            spans_N2 = joined_spans(tokens, room, first)
        if trained and not len(spans_N2):
            raise DataError("the training text has no tokens; give more text, or another tokenizer")
        key = (self.seed, epoch) if trained else (SCORING_SEED, 0)
        stretches = MaskedWindows(tokens, spans_N2, self.masking, specials.sos, specials.eos, key)
        items = Pairs(stretches) if pairs else stretches
        return Examples(items, items.lengths())

    def collate(self, items: Sequence[Any]) -> MaskedBatch:
        tokens_BS, lengths_B = pad([one.tokens for one in items], fill=self.tokenizer.specials.pad)
        chosen = [row * tokens_BS.shape[1] + one.chosen for row, one in enumerate(items)]
        chosen_N, answers_N = np.concatenate(chosen), np.concatenate([one.answers for one in items])
        text = Inputs(torch.from_numpy(tokens_BS), torch.from_numpy(lengths_B))
        batch = MaskedBatch(text, torch.from_numpy(chosen_N), torch.from_numpy(answers_N))
        if not isinstance(items[0], HiddenPair):
            return batch
        second_B1 = torch.tensor([[one.second] for one in items])
        segments_BS = (torch.arange(tokens_BS.shape[1]) >= second_B1).long()
        follows_B = torch.tensor([one.follows for one in items])
        return replace(batch, text=replace(text, segments_BN=segments_BS), follows_B=follows_B)

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        """A text, in which masks may be written; without any, every token is asked about."""
        check_no_target(target)
        specials = self.tokenizer.specials
        inside = self.filling(session).reader.encode(raw, add_special_tokens=False).ids
        ids = (specials.sos, *inside, specials.eos)
        check_probe_length(len(ids), max_length_of(session.model), "the text, including its special symbols,")
        return self.probe_examples(session, [without_masks(np.array(ids))])

    def probe_examples(self, session: Session, items: Sequence[Any]) -> Probe:
        """Nothing is hidden but what is written as a mask."""
        whole = [one._replace(tokens=original_tokens(one)) for one in items]
        batch, mask = self.collate(whole), self.tokenizer.specials.mask
        first = whole[0].tokens.tolist()
        masks = tuple(place for place, id in enumerate(first) if id == mask)
        probe = Probe(
            batch.text, forward_masked, vocabulary_logits,
            self.tokenizer.token, axis=token_axis(self.tokenizer, first), blank=mask,
            expected=tuple(UNKNOWN if id == mask else id for id in first),
            asked=masks or tuple(range(1, len(first) - 1)), text=self.tokenizer.decode(first),
        )  # fmt: skip
        return session.move(probe)

    def random_examples(self, session: Session, generator: np.random.Generator, rows: int, length: int) -> list[Hidden]:
        room = max_probe_length(session.model, length)
        return [without_masks(random_ids(generator, self.tokenizer, own)) for own in random_lengths(rows, room)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: MaskedBatch) -> Sums:
        check_has_head(model, batch)
        states_BSD = model(batch.text.values, batch.text.lengths_B, batch.text.segments_BN)
        loss = guessing_loss(model, states_BSD, batch)
        count = len(batch.answers_N)
        sums = {"loss": loss.smoothed, "masked_accuracy": loss.correct}
        counts = dict.fromkeys(sums, count)
        if batch.follows_B is not None:
            relation, right = relation_loss(model, states_BSD, batch)
            sums |= {"loss": loss.smoothed + relation, "next_accuracy": right}
            counts["next_accuracy"] = len(batch.follows_B)
        return Sums(sums, counts)

    def derived(self, split: str, means: Mapping[str, float]) -> dict[str, float]:
        return {"masked_perplexity": math.exp(min(means["loss"], 700.0))}

    # -- answers and scores ---------------------------------------------------------------------------------

    def filling(self, session: Session) -> Filling:
        """What fills gaps with this model."""
        return Filling(session.model, self.tokenizer, session.device)

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        """Each text with its masks filled."""
        return self.filling(session).answers(inputs, session.options.answers, session.progress)

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Loss and accuracy over the hidden words, and what each word is worth where all others are shown."""
        examples = self.examples(split, 0)
        alone = self.hidden_one_by_one(examples)

        def totals(asked: Examples, before: int) -> tuple[dict[str, float], int]:
            def report(done: int, of: int) -> None:
                if session.progress is not None:
                    session.progress(before + done, len(examples) + len(alone))

            order = in_length_order(asked.lengths_NA, SCORED_AT_ONCE)
            return sum_over(self, session.with_progress(report), asked, order)

        sums, count = totals(examples, 0)
        means = {name: sums.get(name, 0.0) / max(count, 1) for name in ("loss", "masked_accuracy")}
        scores = {**means, **self.derived(split, means), "tokens": count}
        if "next_accuracy" in sums:
            scores["next_accuracy"] = sums["next_accuracy"] / len(examples)
        if len(alone):
            sums, count = totals(alone, len(examples))
            scores |= {"pseudo_perplexity": math.exp(min(sums["loss"] / count, 700.0)), "pseudo_tokens": count}
        return scores

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """How frequent every token is; its loss is left out where the model's has a term for the second text, too."""
        counted = first_tokens(documents(corpus).splits["train"], self.tokenizer, MOST_COUNTED)
        fitted = fit_unigrams(counted.tokens_N[self.masking.ordinary_W[counted.tokens_N]], self.tokenizer.size)
        hidden_N = np.concatenate([one.answers for one in self.examples(split, 0)])
        figures = {"masked_accuracy": fitted.accuracy(hidden_N)}
        if self.config.second == "none":
            means = {"loss": fitted.loss(hidden_N)}
            figures = {**means, **self.derived(split, means), **figures}
        return {"most frequent token": Yardstick(figures, counted.told)}

    def hidden_one_by_one(self, examples: Examples) -> Examples:
        """Single tokens, at even distances over the split, each behind a mask while all others are shown: exp of their
        mean loss is the pseudo-perplexity (Salazar et al. 2020, eq. 3)."""
        stretches = examples.items
        if not isinstance(stretches, MaskedWindows) or not self.config.pseudo:
            return Examples()
        ends_N = np.cumsum(examples.lengths_NA[:, 1] - 2)
        total = int(ends_N[-1]) if len(ends_N) else 0
        found = []
        for pick in np.unique(np.linspace(0, total - 1, min(self.config.pseudo, total)).astype(np.int64)):
            place = int(np.searchsorted(ends_N, pick, side="right"))
            tokens = stretches.plain(place)
            position = int(pick - ends_N[place]) + len(tokens) - 1  # counted from the closing symbol
            answer = tokens[position]
            if self.masking.ordinary_W[answer]:
                shown = tokens.copy()
                shown[position] = self.masking.mask
                found.append(Hidden(shown, np.array([position]), np.array([answer])))
        lengths = [(len(one.chosen), len(one.tokens)) for one in found]
        return Examples(found, np.array(lengths, np.int64).reshape(-1, 2))


def without_masks(tokens: np.ndarray) -> Hidden:
    """A text in which nothing is hidden."""
    nothing = np.zeros(0, np.int64)
    return Hidden(tokens, nothing, nothing)


def original_tokens(one: Hidden | HiddenPair) -> np.ndarray:
    """The tokens as they stood in the text."""
    tokens = one.tokens.copy()
    tokens[one.chosen] = one.answers
    return tokens


def forward_masked(model: nn.Module, probe: Probe) -> Tensor:
    """states_BSD, which know both sides."""
    inputs = probe.inputs
    return model(inputs.values, inputs.real_lengths_B, inputs.segments_BN)


def check_has_head(model: nn.Module, batch: MaskedBatch) -> None:
    if not isinstance(model.head, GuessesWords):
        name = type(model).__name__
        raise OptionError(f'{name} has no head that guesses what is hidden; choose model.kind = "bert" for this task')
    if batch.follows_B is not None and not isinstance(model, RelatesTexts):
        raise OptionError('task.second = "next" needs a model that can say so; set model.relation = "next"')


def guessing_loss(model: nn.Module, states_BSD: Tensor, batch: MaskedBatch) -> VocabularyLoss:
    """Over the chosen positions alone: the head sees no others."""
    head: Any = model.head
    states_ND = head.transform(states_BSD.flatten(0, 1).index_select(0, batch.chosen_N))
    return vocabulary_loss(output_states(head.words, states_ND), output_matrix(head.words), batch.answers_N)


def relation_loss(model: Any, states_BSD: Tensor, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
    """Whether the second part follows: each text counts as often as it has words to guess, so that the mean over those
    is the mean guess plus the mean of this."""
    logits_B2 = model.relation(model.pooler(states_BSD)).float()
    asked_B = torch.bincount(batch.chosen_N // states_BSD.shape[1], minlength=len(states_BSD))
    follows_B: Any = batch.follows_B
    loss_B = functional.cross_entropy(logits_B2, follows_B, reduction="none")
    return (loss_B * asked_B).sum(), (logits_B2.argmax(dim=-1) == follows_B).sum()

"""Tagging: a head on any body says of every word which tag it has; BIO tags are grouped into entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.config import Part
from regard.core.errors import DataError, OptionError, enumerate_problems
from regard.core.seams import Answer, Progress, Sums
from regard.core.symbols import Sizes
from regard.data.batching import in_length_order, telling
from regard.data.corpus import Corpus, Pair
from regard.data.examples import Tagged, unfit
from regard.data.vocabularies import Vocabularies
from regard.decoding.options import Strategy
from regard.layers.headed import TokenHead
from regard.tasks.enclosing import READ_AT_ONCE, Enclosed, Window, logits_of, refuse_short
from regard.tasks.labels import refuse_few, refuse_unseen
from regard.tasks.metrics.entities import OUTSIDE, Span, is_bio, spans, strangers, tag_scores
from regard.tasks.tag_windows import Reader, Stretch, TagBatch
from regard.tasks.words import Speaker


class TaggingConfig(Part):
    """Which tag each word has; ``labels`` are those of the training data, frequent ones first, unless they are named.

    In training, words beyond the window are cut, and listed; answers and scores read long sentences in windows.
    """

    kind: str = "tagging"
    labels: tuple[str, ...] = ()
    scheme: Literal["auto", "plain", "bio"] = "auto"  # auto: bio where all tags are O, B-… or I-…
    piece: Speaker = "first"  # of a word, which has its tag; "last" for models that read from left to right
    longest: int = Field(256, ge=4)  # tokens that are read at once, the symbols around them among them
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def settled(self, corpus: Corpus[Tagged]) -> TaggingConfig:
        """With the labels that the data has."""
        counts = Counter(tag for one in corpus.splits.get("train", ()) for tag in getattr(one, "tags", ()))
        there = tuple(sorted(counts, key=lambda tag: (-counts[tag], tag)))
        return self.model_copy(update={"labels": self.labels or there})

    def unsettled(self) -> TaggingConfig:
        return self.model_copy(update={"labels": ()})

    def build(
        self, corpus: Corpus[Tagged], vocabularies: Vocabularies, seed: int, dropout: float = 0.0
    ) -> Tagging:
        if dropout:
            raise OptionError("tokenizer.dropout is for pairs; set it to 0")
        if any(not isinstance(one, Tagged) for own in corpus.splits.values() for one in own[:1]):
            raise DataError('tagging needs words with tags; choose data.kind = "tagged" (or world-tags)')
        return Tagging(self, corpus, vocabularies)


class TaggedWord(NamedTuple):
    """A word with its tag; it stands at ``text[start:stop]``."""

    word: str
    tag: str
    probability: float
    start: int
    stop: int


class Entity(NamedTuple):
    """Words that are one thing; the probability is the mean of theirs."""

    label: str
    text: str
    start: int
    stop: int
    probability: float


class Tagging:
    """The task over one corpus, which is encoded once."""

    additive = True

    def __init__(self, config: TaggingConfig, corpus: Corpus[Tagged], vocabularies: Vocabularies) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.places = {label: place for place, label in enumerate(config.labels)}
        if config.scheme == "bio" and strangers(config.labels):
            title = 'with task.scheme = "bio" a tag is O, or begins with B- or I-; set it to "plain", or mend'
            raise DataError(enumerate_problems(title, strangers(config.labels)))
        self.bio = config.scheme == "bio" or (config.scheme == "auto" and is_bio(config.labels))
        refuse_unseen(stated(one for own in corpus.splits.values() for one in own), self.places)
        tokenizer = vocabularies.source  # the side that is read
        window = Window(tokenizer.specials, config.longest)
        self.reader = Reader(tokenizer, window, config.piece, self.places)
        self._encoded = {
            split: self.reader.learned(own, split, corpus.ledger) if split == "train" else self.reader.heard(own)
            for split, own in corpus.splits.items()
        }

    @property
    def fallback(self) -> str:
        """The tag of a word that has no pieces: outside of everything, else the most frequent one."""
        return OUTSIDE if OUTSIDE in self.places else self.config.labels[0]

    def sizes(self) -> Sizes:
        return self.vocabularies.sizes()

    def head(self, body: Any) -> nn.Module:
        """W s + b."""
        refuse_short(body, self.config.longest)
        refuse_few(self.config.labels)
        return TokenHead(body.state_width, len(self.config.labels), self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def enclose(self, text: str) -> Enclosed:
        """A text, split at whitespace, as the model reads it."""
        return self.reader.window.enclose(self.reader.pieces([worded(text)])[0].ids.tolist())

    def enclosed(self, example: Stretch) -> Enclosed:
        return example.text

    def examples(self, split: str, epoch: int) -> Sequence[Stretch]:
        return self._encoded.get(split, [])

    def weights(self, epoch: int) -> tuple[float, ...]:
        """How often each stretch is seen: as often as its example."""
        weights = self.corpus.weights
        return tuple(weights[one.sentence] for one in self._encoded["train"]) if weights else ()

    def lengths(self, examples: Sequence[Stretch]) -> np.ndarray:
        """Words and tokens; the words are never more."""
        return np.array([(len(one.words_M), len(one.text.tokens)) for one in examples]).reshape(-1, 2)

    def weight(self, lengths_NA: np.ndarray) -> int:
        return int(lengths_NA[:, 0].sum())

    def tokens(self, lengths_NA: np.ndarray) -> int:
        return int(lengths_NA[:, 1].sum())

    def collate(self, examples: Sequence[Stretch], device: torch.device) -> TagBatch:
        return self.reader.collate(examples, device)

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: TagBatch) -> Sums:
        logits_MC = word_logits(model, batch)
        smoothing = self.config.label_smoothing if model.training else 0.0
        loss = functional.cross_entropy(logits_MC, batch.labels_M, reduction="sum", label_smoothing=smoothing)
        right = (logits_MC.argmax(dim=-1) == batch.labels_M).sum()
        count = len(batch.labels_M)
        return Sums({"loss": loss, "accuracy": right}, {"loss": count, "accuracy": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def probabilities(
        self,
        model: nn.Module,
        examples: Sequence[Tagged],
        stretches: Sequence[Stretch],
        device: torch.device,
        progress: Progress | None = None,
    ) -> list[np.ndarray]:
        """probabilities_NC of the words of every sentence, whatever the batches and windows.

        Of a word without pieces nothing is known: all tags are equally probable, the fallback by a hair the most.
        """
        model.eval()
        unknown_C = np.full(len(self.places), 1 / len(self.places))
        unknown_C[self.places[self.fallback]] = np.nextafter(1 / len(self.places), 1)
        found = [np.tile(unknown_C, (len(one.words), 1)) for one in examples]
        for indices in telling(in_length_order(self.lengths(stretches), READ_AT_ONCE), len(stretches), progress):
            own = [stretches[index] for index in indices]
            said_MC = word_logits(model, self.collate(own, device)).cpu().double().softmax(dim=-1).numpy()
            ends = np.cumsum([len(one.words_M) for one in own])
            for one, said_NC in zip(own, np.split(said_MC, ends[:-1]), strict=True):
                found[one.sentence][one.words_M] = said_NC
        return found

    def tag(
        self, model: nn.Module, texts: Sequence[str], device: torch.device, progress: Progress | None = None
    ) -> list[list[TaggedWord]]:
        """The words of each text, which is split at whitespace, with their tags."""
        places = [[found.span() for found in re.finditer(r"\S+", text)] for text in texts]
        examples = [worded(text) for text in texts]
        said = self.probabilities(model, examples, self.reader.heard(examples), device, progress)
        labels = self.config.labels
        return [
            [
                TaggedWord(word, labels[row_C.argmax()], float(row_C.max()), *span)
                for word, row_C, span in zip(one.words, rows_NC, own, strict=True)
            ]
            for one, rows_NC, own in zip(examples, said, places, strict=True)
        ]

    def entities(
        self, model: nn.Module, texts: Sequence[str], device: torch.device, progress: Progress | None = None
    ) -> list[list[Entity]]:
        """The entities of each text, in order."""
        if not self.bio:
            raise OptionError("the tags of this run are no BIO tags, and make no entities; ask for the tags of words")
        return self.groups(model, texts, device, progress)

    def groups(
        self, model: nn.Module, texts: Sequence[str], device: torch.device, progress: Progress | None = None
    ) -> list[list[Entity]]:
        """Words that stand together: entities where tags are BIO, else neighbours with the same tag."""
        find = spans if self.bio else runs_of_equals
        return [
            [
                Entity(one.label, text[own[0].start : own[-1].stop], own[0].start, own[-1].stop, mean_probability(own))
                for one in find([word.tag for word in words])
                for own in [words[one.start : one.stop]]
            ]
            for text, words in zip(texts, self.tag(model, texts, device, progress), strict=True)
        ]

    def predict(
        self,
        model: nn.Module,
        inputs: Sequence[str],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> list[list[Answer]]:
        """Each word with its tag after a slash; the score is the mean probability of the tags."""
        return [
            [
                Answer(
                    " ".join(f"{one.word}/{one.tag}" for one in words),
                    float(sum(np.log(max(one.probability, 1e-30)) for one in words)),
                    mean_probability(words),
                )
            ]
            for words in self.tag(model, inputs, device, progress)
        ]

    def score(
        self,
        model: nn.Module,
        split: str,
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Accuracy, F1 by tag and of entities, and the errors with their sentences."""
        examples = self.corpus.splits[split]
        whole = self.reader.heard(examples) if split == "train" else self._encoded[split]
        return self.judge(model, examples, whole, device, progress)

    def score_pairs(
        self,
        model: nn.Module,
        pairs: Sequence[Pair],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The same for lines of words and lines of tags that a user gives."""
        given = [
            Tagged(tuple(one.source.split()), tuple(one.target.split()), one.line, one.origin) for one in pairs
        ]
        if not given:
            raise DataError("there is nothing to score: every line is empty on one side")
        wrong = [f"{one.origin}, line {one.line}, has {unfit(one)}" for one in given if unfit(one)]
        if wrong:
            raise DataError(enumerate_problems("every word needs a tag, with spaces between them", wrong[:20]))
        refuse_unseen(stated(given), self.places)
        return self.judge(model, given, self.reader.heard(given), device, progress)

    def judge(
        self,
        model: nn.Module,
        examples: Sequence[Tagged],
        stretches: Sequence[Stretch],
        device: torch.device,
        progress: Progress | None,
    ) -> dict[str, Any]:
        said = self.probabilities(model, examples, stretches, device, progress)
        several = Counter(one.sentence for one in stretches)
        words, read = sum(len(one.words) for one in examples), sum(len(one.words_M) for one in stretches)
        return {
            **tag_scores(examples, said, self.config.labels, bio=self.bio),
            "in_windows": sum(count > 1 for count in several.values()),
            "words_without_pieces": words - read,
        }


def worded(text: str) -> Tagged:
    """The words of a text, as whitespace tells them apart, without tags."""
    return Tagged(tuple(re.findall(r"\S+", text)), ())


def word_logits(model: nn.Module, batch: TagBatch) -> Tensor:
    """logits_MC of the words that are asked about."""
    return logits_of(model, batch.text)[batch.rows_M, batch.places_M]


def runs_of_equals(tags: Sequence[str]) -> list[Span]:
    """Neighbours with the same tag."""
    found, start = [], 0
    for tag, own in groupby(tags):
        stop = start + len(list(own))
        found.append(Span(tag, start, stop))
        start = stop
    return found


def mean_probability(words: Sequence[TaggedWord]) -> float:
    return float(np.mean([one.probability for one in words])) if words else 1.0


def stated(examples: Any) -> Iterator[tuple[str, Tagged]]:
    return ((tag, one) for one in examples for tag in one.tags)

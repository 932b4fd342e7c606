"""Tagging: a head on any body predicts a tag for every word; BIO tags are grouped into entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, TaggedWord, TagsAnswer
from regard.core.batch import Examples
from regard.core.errors import DataError, OptionError, enumerate_problems
from regard.core.metrics import share
from regard.core.ports import Ports
from regard.core.probe import UNKNOWN, Probe
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.batching import in_length_order, with_progress
from regard.data.corpus import Corpus, Pair
from regard.data.examples import Tagged, unfit
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.enclosing import Window
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.wording import random_texts
from regard.layers.headed import TokenHead
from regard.tasks import TaskPart
from regard.tasks.baselines.yardsticks import tag_yardsticks
from regard.tasks.labels import check_distinct_labels, check_known_labels, check_two_labels
from regard.tasks.metrics.entities import OUTSIDE, Span, invalid_tags, is_bio, spans, tag_scores
from regard.tasks.probing import check_enclosed, check_no_target, max_probe_length, text_probe
from regard.tasks.reading import READ_AT_ONCE, check_length, logits_of
from regard.tasks.spans.tag_windows import TagBatch, TagEncoder, TagWindow
from regard.tasks.spans.words import TaggedPiece


class TaggingConfig(TaskPart):
    """Which tag each word has; ``labels`` are those of the training data, frequent ones first, unless they are named.

    In training, words beyond the window are cut, and listed; answers and scores read long sentences in windows.
    """

    headline = (share("entity_f1", "entity F1"), share("accuracy", "accuracy"), share("macro_f1", "macro F1"))
    accuracy = "accuracy"

    one_sided = True

    kind: str = "tagging"
    labels: tuple[str, ...] = ()
    scheme: Literal["auto", "plain", "bio"] = "auto"  # auto: bio where all tags are O, B-… or I-…
    piece: TaggedPiece = "first"  # of a word, which has its tag; "last" for models that read from left to right
    max_length: int = Field(256, ge=4)  # tokens that are read at once, the symbols around them among them
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _names_labels_once(self) -> Self:
        check_distinct_labels(self.labels)
        return self

    def resolved(self, corpus: Corpus[Tagged]) -> TaggingConfig:
        """With the labels that the data has."""
        training = [one for one in corpus.splits.get("train", ()) if isinstance(one, Tagged)]
        counts = Counter(tag for one in training for tag in one.tags)
        there = tuple(sorted(counts, key=lambda tag: (-counts[tag], tag)))
        return self.model_copy(update={"labels": self.labels or there})

    def unresolved(self) -> TaggingConfig:
        return self.model_copy(update={"labels": ()})

    def build(
        self, corpus: Corpus[Tagged], modalities: Modalities, seed: int
    ) -> Tagging:
        if any(not isinstance(one, Tagged) for own in corpus.splits.values() for one in own[:1]):
            raise DataError('tagging needs words with tags; choose data.kind = "tagged" (or world-tags)')
        return Tagging(self, corpus, modalities.vocabularies)


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
    static_shapes = False

    def __init__(self, config: TaggingConfig, corpus: Corpus[Tagged], vocabularies: Vocabularies) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.places = {label: place for place, label in enumerate(config.labels)}
        if config.scheme == "bio" and invalid_tags(config.labels):
            title = 'with task.scheme = "bio" a tag is O, or begins with B- or I-; set it to "plain", or correct'
            raise DataError(enumerate_problems(title, invalid_tags(config.labels)))
        self.bio = config.scheme == "bio" or (config.scheme == "auto" and is_bio(config.labels))
        check_known_labels(labels_of(one for own in corpus.splits.values() for one in own), self.places)
        tokenizer = vocabularies.source  # the side that is read
        window = Window(tokenizer.specials, config.max_length)
        self.reader = TagEncoder(tokenizer, window, config.piece, self.places)
        self._encoded = {
            split: self.reader.learned(own, split, corpus.ledger) if split == "train" else self.reader.for_answers(own)
            for split, own in corpus.splits.items()
        }

    @property
    def labels(self) -> tuple[str, ...]:
        return self.config.labels

    @property
    def fallback(self) -> str:
        """The tag of a word that has no pieces: outside of everything, else the most frequent one."""
        return OUTSIDE if OUTSIDE in self.places else self.config.labels[0]

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def head(self, body: Any) -> nn.Module:
        """W s + b."""
        check_length(body, self.config.max_length)
        check_two_labels(self.config.labels)
        return TokenHead(body.width, len(self.config.labels), self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        windows, weights = self._encoded.get(split, []), self.corpus.weights
        if split != "train" or not weights:
            return gathered(windows)
        return gathered(windows, [weights[one.sentence] for one in windows])  # as often as their sentences

    def collate(self, items: Sequence[TagWindow]) -> TagBatch:
        return self.reader.collate(items)

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        """A text, split at whitespace."""
        check_no_target(target)
        sentence = split_words(raw)
        enclosed = self.reader.window.enclose(self.reader.pieces([sentence])[0].ids.tolist())
        check_enclosed(enclosed, self.config.max_length)
        item = self.reader.for_answers([sentence])[0]
        names = tuple(sentence.words[word] for word in item.words_M)
        return replace(self.probe_examples(session, [item]), names=names)

    def probe_examples(self, session: Session, items: Sequence[TagWindow]) -> Probe:
        texts = [one.text for one in items]
        made = text_probe(texts, self.reader.tokenizer, choice=self.labels.__getitem__, unit="tag")
        asked = tuple(items[0].places_M.tolist())
        return session.move(replace(made, asked=asked, expected=(UNKNOWN,) * len(texts[0].tokens)))

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[TagWindow]:
        room, nothing = max_probe_length(session.model, self.config.max_length, length), np.zeros(0, np.int64)
        texts = random_texts(generator, self.reader.tokenizer, rows, room)
        return [TagWindow(row, text, nothing, nothing, nothing) for row, text in enumerate(texts)]

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
        self, session: Session, examples: Sequence[Tagged], windows: Sequence[TagWindow]
    ) -> list[np.ndarray]:
        """probabilities_NC of the words of every sentence, whatever the batches and windows.

        Of a word without pieces nothing is known: all tags are equally probable, the fallback by a hair the most.
        """
        model = session.model.eval()
        unknown_C = np.full(len(self.places), 1 / len(self.places))
        unknown_C[self.places[self.fallback]] = np.nextafter(1 / len(self.places), 1)
        found = [np.tile(unknown_C, (len(one.words), 1)) for one in examples]
        order = in_length_order(gathered(windows).lengths_NA, READ_AT_ONCE)
        for indices in with_progress(order, len(windows), session.progress):
            own = [windows[index] for index in indices]
            said_MC = word_logits(model, session.move(self.collate(own))).cpu().double().softmax(dim=-1).numpy()
            ends = np.cumsum([len(one.words_M) for one in own])
            for one, said_NC in zip(own, np.split(said_MC, ends[:-1]), strict=True):
                found[one.sentence][one.words_M] = said_NC
        return found

    def tag(self, session: Session, texts: Sequence[str]) -> list[TagsAnswer]:
        """The words of each text, which is split at whitespace, with their tags."""
        places = [[found.span() for found in re.finditer(r"\S+", text)] for text in texts]
        examples = [split_words(text) for text in texts]
        said = self.probabilities(session, examples, self.reader.for_answers(examples))
        labels = self.config.labels
        return [
            tags_answer(
                TaggedWord(word, labels[row_C.argmax()], float(row_C.max()), *span)
                for word, row_C, span in zip(one.words, rows_NC, own, strict=True)
            )
            for one, rows_NC, own in zip(examples, said, places, strict=True)
        ]

    def entities(self, session: Session, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text, in order."""
        if not self.bio:
            raise OptionError("the tags of this run are not BIO tags, so there are no entities; ask for words")
        return self.groups(session, texts)

    def groups(self, session: Session, texts: Sequence[str]) -> list[list[Entity]]:
        """Words that stand together: entities where tags are BIO, else neighbours with the same tag."""
        find = spans if self.bio else equal_tag_spans
        return [
            [
                Entity(one.label, text[own[0].start : own[-1].stop], own[0].start, own[-1].stop, mean_probability(own))
                for one in find([word.tag for word in found.words])
                for own in [found.words[one.start : one.stop]]
            ]
            for text, found in zip(texts, self.tag(session, texts), strict=True)
        ]

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        """Each word with its tag after a slash; the score is the mean probability of the tags."""
        return [[found] for found in self.tag(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Accuracy, F1 by tag and of entities, and the errors with their sentences."""
        examples = self.corpus.splits[split]
        whole = self.reader.for_answers(examples) if split == "train" else self._encoded[split]
        return self.judge(session, examples, whole)

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for lines of words and lines of tags that a user gives."""
        given = [
            Tagged(tuple(one.source.split()), tuple(one.target.split()), one.line, one.origin) for one in pairs
        ]
        if not given:
            raise DataError("there is nothing to score: every line is empty on one side")
        wrong = [f"{one.origin}, line {one.line}, has {unfit(one)}" for one in given if unfit(one)]
        if wrong:
            raise DataError(enumerate_problems("every word needs a tag, with spaces between them", wrong[:20]))
        check_known_labels(labels_of(given), self.places)
        return self.judge(session, given, self.reader.for_answers(given))

    def yardsticks(self, corpus: Corpus[Tagged], split: str) -> Mapping[str, Yardstick]:
        """The most frequent tag of each word."""
        training = [one for one in corpus.splits["train"] if self.places.keys() >= set(one.tags)]
        return tag_yardsticks(training, corpus.splits[split], self.places, bio=self.bio)

    def judge(self, session: Session, examples: Sequence[Tagged], windows: Sequence[TagWindow]) -> dict[str, Any]:
        said = self.probabilities(session, examples, windows)
        several = Counter(one.sentence for one in windows)
        words, read = sum(len(one.words) for one in examples), sum(len(one.words_M) for one in windows)
        return {
            **tag_scores(examples, said, self.config.labels, bio=self.bio),
            "in_windows": sum(count > 1 for count in several.values()),
            "words_without_pieces": words - read,
        }


def gathered(windows: Sequence[TagWindow], weights: Sequence[float] = ()) -> Examples:
    """By words and tokens; the words are never more."""
    lengths = [(len(one.words_M), len(one.text.tokens)) for one in windows]
    return Examples(windows, np.array(lengths, np.int64).reshape(-1, 2), weights)


def tags_answer(words: Iterable[TaggedWord]) -> TagsAnswer:
    own = tuple(words)
    total = float(sum(np.log(max(one.probability, 1e-30)) for one in own))
    return TagsAnswer(" ".join(f"{one.word}/{one.tag}" for one in own), total, mean_probability(own), own)


def split_words(text: str) -> Tagged:
    """The words of a text, as whitespace tells them apart, without tags."""
    return Tagged(tuple(re.findall(r"\S+", text)), ())


def word_logits(model: nn.Module, batch: TagBatch) -> Tensor:
    """logits_MC of the words that are asked about."""
    return logits_of(model, batch.text).flatten(0, 1)[batch.asked_M]


def equal_tag_spans(tags: Sequence[str]) -> list[Span]:
    """Neighbours with the same tag."""
    found, start = [], 0
    for tag, own in groupby(tags):
        stop = start + len(list(own))
        found.append(Span(tag, start, stop))
        start = stop
    return found


def mean_probability(words: Sequence[TaggedWord]) -> float:
    return float(np.mean([one.probability for one in words])) if words else 1.0


def labels_of(examples: Any) -> Iterator[tuple[str, Tagged]]:
    return ((tag, one) for one in examples for tag in one.tags)

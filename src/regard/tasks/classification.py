"""Classification of texts, one or two together: a head on any body says which class they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.config import Part
from regard.core.errors import DataError, OptionError
from regard.core.seams import Answer, Progress, Sums
from regard.core.symbols import Sizes
from regard.data.batching import in_length_order, telling
from regard.data.corpus import Corpus, Pair
from regard.data.examples import Labelled
from regard.data.tables import distinct
from regard.data.tokenizers import Tokenizer
from regard.data.vocabularies import Vocabularies
from regard.decoding.options import Strategy
from regard.layers.headed import Pool, Pooling, TextHead
from regard.tasks.enclosing import (
    READ_AT_ONCE,
    Enclosed,
    Keep,
    TextBatch,
    Window,
    enclose_all,
    logits_of,
    refuse_short,
    side_by_side,
    split_texts,
)
from regard.tasks.labels import refuse_few, refuse_unseen
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.classes import class_scores, paired_hits

ERRORS_LISTED = 50
Figure = Literal["softmax", "sigmoid", "none"]
FIGURES: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": partial(torch.softmax, dim=-1),
    "sigmoid": torch.sigmoid,
    "none": lambda logits_BC: logits_BC,
}
"""What is told of each class: its probability among all, by itself alone, or its logit."""


class ClassificationConfig(Part):
    """Which class a text belongs to; ``labels`` are those of the training data unless they are named."""

    kind: str = "classification"
    labels: tuple[str, ...] = ()
    longest: int = Field(256, ge=4)  # tokens, the symbols around a text among them; what is longer is cut, and listed
    keep: Keep = "start"
    pooling: Pooling = "auto"
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    balance: Literal["none", "classes"] = "none"  # classes: rare ones weigh as much as frequent ones

    def settled(self, corpus: Corpus[Labelled[str]]) -> ClassificationConfig:
        """With the labels that the data has."""
        if any(not isinstance(one, Labelled) for own in corpus.splits.values() for one in own[:1]):
            raise DataError(
                'classification needs texts with labels; choose data.kind = "labelled" (or world-moods, movie-reviews)'
            )
        there = list(distinct([one.label for one in corpus.splits.get("train", ())]))
        return self.model_copy(update={"labels": self.labels or tuple(there)})

    def unsettled(self) -> ClassificationConfig:
        return self.model_copy(update={"labels": ()})

    def build(
        self, corpus: Corpus[Labelled[str]], vocabularies: Vocabularies, seed: int, dropout: float = 0.0
    ) -> Classification:
        if dropout:
            raise OptionError("tokenizer.dropout is for pairs; set it to 0")
        return Classification(self, corpus, vocabularies)


class Classified(NamedTuple):
    """An example as numbers; ``label`` is a place among the labels."""

    text: Enclosed
    label: int


@dataclass(frozen=True, slots=True)
class ClassBatch:
    """Texts and their classes."""

    text: TextBatch
    labels_B: Tensor


class Classification:
    """The task over one corpus, which is encoded once."""

    additive = True

    def __init__(
        self, config: ClassificationConfig, corpus: Corpus[Labelled[str]], vocabularies: Vocabularies
    ) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self.places = {label: place for place, label in enumerate(config.labels)}
        refuse_unseen(((one.label, one) for own in corpus.splits.values() for one in own), self.places)
        self._encoded = {split: self.encode(own, split) for split, own in corpus.splits.items()}
        self._weights_C = self._class_weights() if config.balance == "classes" and "train" in corpus.splits else None

    @property
    def tokenizer(self) -> Tokenizer:
        return self.vocabularies.source

    @property
    def window(self) -> Window:
        return Window(self.tokenizer.specials, self.config.longest, self.config.keep)

    def sizes(self) -> Sizes:
        return self.vocabularies.sizes()

    def head(self, body: Any) -> nn.Module:
        """W pool(states) + b."""
        refuse_short(body, self.config.longest)
        refuse_few(self.config.labels)
        return TextHead(Pool(self.config.pooling, body), body.state_width, len(self.config.labels), self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def encode(self, examples: Sequence[Labelled[str]], split: str = "") -> list[Classified]:
        """What is cut is listed in the ledger, where it belongs to a split."""
        enclosed = enclose_all(self.tokenizer, self.window, [one.texts() for one in examples])
        if split:
            for one, text in zip(examples, enclosed, strict=True):
                if text.cut:
                    reason = f"longer than task.longest = {self.config.longest} tokens"
                    self.corpus.ledger.truncate(split, one.origin, one.line, reason, f"{text.cut} tokens were cut")
        return [
            Classified(text, self.places.get(one.label, -1)) for one, text in zip(examples, enclosed, strict=True)
        ]

    def enclose(self, text: str) -> Enclosed:
        """One text, or two with a tab between them, as the model reads it."""
        return enclose_all(self.tokenizer, self.window, [split_texts(text)])[0]

    def enclosed(self, example: Classified) -> Enclosed:
        return example.text

    def examples(self, split: str, epoch: int) -> Sequence[Classified]:
        return self._encoded.get(split, [])

    def weights(self, epoch: int) -> tuple[float, ...]:
        """How often each training example is seen."""
        return self.corpus.weights

    def lengths(self, examples: Sequence[Classified]) -> np.ndarray:
        return np.array([len(one.text.tokens) for one in examples]).reshape(-1, 1)

    def weight(self, lengths_NA: np.ndarray) -> int:
        return len(lengths_NA)

    def tokens(self, lengths_NA: np.ndarray) -> int:
        return int(lengths_NA.sum())

    def collate(self, examples: Sequence[Classified], device: torch.device) -> ClassBatch:
        text = side_by_side([one.text for one in examples], self.tokenizer.specials.pad, device)
        return ClassBatch(text, torch.tensor([one.label for one in examples], device=device))

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: ClassBatch) -> Sums:
        logits_BC = logits_of(model, batch.text)
        weights_C = None if self._weights_C is None else self._weights_C.to(logits_BC.device)
        smoothing = self.config.label_smoothing if model.training else 0.0
        loss = functional.cross_entropy(
            logits_BC, batch.labels_B, weights_C, reduction="sum", label_smoothing=smoothing
        )
        right = (logits_BC.argmax(dim=-1) == batch.labels_B).sum()
        count = len(batch.labels_B)
        return Sums({"loss": loss, "accuracy": right}, {"loss": count, "accuracy": count})

    def _class_weights(self) -> Tensor:
        """1 on the average over training examples, and inverse to how frequent a class is."""
        counts_C = np.bincount([one.label for one in self._encoded["train"]], minlength=len(self.places))
        weights_C = counts_C.sum() / (np.count_nonzero(counts_C) * np.maximum(counts_C, 1))
        return torch.from_numpy(weights_C).float()

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def figures(
        self,
        model: nn.Module,
        examples: Sequence[Classified],
        device: torch.device,
        progress: Progress | None = None,
        kind: Figure = "softmax",
    ) -> np.ndarray:
        """figures_NC, in the order of the examples, whatever the batches: probabilities, or what else is asked."""
        model.eval()
        found_NC = np.zeros((len(examples), len(self.places)), np.float64)
        for indices in telling(in_length_order(self.lengths(examples), READ_AT_ONCE), len(examples), progress):
            batch = self.collate([examples[index] for index in indices], device)
            found_NC[indices] = FIGURES[kind](logits_of(model, batch.text).cpu().double()).numpy()
        return found_NC

    def classify(
        self,
        model: nn.Module,
        texts: Sequence[str | tuple[str, str]],
        device: torch.device,
        progress: Progress | None = None,
        kind: Figure = "softmax",
    ) -> list[list[tuple[str, float]]]:
        """For each text, or two, all labels with their probabilities (or other figures), the largest first."""
        rows = [split_texts(text) for text in texts]
        examples = [Classified(text, 0) for text in enclose_all(self.tokenizer, self.window, rows)]
        labels = self.config.labels
        return [
            [(labels[place], float(row_C[place])) for place in np.argsort(-row_C, kind="stable")]
            for row_C in self.figures(model, examples, device, progress, kind)
        ]

    def predict(
        self,
        model: nn.Module,
        inputs: Sequence[str],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> list[list[Answer]]:
        """The labels of each text, the most probable first; their score is the probability."""
        return [
            [Answer(label, float(np.log(max(share, 1e-30))), share) for label, share in row]
            for row in self.classify(model, inputs, device, progress)
        ]

    def score(
        self,
        model: nn.Module,
        split: str,
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Accuracy, F1, calibration, by class and by group, and the errors with their texts."""
        return self.judge(model, self.corpus.splits[split], self._encoded[split], device, progress)

    def score_pairs(
        self,
        model: nn.Module,
        pairs: Sequence[Pair],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The same for texts and labels that a user gives."""
        given = [
            Labelled(text[0], pair.target, text[1] if len(text) > 1 else "", "", pair.line, pair.origin)
            for pair in pairs
            for text in [split_texts(pair.source)]
        ]
        refuse_unseen(((one.label, one) for one in given), self.places)
        return self.judge(model, given, self.encode(given), device, progress)

    def compare(self, pairs: Sequence[Any], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two runs' labels of the same texts: is the difference more than chance?"""
        gold = [pair.target for pair in pairs]
        return paired_hits(*([said == label for said, label in zip(own, gold, strict=True)] for own in (first, second)))

    def judge(
        self,
        model: nn.Module,
        examples: Sequence[Labelled[str]],
        encoded: Sequence[Classified],
        device: torch.device,
        progress: Progress | None,
    ) -> dict[str, Any]:
        probabilities_NC = self.figures(model, encoded, device, progress)
        gold_N = np.array([one.label for one in encoded])
        labels = self.config.labels
        scores = class_scores(probabilities_NC, gold_N, labels)
        found = distinct([one.group for one in examples])
        members = {group: [one.group == group for one in examples] for group in found}
        if len(members) > 1:
            scores["groups"] = {
                group: class_scores(probabilities_NC[chosen_N], gold_N[chosen_N], labels)
                for group, chosen_N in members.items()
            }
        cut = sum(one.text.cut > 0 for one in encoded)
        return {**scores, "texts_cut": cut, "errors": mistakes(examples, probabilities_NC, gold_N, labels)}


def mistakes(
    examples: Sequence[Labelled[str]], probabilities_NC: np.ndarray, gold_N: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """What was said wrongly, the surest first."""
    predicted_N, sure_N = probabilities_NC.argmax(axis=1), probabilities_NC.max(axis=1)
    wrong_N = np.flatnonzero(predicted_N != gold_N)
    return [
        {
            "text": examples[place].source,
            "label": examples[place].label,
            "predicted": labels[predicted_N[place]],
            "probability": float(sure_N[place]),
            "line": examples[place].line,
            "file": examples[place].origin,
        }
        for place in wrong_N[np.argsort(-sure_N[wrong_N], kind="stable")][:ERRORS_LISTED]
    ]

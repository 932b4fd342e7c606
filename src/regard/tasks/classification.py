"""Classification in any modality: a head on any body predicts the class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, LabelAnswer
from regard.core.batch import Examples, InputBatch
from regard.core.errors import DataError, OptionError
from regard.core.metrics import Metric, share
from regard.core.ports import Ports
from regard.core.probe import Probe
from regard.core.seams.modality import CutsWindows, ShowsPixels, Summarises
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.examples import HasLabel
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.enclosing import Keep
from regard.data.tables import distinct
from regard.layers.headed import ClassHead, Pool, Pooling
from regard.layers.losses.distillation import Softening, class_distillation_loss
from regard.tasks import TaskPart
from regard.tasks.baselines.yardsticks import (
    class_yardsticks,
    part_class_yardsticks,
    picture_class_yardstick,
    summary_class_yardsticks,
)
from regard.tasks.labels import check_distinct_labels, check_known_labels, check_two_labels
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.classes import class_scores, paired_hits
from regard.tasks.reading import check_length, logits_of
from regard.tasks.series.class_yardsticks import series_class_yardsticks
from regard.tasks.whole_inputs import Whole, WholeInputs

ERRORS_LISTED = 50
CLASS_HEADLINE = (
    share("accuracy", "accuracy"),
    share("macro_f1", "macro F1"),
    Metric("calibration_error", "calibration error", higher_is_better=False),
)
FIGURES: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": partial(torch.softmax, dim=-1),
    "sigmoid": torch.sigmoid,
    "none": lambda logits_BC: logits_BC,
}
"""What is reported for each class: its probability among all, by itself alone, or its logit."""


class ClassificationConfig(TaskPart):
    """Which class an input belongs to; ``labels`` are those of the training data unless they are named."""

    headline = CLASS_HEADLINE
    accuracy = "accuracy"
    mixes = True

    one_sided = True

    kind: str = "classification"
    labels: tuple[str, ...] = ()
    max_length: int = Field(0, ge=0)  # tokens of a text, symbols included; 0: 256 of a text, a whole picture
    keep: Keep = "start"
    pooling: Pooling = "auto"
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    balance: Literal["none", "classes"] = "none"  # classes: rare ones weigh as much as frequent ones

    @model_validator(mode="after")
    def _names_labels_once(self) -> Self:
        check_distinct_labels(self.labels)
        return self

    def resolved(self, corpus: Corpus[Any]) -> ClassificationConfig:
        """With the labels that the data has."""
        if any(not isinstance(one, HasLabel) for own in corpus.splits.values() for one in own[:1]):
            raise DataError(
                'classification needs inputs with labels; choose data.kind = "labelled" for texts (or world-moods, '
                'movie-reviews), "pictures" or "graphs"'
            )
        there = list(distinct([one.label for one in corpus.splits.get("train", ())]))
        return self.model_copy(update={"labels": self.labels or tuple(there)})

    def unresolved(self) -> ClassificationConfig:
        return self.model_copy(update={"labels": ()})

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> Classification:
        return Classification(self, corpus, modalities, seed)


class ClassTarget(NamedTuple):
    """A place among the labels; a mixture of two inputs also has the label of the second, and the first's share."""

    label: int
    second: int = -1
    share: float = 1.0


ANY_CLASS = ClassTarget(0)
"""Of inputs whose class is asked."""


def mixed_target(first: ClassTarget, second: ClassTarget, share: float) -> ClassTarget:
    return ClassTarget(first.label, second.label, share)


@dataclass(frozen=True, slots=True)
class ClassBatch(InputBatch):
    """Inputs and their classes. Mixed inputs have two classes, the first of them with the share ``shares_B``."""

    labels_B: Tensor
    seconds_B: Tensor | None = None
    shares_B: Tensor | None = None

    @property
    def loss_terms(self) -> int:
        return len(self.labels_B)


class Classification:
    """The task over one corpus; what is classified is the modality's business."""

    additive = True

    def __init__(
        self, config: ClassificationConfig, corpus: Corpus[Any], modalities: Modalities, seed: int
    ) -> None:
        self.config, self.corpus, self.modalities, self.labels = config, corpus, modalities, config.labels
        self.modality = modalities.input.limited(config.max_length, config.keep)
        self.places = {label: place for place, label in enumerate(config.labels)}
        check_known_labels(((one.label, one) for own in corpus.splits.values() for one in own), self.places)
        self.inputs = WholeInputs(corpus, self.modality, self.target, seed, mixed_target)
        self.static_shapes = self.inputs.static_shapes
        self._weights_C = self._class_weights() if config.balance == "classes" and "train" in corpus.splits else None

    def ports(self) -> Ports:
        return self.modalities.ports()

    def head(self, body: Any) -> nn.Module:
        """W pool(states) + b."""
        check_length(body, self.modality.max_length)
        check_two_labels(self.config.labels)
        pool = Pool(self.config.pooling, body)
        return ClassHead(pool, body.width * pool.states, len(self.config.labels), self.config.dropout)

    # -- examples and batches -------------------------------------------------------------------------------

    def target(self, one: HasLabel) -> ClassTarget:
        return ClassTarget(self.places[one.label])

    def examples(self, split: str, epoch: int) -> Examples:
        return self.inputs.examples(split, epoch)

    def collate(self, items: Sequence[Whole]) -> ClassBatch:
        inputs, positions = self.modality.collate([one.item for one in items]), self.inputs.positions(items)
        targets: list[ClassTarget] = [one.answer for one in items]
        labels_B = torch.tensor([one.label for one in targets])
        if all(one.share == 1.0 for one in targets):
            return ClassBatch(inputs, positions, labels_B)
        seconds_B = torch.tensor([one.second if one.second >= 0 else one.label for one in targets])
        return ClassBatch(inputs, positions, labels_B, seconds_B, torch.tensor([one.share for one in targets]))

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        return self.probe_examples(session, [self.inputs.one(raw, target)])

    def probe_examples(self, session: Session, items: Sequence[Whole]) -> Probe:
        return self.inputs.probe(
            session, items, choice=self.labels.__getitem__, unit="label",
            answers=lambda logits_TW: self.ranked(logits_TW[0].detach().double().softmax(-1).cpu().numpy()),
        )  # fmt: skip

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[Whole]:
        return [Whole(item, ANY_CLASS) for item in self.inputs.random(session, generator, rows, length)]

    # -- loss -----------------------------------------------------------------------------------------------

    def check_taught(self, teacher: Any) -> None:
        if isinstance(teacher, Classification) and teacher.config.labels != self.config.labels:
            theirs, ours = (", ".join(one.config.labels) for one in (teacher, self))
            raise OptionError(f"the teacher's labels are {theirs}, and those of this run {ours}; set task.labels alike")

    def distilled(self, model: nn.Module, teacher: nn.Module, batch: ClassBatch, softening: Softening) -> Sums:
        with torch.no_grad():
            theirs_BC = logits_of(teacher, batch.inputs)
        ours_BC = logits_of(model, batch.inputs)
        given = self.sums_of(ours_BC, batch, training=True)
        taught = class_distillation_loss(ours_BC, theirs_BC, softening.temperature)
        return Sums({**given.sums, "loss": softening.mixed(given.sums["loss"], taught)}, given.counts)

    def sums(self, model: nn.Module, batch: ClassBatch) -> Sums:
        return self.sums_of(logits_of(model, batch.inputs), batch, training=model.training)

    def sums_of(self, logits_BC: Tensor, batch: ClassBatch, *, training: bool) -> Sums:
        weights_C = None if self._weights_C is None else self._weights_C.to(logits_BC.device)
        smoothing = self.config.label_smoothing if training else 0.0
        loss_of = partial(functional.cross_entropy, logits_BC, weight=weights_C, label_smoothing=smoothing)
        best_B, count = logits_BC.argmax(dim=-1), len(batch.labels_B)
        if batch.seconds_B is None or batch.shares_B is None:
            loss = loss_of(batch.labels_B, reduction="sum")
            right = (best_B == batch.labels_B).sum()
        else:  # of a mixture −Σ p log q: what either label costs, by its share
            both = (batch.seconds_B, batch.labels_B)
            second_B, first_B = (loss_of(own_B, reduction="none") for own_B in both)
            loss = torch.lerp(second_B, first_B, batch.shares_B).sum()
            second_B, first_B = ((best_B == own_B).float() for own_B in both)
            right = torch.lerp(second_B, first_B, batch.shares_B).sum()
        return Sums({"loss": loss, "accuracy": right}, {"loss": count, "accuracy": count})

    def _class_weights(self) -> Tensor:
        """1 on the average over training examples, and inverse to how frequent a class is."""
        labels = [self.places[one.label] for one in self.corpus.splits["train"]]
        counts_C = np.bincount(labels, minlength=len(self.places))
        weights_C = counts_C.sum() / (np.count_nonzero(counts_C) * np.maximum(counts_C, 1))
        return torch.from_numpy(weights_C).float()

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def figures(self, session: Session, examples: Examples, figure: str = "softmax") -> np.ndarray:
        """figures_NC, in the order of the examples, whatever the batches: probabilities, or what else is asked."""
        found_NC = np.zeros((len(examples), len(self.places)), np.float64)
        for indices, logits_BC in self.inputs.outputs(session, examples, self.collate):
            found_NC[indices] = FIGURES[figure](logits_BC).numpy()
        return found_NC

    def classify(
        self, session: Session, inputs: Sequence[Any], figure: str = "softmax"
    ) -> list[list[LabelAnswer]]:
        """For each raw input all labels with their probabilities (or other figures), the largest first."""
        items = [Whole(item, ANY_CLASS) for item in self.modality.encode(inputs)]
        return [self.ranked(row_C) for row_C in self.figures(session, self.inputs.gathered(items), figure)]

    def ranked(self, figures_C: np.ndarray) -> list[LabelAnswer]:
        return ranked_labels(self.labels, figures_C)

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        """The labels of each input, the most probable first; their score is the probability."""
        return [[*own] for own in self.classify(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Accuracy, F1, calibration, by class and by group, and the errors with their texts."""
        return self.judge(session, self.corpus.splits[split], self.inputs.encoded[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for texts and labels that a user gives."""
        given = [
            LabelledInput(self.modality.parse(pair.source), pair.target, pair.source, pair.line, pair.origin)
            for pair in pairs
        ]
        check_known_labels(((one.label, one) for one in given), self.places)
        return self.judge(session, given, self.inputs.gathered(self.inputs.encode(given)))

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """The most frequent class, and a classifier of words, pixels, summaries or series that is fitted in seconds."""
        training = [one for one in corpus.splits["train"] if one.label in self.places]
        given = training, corpus.splits[split], self.places
        if isinstance(self.modality, Summarises):
            return {**class_yardsticks(*given), **summary_class_yardsticks(self.modality, *given)}
        if isinstance(self.modality, CutsWindows):
            return {**class_yardsticks(*given), **series_class_yardsticks(self.modality, *given)}
        pixels = picture_class_yardstick(self.modality, *given) if isinstance(self.modality, ShowsPixels) else {}
        return {**class_yardsticks(*given), **pixels, **part_class_yardsticks(self.modality, *given)}

    def compare(self, pairs: Sequence[Any], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two runs' labels of the same texts: is the difference more than chance?"""
        gold = [pair.target for pair in pairs]
        return paired_hits(*([said == label for said, label in zip(own, gold, strict=True)] for own in (first, second)))

    def judge(
        self, session: Session, examples: Sequence[HasLabel], encoded: Examples
    ) -> dict[str, Any]:
        probabilities_NC = self.figures(session, encoded)
        gold_N = np.array([self.places[one.label] for one in examples])
        labels = self.config.labels
        scores = class_scores(probabilities_NC, gold_N, labels)
        found = distinct([one.group for one in examples])
        members = {group: [one.group == group for one in examples] for group in found}
        if len(members) > 1:
            scores["groups"] = {
                group: class_scores(probabilities_NC[chosen_N], gold_N[chosen_N], labels)
                for group, chosen_N in members.items()
            }
        if not self.modality.lazy:
            scores["texts_cut"] = sum(self.modality.cut(one.item) > 0 for one in encoded)
        return {**scores, "errors": mistakes(examples, probabilities_NC, gold_N, labels)}


class LabelledInput(NamedTuple):
    """An input and the label that a user gives it."""

    input: Any
    label: str
    source: str
    line: int
    origin: str
    group: str = ""


def ranked_labels(labels: Sequence[str], figures_C: np.ndarray) -> list[LabelAnswer]:
    """All labels, that of the largest figure first."""
    order = np.argsort(-figures_C, kind="stable")
    return [label_answer(labels[place], float(figures_C[place])) for place in order]


def label_answer(label: str, share: float) -> LabelAnswer:
    return LabelAnswer(label, math.log(max(share, 1e-30)), share)


def mistakes(
    examples: Sequence[HasLabel], probabilities_NC: np.ndarray, gold_N: np.ndarray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """What was said wrongly, the most confident first."""
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

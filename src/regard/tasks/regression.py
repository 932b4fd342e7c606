"""Regression in any modality: a head on any body predicts one number or a few."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, NumberAnswer
from regard.core.batch import Examples, InputBatch
from regard.core.errors import DataError, enumerate_problems
from regard.core.metrics import Metric
from regard.core.ports import Ports
from regard.core.probe import Probe
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.examples import HasLabel
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.enclosing import Keep
from regard.layers.headed import NumberHead, Pool, Pooling
from regard.tasks import TaskPart
from regard.tasks.baselines.number_yardsticks import number_yardsticks
from regard.tasks.classification import LabelledInput
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.numbers import number_scores, paired_errors
from regard.tasks.reading import check_length, logits_of
from regard.tasks.whole_inputs import Whole, WholeInputs

LISTED = 20
ERRORS_LISTED = 50
BETWEEN = re.compile(r"[\s,;]+")
LOSSES: dict[str, Callable[..., Tensor]] = {
    "squared": functional.mse_loss,
    "absolute": functional.l1_loss,
    "huber": functional.smooth_l1_loss,
}


class RegressionConfig(TaskPart):
    """Which number is said of an input; several stand in its label with spaces or commas between them.

    Numbers are learned with mean 0 and spread 1: those of the training data unless they are given.
    """

    headline = (
        Metric("mean_absolute_error", "mean absolute error", digits=4, higher_is_better=False),
        Metric("root_mean_squared_error", "root mean squared error", digits=4, higher_is_better=False),
        Metric("r_squared", "R²"),
    )

    one_sided = True

    kind: str = "regression"
    names: tuple[str, ...] = ()  # of the numbers, where there are several
    mean: tuple[float, ...] = ()  # of each number; (): that of the training data
    std: tuple[float, ...] = ()
    loss: Literal["squared", "absolute", "huber"] = "squared"  # huber: squared if small, else absolute
    max_length: int = Field(0, ge=0)  # tokens of a text, symbols included; 0: 256 of a text, another input whole
    keep: Keep = "start"
    pooling: Pooling = "auto"
    dropout: float = Field(0.1, ge=0, lt=1)  # before the last matrix

    def resolved(self, corpus: Corpus[Any]) -> RegressionConfig:
        """With the mean and spread that the data has."""
        if any(not isinstance(one, HasLabel) for own in corpus.splits.values() for one in own[:1]):
            raise DataError(
                'regression needs inputs with a number as their label; choose data.kind = "labelled" for texts, '
                '"pictures" or "graphs"'
            )
        training = corpus.splits.get("train", ())
        if not training:
            return self
        numbers_NC = numbers_of(training, len(self.names))
        mean_C, spread_C = numbers_NC.mean(axis=0), numbers_NC.std(axis=0)
        spread_C = np.where(spread_C > 0, spread_C, 1.0)
        return self.model_copy(update={
            "mean": self.mean or tuple(mean_C.tolist()), "std": self.std or tuple(spread_C.tolist())
        })  # fmt: skip

    def unresolved(self) -> RegressionConfig:
        return self.model_copy(update={"mean": (), "std": ()})

    def build(self, corpus: Corpus[Any], modalities: Modalities, seed: int) -> Regression:
        return Regression(self, corpus, modalities, seed)


@dataclass(frozen=True, slots=True)
class NumberBatch(InputBatch):
    """Inputs and their numbers, with mean 0 and spread 1."""

    numbers_BC: Tensor

    @property
    def loss_terms(self) -> int:
        return len(self.numbers_BC)


class Regression:
    """The task over one corpus; what the numbers are said of is the modality's business."""

    additive = True

    def __init__(self, config: RegressionConfig, corpus: Corpus[Any], modalities: Modalities, seed: int) -> None:
        self.config, self.corpus, self.modalities = config, corpus, modalities
        modality = modalities.input.limited(config.max_length, config.keep)
        self.mean_C, self.spread_C = np.array(config.mean), np.array(config.std)
        check_widths(config)
        for own in corpus.splits.values():
            numbers_of(own, len(config.mean))
        self.inputs = WholeInputs(corpus, modality, self.scaled, seed)
        self.static_shapes = self.inputs.static_shapes

    def ports(self) -> Ports:
        return self.modalities.ports()

    def head(self, body: Any) -> nn.Module:
        """W pool(states) + b."""
        check_length(body, self.inputs.modality.max_length)
        return NumberHead(Pool(self.config.pooling, body), body.width, len(self.config.mean), self.config.dropout)

    def scaled(self, one: HasLabel) -> np.ndarray:
        return (np.array(numbers_in(one.label)) - self.mean_C) / self.spread_C

    # -- examples and batches -------------------------------------------------------------------------------

    def examples(self, split: str, epoch: int) -> Examples:
        return self.inputs.examples(split, epoch)

    def collate(self, items: Sequence[Whole]) -> NumberBatch:
        inputs = self.inputs.modality.collate([one.item for one in items])
        numbers_BC = np.stack([one.answer for one in items])
        return NumberBatch(inputs, self.inputs.positions(items), torch.from_numpy(numbers_BC).float())

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: Any, target: str = "") -> Probe:
        return self.probe_examples(session, [self.inputs.one(raw, target)])

    def probe_examples(self, session: Session, items: Sequence[Whole]) -> Probe:
        return self.inputs.probe(
            session, items, choice=self.name, unit="number",
            answers=lambda said_TC: [self.unscaled(said_TC[0].detach().double().cpu().numpy())],
        )  # fmt: skip

    def name(self, place: int) -> str:
        return self.config.names[place] if self.config.names else f"number {place + 1}"

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[Whole]:
        nothing = np.zeros(len(self.mean_C))
        return [Whole(item, nothing) for item in self.inputs.random(session, generator, rows, length)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: NumberBatch) -> Sums:
        """The loss is the mean over the numbers of an input, in units of their spread; the error in their own."""
        said_BC = logits_of(model, batch.inputs)
        loss = LOSSES[self.config.loss](said_BC, batch.numbers_BC, reduction="none").mean(dim=1).sum()
        spread_C = torch.tensor(self.config.std, device=said_BC.device)
        error = ((said_BC - batch.numbers_BC).abs() * spread_C).mean(dim=1).sum()
        count = len(batch.numbers_BC)
        return Sums({"loss": loss, "mean_absolute_error": error}, {"loss": count, "mean_absolute_error": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    @torch.inference_mode()
    def numbers(self, session: Session, examples: Examples) -> np.ndarray:
        """numbers_NC in their own units, in the order of the examples."""
        found_NC = np.zeros((len(examples), len(self.mean_C)))
        for indices, said_BC in self.inputs.outputs(session, examples, self.collate):
            found_NC[indices] = said_BC.numpy() * self.spread_C + self.mean_C
        return found_NC

    def estimate(self, session: Session, inputs: Sequence[Any]) -> list[NumberAnswer]:
        nothing = np.zeros(len(self.mean_C))
        items = [Whole(item, nothing) for item in self.inputs.modality.encode(inputs)]
        return [number_answer(row_C) for row_C in self.numbers(session, self.inputs.gathered(items))]

    def unscaled(self, said_C: np.ndarray) -> NumberAnswer:
        return number_answer(said_C * self.spread_C + self.mean_C)

    def predict(self, session: Session, inputs: Sequence[Any]) -> list[list[Answer]]:
        return [[one] for one in self.estimate(session, inputs)]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """Errors, explained variance and correlation, and the largest errors with their inputs."""
        return self.judge(session, self.corpus.splits[split], self.inputs.encoded[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for inputs and numbers that a user gives."""
        parse = self.inputs.modality.parse
        given = [LabelledInput(parse(one.source), one.target, one.source, one.line, one.origin) for one in pairs]
        numbers_of(given, len(self.mean_C))
        return self.judge(session, given, self.inputs.split(given))

    def yardsticks(self, corpus: Corpus[Any], split: str) -> Mapping[str, Yardstick]:
        """Always the same number, and ridge regression on what the modality can count or show."""
        training, scored = corpus.splits["train"], corpus.splits[split]
        gold = [numbers_of(own, len(self.mean_C)) for own in (training, scored)]
        return number_yardsticks(self.inputs.modality, training, scored, *gold)

    def compare(self, pairs: Sequence[Any], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two runs' numbers for the same inputs: do their errors differ by more than chance?"""
        gold_NC = numbers_of(pairs, len(self.mean_C))
        said = [np.array([numbers_in(text) for text in own]) for own in (first, second)]
        return paired_errors(*(np.abs(own_NC - gold_NC).mean(axis=1).tolist() for own_NC in said))

    def judge(self, session: Session, examples: Sequence[Any], encoded: Examples) -> dict[str, Any]:
        gold_NC = numbers_of(examples, len(self.mean_C))
        said_NC = self.numbers(session, encoded)
        scores: dict[str, Any] = {"leading": ["mean_absolute_error"], **number_scores(said_NC, gold_NC)}
        scores["loss"] = float(np.square((said_NC - gold_NC) / self.spread_C).mean())
        scores["examples"] = len(examples)
        if gold_NC.shape[1] > 1:
            scores["numbers"] = {
                self.name(place): number_scores(said_NC[:, [place]], gold_NC[:, [place]])
                for place in range(gold_NC.shape[1])
            }
        return {**scores, "largest_errors": largest_errors(examples, said_NC, gold_NC)}


class Placed(NamedTuple):
    """A number that is not one, and where it stands."""

    text: str
    line: int
    origin: str


def numbers_in(text: str) -> list[float]:
    """The numbers of a label, with spaces or commas between them; none where something else is among them."""
    parts = BETWEEN.split(text.strip().strip("[]").strip())
    try:
        found = [float(part) for part in parts]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def numbers_of(examples: Sequence[Any], count: int = 0) -> np.ndarray:
    """numbers_NC of examples with labels, or with targets; all that are none, or not so many, are named."""
    texts = [one.target if isinstance(one, Pair) else one.label for one in examples]
    rows = [numbers_in(text) for text in texts]
    count = count or next((len(row) for row in rows if row), 1)
    wrong = [Placed(text, one.line, one.origin) for text, row, one in zip(texts, rows, examples) if len(row) != count]
    if wrong:
        asked = "a number" if count == 1 else f"{count} numbers"
        problems = [f"{one.text[:40]!r} ({one.origin}, line {one.line})" for one in wrong[:LISTED]]
        title = f"regression needs {asked} as the label of every input, and {len(wrong):,} have something else"
        raise DataError(enumerate_problems(title, problems))
    return np.array(rows, np.float64).reshape(len(rows), count)


def check_widths(config: RegressionConfig) -> None:
    if len(config.mean) != len(config.std) or (config.names and len(config.names) != len(config.mean)):
        raise DataError(
            f"task.mean has {len(config.mean)} numbers, task.std {len(config.std)}"
            + (f" and task.names {len(config.names)}" if config.names else "")
            + "; give one for each number that is said of an input"
        )


def number_answer(numbers_C: np.ndarray) -> NumberAnswer:
    values = tuple(map(float, numbers_C))
    return NumberAnswer(" ".join(f"{value:.6g}" for value in values), 0.0, values[0], values)


def largest_errors(examples: Sequence[Any], said_NC: np.ndarray, gold_NC: np.ndarray) -> list[dict[str, Any]]:
    errors_N = np.abs(said_NC - gold_NC).mean(axis=1)
    return [
        {
            "text": examples[place].source, "numbers": gold_NC[place].tolist(), "predicted": said_NC[place].tolist(),
            "line": examples[place].line, "file": examples[place].origin,
        }
        for place in np.argsort(-errors_N, kind="stable")[:ERRORS_LISTED]
    ]  # fmt: skip

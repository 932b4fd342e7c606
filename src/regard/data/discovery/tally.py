"""Counts the examples of every split while they are read, and makes the discovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.data.discovery.found import Discovery, Facts, TextFacts, numbered, percent
from regard.data.discovery.given import TRAIN, SplitFiles, split_table
from regard.data.discovery.measuring import Counted, EvenSample, Repeats, text_facts
from regard.data.discovery.sizes import set_aside

LABELS_SHOWN = 10
MAJORITY = 0.9
MANY = 0.01  # of a split's examples, to be warned of
Measure = Callable[[str, "Tally", Counted], Facts]


class Seen(NamedTuple):
    """One example as it goes by: what is given, what is to be answered, and the labels or tags in that."""

    given: str
    answer: str = ""
    labels: tuple[str, ...] = ()
    key: str = ""  # by which it is known again, where that is not what is given


class Tally:
    """The examples of one split."""

    def __init__(self) -> None:
        self.examples = 0
        self.skipped: Counter[str] = Counter()
        self.repeats = Repeats()
        self.labels: Counter[str] = Counter()
        self.given: EvenSample[str] = EvenSample()
        self.answers: EvenSample[str] = EvenSample()

    def add(self, seen: Seen) -> None:
        self.examples += 1
        self.repeats.add(seen.key or seen.given, seen.answer)
        self.labels.update(seen.labels)
        self.given.add(seen.given, len(seen.given))
        self.answers.add(seen.answer, len(seen.answer))


def given_text(name: str, tally: Tally, counted: Counted) -> TextFacts:
    return text_facts(name, tally.given.things(), tally.examples, distinct=counted.inputs)


def answer_text(name: str, tally: Tally, counted: Counted) -> TextFacts:
    return text_facts(name, tally.answers.things(), tally.examples, distinct=counted.answers)


@dataclass
class Findings:
    """All that becomes a discovery. ``data`` are the keys of [data] beside those of the splits."""

    task: str
    data: dict[str, Any]
    files: SplitFiles
    entries: Mapping[str, Sequence[Any]]  # of every split, as a recipe writes them
    tallies: Mapping[str, Tally]
    given: str  # what inputs are called
    answer: str = ""  # what answers are called, where they are texts
    example: str = "row"
    measure: Measure = given_text
    observations: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def discovery(self) -> Discovery:
        train = self.tallies[TRAIN]
        if not train.examples:
            why = "; ".join(f"{numbered(count, self.example)}: {reason}" for reason, count in train.skipped.items())
            raise DataError(f"there is nothing to train on in {self.entries[TRAIN][0]} ({why or 'it is empty'})")
        counted = train.repeats.counted()
        labels = dict(train.labels.most_common())
        inputs = self.measure(self.given, train, counted)
        outputs = answer_text(self.answer, train, counted) if self.answer else None
        aside = set_aside({split: tally.examples for split, tally in self.tallies.items()}, counted.inputs)
        self._tell_labels(labels, train)
        self._tell_numbers(train)
        self.observations += [*inputs.sentences(), *(outputs.sentences() if outputs else ())]
        self._tell_repeats(counted, bool(labels))
        self._tell_skipped()
        return Discovery(
            self.task,
            {**self.data, **split_table(self.entries), **aside.table},
            (*self.observations, *self.files.ignored_files()),
            (*self.reasons, *self.files.reasons, *aside.reasons),
            inputs, outputs, labels, aside.examples, counted.duplicates,
            sum(sum(tally.skipped.values()) for tally in self.tallies.values()),
            (*self.warnings, *aside.warnings),
        )  # fmt: skip

    def _tell_labels(self, labels: Mapping[str, int], train: Tally) -> None:
        if not labels:
            return
        total, [(most, count), *_] = sum(labels.values()), [*labels.items()]
        if len(labels) == 1:
            raise DataError(f"there is nothing to classify: the only label in the {self.example}s is {most!r}")
        shown = ", ".join(f"{label} {number:,}" for label, number in [*labels.items()][:LABELS_SHOWN])
        more = f" and {len(labels) - LABELS_SHOWN:,} more" if len(labels) > LABELS_SHOWN else ""
        self.observations.append(f"{len(labels):,} labels: {shown}{more}")
        single = [label for label, number in labels.items() if number == 1]
        if single:
            names = ", ".join(single[:LABELS_SHOWN]) + (" …" if len(single) > LABELS_SHOWN else "")
            self.warnings.append(
                f"{numbered(len(single), 'label has', 'labels have')} one example only, from which little can be "
                f"learned: {names}"
            )
        if count >= MAJORITY * total:
            self.warnings.append(
                f"{percent(count / total)} are {most}: always predicting it is right that often, so look at the "
                "figures of each label"
            )
        for split, tally in self.tallies.items():
            unknown = [label for label in tally.labels if label not in labels]
            if unknown:
                self.warnings.append(
                    f"labels in {split} that no training {self.example} has: {', '.join(unknown[:LABELS_SHOWN])}; "
                    "correct them, or training will stop at them"
                )

    def _tell_numbers(self, train: Tally) -> None:
        """How numbers that are to be estimated are distributed."""
        if self.task != "regression":
            return
        firsts = [float(answer.split()[0].rstrip(",;")) for answer in train.answers.things()]
        low, middle, high = np.percentile(firsts, (5, 50, 95))
        self.observations.append(f"numbers: median {middle:.4g}, 90 % are between {low:.4g} and {high:.4g}")
        if min(firsts) == max(firsts):
            raise DataError(f"there is nothing to estimate: the number of every {self.example} is {firsts[0]:g}")

    def _tell_repeats(self, counted: Counted, labelled: bool) -> None:
        if counted.duplicates:
            are = "is" if counted.duplicates == 1 else "are"
            self.observations.append(f"{numbered(counted.duplicates, self.example)} {are} there more than once")
        if counted.conflicts and labelled:
            self.warnings.append(
                f"{numbered(counted.conflicts, 'input has', 'inputs have')} different labels in different "
                f"{self.example}s"
            )
        elif counted.conflicts and self.answer:
            sources = numbered(counted.conflicts, "source has", "sources have")
            self.observations.append(f"{sources} more than one target")
        learned = np.asarray(self.tallies[TRAIN].repeats.inputs)
        for split, tally in self.tallies.items():
            if split == TRAIN:
                continue
            held = np.asarray(tally.repeats.inputs)
            both = int(np.isin(held, learned).sum())
            told = f"{both:,} of {numbered(tally.examples, self.example)} for {split} are for training too"
            if both >= MANY * max(1, tally.examples):
                remedy = 'data.overlap = "remove" takes them out of training'
                self.warnings.append(f"{told}, so scores on them would be too high; {remedy}")
            elif both:
                self.observations.append(told)

    def _tell_skipped(self) -> None:
        for split, tally in self.tallies.items():
            for reason, count in tally.skipped.items():
                of = "" if split == TRAIN else f" for {split}"
                self.observations.append(f"{numbered(count, self.example)}{of} will be skipped: {reason}")



"""Measures texts: lengths, alphabets, scripts and words, and which examples are duplicates."""

from __future__ import annotations

import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from regard.data.discovery.found import LengthSummary, TextFacts

SAMPLE = 50_000
AT_ONCE = 1000
LINE = "line"
LARGEST_SAMPLE = 10_000_000  # characters
SHOWN = 5
GOLDEN = (5**0.5 - 1) / 2
SCRIPTS = {"CJK": "Han", "HIRAGANA": "Hiragana", "KATAKANA": "Katakana"}
Thing = TypeVar("Thing")


class Kept(NamedTuple, Generic[Thing]):
    """A thing of a sample, where it stands on the way from 0 to 1, and how much room it takes."""

    thing: Thing
    place: float
    weight: int


class EvenSample(Generic[Thing]):
    """Of any number of things at most ``size``, or fewer where they are large, from everywhere; the same each time.

    A thing is kept where the fraction of its number times the golden ratio is small: evenly, but in no rhythm that data
    may have too, as every second line would be.
    """

    def __init__(self, size: int = SAMPLE, room: int = LARGEST_SAMPLE) -> None:
        self.size, self.room = size, room
        self.share, self.seen, self.held = 1.0, 0, 0
        self.kept: list[Kept[Thing]] = []

    def add(self, one: Thing, weight: int = 0) -> None:
        place = self.seen * GOLDEN % 1
        self.seen += 1
        if place >= self.share:
            return
        self.kept.append(Kept(one, place, weight))
        self.held += weight
        while len(self.kept) > 1 and (len(self.kept) > self.size or self.held > self.room):
            self.share /= 2
            self.kept = [kept for kept in self.kept if kept.place < self.share]
            self.held = sum(kept.weight for kept in self.kept)

    def things(self) -> list[Thing]:
        return [kept.thing for kept in self.kept]


class Counted(NamedTuple):
    """How examples repeat one another."""

    inputs: int  # different ones
    answers: int
    duplicates: int  # examples that are there earlier, answer included
    conflicts: int  # inputs that have more than one answer


class Repeats:
    """Inputs and their answers, as hashes: eight bytes for each side of an example."""

    def __init__(self) -> None:
        self.inputs, self.answers = array("q"), array("q")

    def add(self, given: Hashable, answer: Hashable) -> None:
        self.inputs.append(hash(given))
        self.answers.append(hash(answer))

    def counted(self) -> Counted:
        inputs, answers = np.asarray(self.inputs), np.asarray(self.answers)
        order = np.lexsort((answers, inputs))
        again = (np.diff(inputs[order]) == 0) & (np.diff(answers[order]) == 0)
        first = np.concatenate([np.ones(min(1, len(order)), bool), ~again])
        times = np.unique(inputs[order][first], return_counts=True)[1]
        return Counted(len(times), len(np.unique(answers)), int(again.sum()), int((times > 1).sum()))


def text_facts(
    name: str, texts: Sequence[str], examples: int = 0, *, distinct: int = 0, characters: int = 0, unit: str = "text"
) -> TextFacts:
    """The facts of a side with so many ``examples``, measured in some or all of its texts. ``distinct`` and
    ``characters`` are those of all, where they are known."""
    examples = examples or len(texts)
    words: Counter[str] = Counter()
    lengths: list[int] = []
    for text in texts:
        cut = text.split()
        lengths.append(len(cut))
        words.update(cut)
    signs = characters_of(texts, ends=unit == LINE)
    counted = sum(words.values())
    measured = sum(map(len, texts))
    return TextFacts(
        name, examples, len(texts), LengthSummary.of(lengths), LengthSummary.of([len(text) for text in texts]),
        distinct=distinct or len(set(texts)),
        alphabet=len(signs),
        characters_total=characters or round(measured * examples / max(1, len(texts))),
        scripts=scripts_of(signs),
        spaced=2 * sum(length > 1 for length in lengths) > len(texts),
        word_length=sum(len(word) * count for word, count in words.items()) / max(1, counted),
        words_measured=counted,
        distinct_words=len(words),
        samples=tuple(texts[:: max(1, len(texts) // SHOWN)][:SHOWN]),
        unit=unit,
    )  # fmt: skip


def characters_of(texts: Sequence[str], *, ends: bool) -> dict[str, int]:
    """How often each character is there, the ends of lines too where there are such."""
    counts = np.zeros(sys.maxunicode + 1, np.int64)
    for start in range(0, len(texts), AT_ONCE):
        joined = ("\n" if ends else "").join(texts[start : start + AT_ONCE])
        found = np.bincount(np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32))
        counts[: len(found)] += found
    return {chr(code): int(counts[code]) for code in np.flatnonzero(counts)}


def scripts_of(signs: Mapping[str, int]) -> dict[str, float]:
    """The shares of the scripts in all letters, the largest first."""
    found: Counter[str] = Counter()
    for sign, count in signs.items():
        if sign.isalpha():
            found[script_of(sign)] += count
    total = sum(found.values())
    return {script: count / total for script, count in found.most_common()}


def script_of(letter: str) -> str:
    """The first word of its name in Unicode, which is its script's for nearly all letters in their plain form."""
    plain = unicodedata.normalize("NFKD", letter)[0]
    first = unicodedata.name(plain, "UNKNOWN").split()[0].partition("-")[0]
    return SCRIPTS.get(first, first.capitalize())

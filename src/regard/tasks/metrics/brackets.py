"""Bracket scores of constituency trees, counted as evalb counts, with a bootstrap interval and a paired test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.errors import DataError, enumerate_problems
from regard.data.trees import Tree
from regard.tasks.metrics.bleu import FEWEST_SAMPLES, Comparison
from regard.tasks.metrics.resampling import compared, draws, middle

Bracket = tuple[str, int, int]  # label, first word, one past the last


@dataclass(frozen=True, slots=True)
class BracketScore:
    """Over all sentences together, each figure from 0 to 1, the interval of 95 %."""

    f1: float
    low: float
    high: float
    precision: float
    recall: float
    unlabelled_f1: float
    tag_accuracy: float

    def figures(self) -> dict[str, float]:
        return {
            "bracket_f1": self.f1,
            "bracket_f1_low": self.low,
            "bracket_f1_high": self.high,
            "bracket_precision": self.precision,
            "bracket_recall": self.recall,
            "unlabelled_f1": self.unlabelled_f1,
            "tag_accuracy": self.tag_accuracy,
        }


def brackets(tree: Tree) -> Counter[Bracket]:
    """Every phrase with its label and place, as often as it stands there; tags of words are none."""
    found: Counter[Bracket] = Counter()
    opened: list[tuple[str, int]] = []
    place = 0
    for here in tree.walk():
        if here is None:
            label, start = opened.pop()
            found[label, start, place] += 1
        elif isinstance(here, Tree) and not here.is_tag:
            opened.append((here.label, place))
        else:
            place += 1
    return found


def bracket_scores(
    predicted: Sequence[Tree], references: Sequence[Tree], *, samples: int = 1000, seed: int = 12345
) -> BracketScore:
    """Labelled precision, recall and F1 (Black et al. 1991), as evalb has them when its parameter file leaves nothing
    out: matches, predicted and reference brackets are summed over the sentences first, so long ones weigh more.
    """
    counts_N3 = _counts(predicted, references)
    matched, given, wanted = (int(total) for total in counts_N3.sum(0))
    low, high = middle(_resampled(counts_N3, samples, seed))
    return BracketScore(
        f1=_f1(matched, given, wanted),
        low=low,
        high=high,
        precision=matched / given if given else float(not wanted),
        recall=matched / wanted if wanted else float(not given),
        unlabelled_f1=_f1(*_counts(predicted, references, labelled=False).sum(0)),
        tag_accuracy=_tag_accuracy(predicted, references),
    )


def paired_brackets(
    first: Sequence[Tree],
    second: Sequence[Tree],
    references: Sequence[Tree],
    *,
    samples: int = 1000,
    seed: int = 12345,
) -> Comparison:
    """Whether two parsers differ by more than chance, in F1 of 100."""
    both = [_counts(trees, references) for trees in (first, second)]
    score_a, score_b = (100 * _f1(*counts_N3.sum(0)) for counts_N3 in both)
    resampled_a, resampled_b = (100 * _resampled(counts_N3, samples, seed) for counts_N3 in both)
    signature = f"evalb|labelled|bs:{samples}|seed:{seed}"
    return compared("bracket F1", score_a, score_b, resampled_b - resampled_a, signature)


def _counts(predicted: Sequence[Tree], references: Sequence[Tree], *, labelled: bool = True) -> np.ndarray:
    """counts_N3: for every sentence the brackets that match, those predicted, those of the reference."""
    _check(predicted, references)
    rows = []
    for trees in zip(predicted, references):
        found, wanted = (brackets(tree) for tree in trees)
        if not labelled:
            found, wanted = (_unlabelled(one) for one in (found, wanted))
        rows.append(((found & wanted).total(), found.total(), wanted.total()))
    return np.array(rows, np.int64)


def _unlabelled(found: Counter[Bracket]) -> Counter[Bracket]:
    bare: Counter[Bracket] = Counter()
    for (_, start, stop), count in found.items():
        bare["", start, stop] += count
    return bare


def _f1(matched: float, given: float, wanted: float) -> float:
    """The harmonic mean of precision and recall; where there is no bracket at all, nothing is wrong."""
    return float(2 * matched / (given + wanted)) if given + wanted else 1.0


def _resampled(counts_N3: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """F1 over as many sentences, drawn with replacement, again and again; the same draws for the same seed."""
    assert samples >= FEWEST_SAMPLES
    number = len(counts_N3)
    times = (np.bincount(chosen_N, minlength=number) for chosen_N in draws(number, samples, seed))
    return np.array([_f1(*(times_N @ counts_N3)) for times_N in times])


def _tag_accuracy(predicted: Sequence[Tree], references: Sequence[Tree]) -> float:
    same = [found == wanted for trees in zip(predicted, references) for found, wanted in zip(*map(_tags, trees))]
    return sum(same) / len(same)


def _tags(tree: Tree) -> list[str]:
    """The tag of every word; a word without one has the empty tag."""
    leaves = (here for here in tree.walk() if isinstance(here, str) or (here is not None and here.is_tag))
    return [leaf.label if isinstance(leaf, Tree) else "" for leaf in leaves]


def _check(predicted: Sequence[Tree], references: Sequence[Tree]) -> None:
    if len(predicted) != len(references) or not references:
        raise DataError(
            f"{len(predicted)} trees against {len(references)} references: one tree for each reference is needed, "
            "and at least one"
        )
    others = [
        f"sentence {number}: {len(found.words())} words against {len(wanted.words())}"
        for number, (found, wanted) in enumerate(zip(predicted, references), start=1)
        if found.words() != wanted.words()
    ]
    if others:
        raise DataError(enumerate_problems("trees can be compared over the same words only", others[:20]))

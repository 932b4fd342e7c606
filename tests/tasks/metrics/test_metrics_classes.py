"""Figures about classes, against values computed by hand and by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from regard.tasks.metrics.classes import brier, calibration_error, class_scores, confusion, macro_f1, paired_hits

GOLD = np.array([0, 0, 0, 1, 1, 2])
SAID = np.array([0, 0, 1, 1, 2, 2])


def test_confusion_and_f1_by_hand() -> None:
    counts = confusion(GOLD, SAID, 3)
    assert counts.tolist() == [[2, 1, 0], [0, 1, 1], [0, 0, 1]]
    # class 0: p 1, r 2/3, F1 0.8; class 1: p 1/2, r 1/2, F1 0.5; class 2: p 1/2, r 1, F1 2/3
    assert macro_f1(counts) == pytest.approx((0.8 + 0.5 + 2 / 3) / 3)


def test_a_class_that_is_nowhere_does_not_count() -> None:
    assert macro_f1(confusion(np.array([0, 1]), np.array([0, 1]), 3)) == 1.0


def test_calibration_by_hand() -> None:
    sure, right = np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, False, True, True])
    # two bins: |2·0.9 − 1| and |2·0.6 − 2|, over four examples
    assert calibration_error(sure, right) == pytest.approx((0.8 + 0.8) / 4)
    assert calibration_error(np.ones(3), np.ones(3, bool)) == 0.0


def test_brier_by_hand() -> None:
    said = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert brier(said, np.array([0, 0])) == pytest.approx(((0.3**2 + 0.3**2) + (0.8**2 + 0.8**2)) / 2)


def test_scores_by_name() -> None:
    said = np.eye(3)[SAID] * 0.7 + 0.1
    scores = class_scores(said, GOLD, ["a", "b", "c"])
    assert scores["accuracy"] == pytest.approx(4 / 6)
    assert scores["accuracy_low"] < 4 / 6 < scores["accuracy_high"]
    assert scores["macro_f1_low"] <= scores["macro_f1"] <= scores["macro_f1_high"]
    assert scores["always_the_most_frequent"] == 0.5
    assert scores["classes"]["b"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "examples": 2}
    assert scores["loss"] == pytest.approx(-(4 * np.log(0.8) + 2 * np.log(0.1)) / 6)


def test_the_same_as_scikit_learn() -> None:
    from sklearn.metrics import confusion_matrix, f1_score

    generator = np.random.default_rng(3)
    gold, said = generator.integers(5, size=300), generator.integers(5, size=300)
    counts = confusion(gold, said, 5)
    assert (counts == confusion_matrix(gold, said)).all()
    assert macro_f1(counts) == pytest.approx(f1_score(gold, said, average="macro"))


def test_a_difference_is_told_from_chance() -> None:
    right = [True] * 90 + [False] * 10
    same = paired_hits(right, right)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    worse = [True] * 60 + [False] * 40
    found = paired_hits(worse, right)
    assert found.difference == pytest.approx(30.0)
    assert found.significant
    assert "30.00 % accuracy more" in found.sentence
    assert not paired_hits([True, False] * 5, [True] * 6 + [False] * 4).significant

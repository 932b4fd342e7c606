"""Semantic search over a file: ranks, line numbers, and vectors that are kept until the texts change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.core.errors import DataError
from regard.tasks.vectors.searching import Hit, Index
from regard.tasks.vectors.sentence_vectors import Vectors


class Letters:
    """Counts a, b and c, and how often it was asked: a law of search, whatever embeds."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, texts: Sequence[str], progress: Any = None) -> Vectors:
        self.calls += 1
        found_ND = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
        return Vectors(found_ND / np.linalg.norm(found_ND, axis=1, keepdims=True), 1)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_nearest_lines_with_their_numbers(tmp_path: Path) -> None:
    file = write(tmp_path / "t.txt", "bbb", "", "ab", "a", "  ", "abb", "aa")
    index = Index.of(file, Letters(), "letters")
    a_D = np.array([1, 0, 0], np.float32)
    assert index.search(a_D, 3) == [
        Hit(1, 1.0, 4, "a"), Hit(2, 1.0, 7, "aa"), Hit(3, pytest.approx(0.5**0.5), 3, "ab"),
    ]  # fmt: skip
    assert [hit.line for hit in index.search(a_D, 99)] == [4, 7, 3, 6, 1]
    assert isinstance(index.vectors_ND, np.memmap)


def test_vectors_are_made_once_and_again_when_texts_or_model_change(tmp_path: Path) -> None:
    file, embed = write(tmp_path / "t.txt", "a", "b"), Letters()
    assert Index.of(file, embed, "letters").made_now
    again = Index.of(file, embed, "letters")
    assert (again.made_now, again.cut, embed.calls) == (False, 1, 1)
    write(file, "a", "c")
    changed = Index.of(file, embed, "letters")
    assert (changed.made_now, embed.calls) == (True, 2)
    assert changed.search(np.array([0, 0, 1], np.float32), 1)[0].text == "c"
    assert Index.of(file, embed, "other").made_now
    assert not Index.of(file, embed, "letters").made_now, "two models have vectors side by side"


def test_a_file_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no line with a text on it"):
        Index.of(write(tmp_path / "t.txt", "", " "), Letters(), "letters")
    with pytest.raises(DataError, match="no file"):
        Index.of(tmp_path / "none.txt", Letters(), "letters")

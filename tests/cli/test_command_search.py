"""``regard search``: lines with rank, cosine and number, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard

LINES = ("the cat sleeps", "", "the old king saw a dog", "a dog", "the cat sleeps")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_a_line_is_nearest_to_itself(run: Path, file: Path) -> None:
    rows = [line.split("\t") for line in regard("search", run, file, "a dog").lines]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0][1:] == ["1.0000", "4", "a dog"]
    assert [float(row[1]) for row in rows] == sorted((float(row[1]) for row in rows), reverse=True)


def test_several_queries_are_numbered_and_equal_lines_keep_their_order(run: Path, file: Path) -> None:
    rows = [line.split("\t") for line in regard("search", run, file, "a dog", LINES[0], "--top", 2).lines]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert [row[3] for row in rows[2:]] == ["1", "5"]
    file.write_text("the king\n", encoding="utf-8")
    assert [line.split("\t")[-1] for line in regard("search", run, file, "a dog").lines] == ["the king"], "read anew"


def test_json_has_everything(run: Path, file: Path) -> None:
    found = regard("search", run, file, "a dog", "--top", 1, "--json").json
    assert (found["lines"], found["lines_cut"]) == (4, 0)
    ((result,),) = [found["results"]]
    assert result["query"] == "a dog"
    assert {**result["hits"][0], "score": 1} == {"rank": 1, "score": 1, "line": 4, "text": "a dog"}


def test_what_is_refused(run: Path, file: Path) -> None:
    assert "no file" in regard("search", run, file.with_name("none.txt"), "a").error
    assert "--pooling 'best' is not known; choose" in regard("search", run, file, "a", "--pooling", "best").error
    assert "--pooling '' is not known" in regard("search", run, file, "a", "--pooling", "").error
    assert "query 2 is empty" in regard("search", run, file, "a", " ").error
    assert "has no pooler" in regard("search", run, file, "a", "--pooling", "pooler").error

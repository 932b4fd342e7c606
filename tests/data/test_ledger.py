"""The ledger counts exactly, lists up to its cap, and notices when its counts do not add up."""

import json

import pytest

from regard.core.files import read_json
from regard.data.ledger import Ledger


def test_counts_and_lines_are_kept_by_split_and_file(tmp_path):
    ledger = Ledger()
    ledger.skip("train", "a.en", 3, "the source is empty")
    ledger.record("train", "a.en", read=7, kept=6)
    ledger.duplicate("train", "a.en", 5, "the same as an earlier example", "a.en line 2")
    ledger.truncate("train", "a.en", 6, "longer than 11 pieces", "13 pieces")
    ledger.correct("train", "a.en", 7, "an answer was moved")
    ledger.record("test", "t.en", read=2, kept=2)
    ledger.check()
    ledger.save(tmp_path / "ledger.json")
    saved = read_json(tmp_path / "ledger.json")
    assert saved["files"][0] == {
        "split": "train", "file": "a.en", "unit": "lines", "read": 7, "kept": 6, "skipped": 1, "truncated": 1,
        "duplicated": 1, "in_two_splits": 0, "corrected": 1,
    }
    assert saved["exceptions"][0] == {
        "what": "skipped", "split": "train", "file": "a.en", "line": 3, "reason": "the source is empty",
        "detail": "",
    }
    assert (ledger.total("kept"), ledger.total("kept", ["test"])) == (8, 2)


def test_the_list_is_capped_for_each_reason_and_says_so_while_the_counts_stay_exact():
    ledger = Ledger(cap=3)
    for line in range(1, 6):
        ledger.skip("train", "a", line, "the source is empty")
    ledger.skip("train", "a", 9, "the target is empty")
    ledger.record("train", "a", read=6, kept=0)
    ledger.check()
    found = json.loads(json.dumps(ledger.as_dict()))
    assert found["listed_per_reason_at_most"] == 3
    assert [entry["line"] for entry in found["exceptions"]] == [1, 2, 3, 9]
    assert found["reasons"][0] == {
        "what": "skipped", "reason": "the source is empty", "count": 5, "listed": 3, "unit": "lines",
    }
    assert found["files"][0]["skipped"] == 6


def test_what_is_counted_is_called_by_its_name():
    ledger = Ledger()
    ledger.units["shapes"] = "files"
    for file in ("shapes", "more.csv", "shapes"):
        ledger.skip("train", file, 3, "not a readable picture")
    ledger.skip("train", "shapes", 4, "no text")
    ledger.duplicate("train", "a.en", 5, "the same as an earlier example", ledger.place("shapes", 7))
    found = ledger.as_dict()
    assert [one["unit"] for one in found["files"]] == ["files", "lines", "lines"]
    assert [one["unit"] for one in found["reasons"]] == ["examples", "files", "lines"]
    assert found["exceptions"][-1]["detail"] == "shapes file 7"


def test_a_line_given_up_later_or_moved_to_another_split_keeps_the_counts_in_order():
    ledger = Ledger()
    ledger.record("train", "a", read=5, kept=5)
    ledger.move("train", "validation", "a")
    ledger.splits.update(train=4, validation=1)
    ledger.check()
    ledger.drop("train", "a", 2, "longer than 11 pieces")
    ledger.check()
    assert ledger.splits == {"train": 3, "validation": 1}
    assert (ledger.total("read"), ledger.total("kept"), ledger.total("skipped")) == (5, 4, 1)


def test_lost_lines_are_noticed():
    ledger = Ledger()
    ledger.record("train", "a", read=5, kept=4)
    with pytest.raises(AssertionError, match="do not add up"):
        ledger.check()
    ledger = Ledger()
    ledger.record("train", "a", read=5, kept=5)
    ledger.splits["train"] = 4
    with pytest.raises(AssertionError, match="5 lines were kept, but 4 are in the splits"):
        ledger.check()

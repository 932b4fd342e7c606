"""Running text that was set aside stays what it was when its files grow, and is refused when they changed before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.core.errors import DataError, RunError
from regard.data.ledger import Ledger
from regard.data.sources.text_files import TextFiles
from regard.runs.folder import RunFolder
from regard.runs.integrity import save_held_out, scored_corpus


def test_the_end_of_a_text_that_was_set_aside_is_scored_again_after_the_text_has_grown(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"line {number:03}\n" for number in range(100)), encoding="utf-8")
    data = TextFiles(train=str(file), test_share=0.1, documents="line")
    folder = RunFolder(tmp_path)
    drawn = data.load(1, Ledger())
    save_held_out(folder, drawn)
    save_held_out(folder, data.load(1, Ledger()))  # a resumed run finds them as they are
    before = {split: drawn.splits[split] for split in ("validation", "test")}
    with file.open("a", encoding="utf-8") as grown:
        grown.write("one more line\n" * 50)
    again = data.load(1, Ledger())
    assert again.splits["test"] != before["test"]
    assert scored_corpus(folder, again).splits == before
    with pytest.raises(RunError, match=r"the validation split drawn from them is another than validation\.jsonl"):
        save_held_out(folder, again)
    file.write_text("new\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.txt no longer holds, from byte 720 to 810, the text that was set aside"):
        scored_corpus(folder, data.load(1, Ledger()))

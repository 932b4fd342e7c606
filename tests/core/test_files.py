"""A file is there whole or not at all, and a full disk is told in words."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from regard.core import files
from regard.core.errors import RunError
from regard.core.files import read_json, sha256_of, write_atomically, write_json, write_text


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_text_arrives_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_text(tmp_path / "new" / "folder" / "a.txt", "un café\n")
    write_text(tmp_path / "new" / "folder" / "a.txt", "deux cafés\n")
    assert contents(tmp_path / "new" / "folder") == {"a.txt": "deux cafés\n"}


@pytest.mark.parametrize("failure", [RuntimeError("bug"), KeyboardInterrupt(), ValueError("bad")])
def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path, failure: BaseException) -> None:
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")

    def half(target: Path) -> None:
        target.write_text("ne", encoding="utf-8")
        raise failure

    with pytest.raises(type(failure)):
        write_atomically(tmp_path / "a.txt", half)
    assert contents(tmp_path) == {"a.txt": "old"}


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def half(target: Path) -> None:
        target.write_text("ne", encoding="utf-8")
        if where == "write":
            full()

    if where != "write":
        monkeypatch.setattr(files.os, where, full)
    with pytest.raises(RunError) as caught:
        write_atomically(tmp_path / "a.txt", half)
    assert str(caught.value) == (
        f"{tmp_path / 'a.txt'} could not be written: No space left on device; what was there before is untouched. "
        "Free some space or choose another folder, then continue with --resume"
    )
    assert contents(tmp_path) == {"a.txt": "old"}


def test_the_new_file_is_durable_before_it_takes_the_old_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    for name in ("fsync", "replace"):
        plain = getattr(os, name)

        def spy(*inputs: object, name: str = name, plain: object = plain) -> object:
            order.append(name)
            return plain(*inputs)  # type: ignore[operator]

        monkeypatch.setattr(files.os, name, spy)
    write_text(tmp_path / "a.txt", "new")
    assert order[:2] == ["fsync", "replace"]
    assert contents(tmp_path) == {"a.txt": "new"}


def test_json_keeps_letters_readable_and_broken_json_names_its_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"mot": "café", "counts": [1, 2]})
    assert read_json(tmp_path / "a.json") == {"mot": "café", "counts": [1, 2]}
    assert "café" in (tmp_path / "a.json").read_text(encoding="utf-8")
    (tmp_path / "b.json").write_text('{"half": ', encoding="utf-8")
    with pytest.raises(RunError, match=r"b\.json is not valid JSON: .*line 1"):
        read_json(tmp_path / "b.json")


def test_a_checksum_is_that_of_the_bytes(tmp_path: Path) -> None:
    content = os.urandom((1 << 20) + 17)  # more than one block
    (tmp_path / "a").write_bytes(content)
    assert sha256_of(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_the_first_error_is_told_where_cleaning_up_fails_too(tmp_path: Path) -> None:
    """A file system that cannot be written refuses the removal of what was never written; a folder does so, too."""
    (tmp_path / f".a.txt.{os.getpid()}.part").mkdir()
    with pytest.raises(RunError, match=r"a\.txt could not be written: Is a directory; what was there before"):
        write_atomically(tmp_path / "a.txt", lambda part: part.write_text("new") and None)

"""Files that cannot be right, each with what is said of it."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from regard.core.errors import DataError
from regard.data.discovery.looking import discover
from tests.data.discovery.looked import look as looked_at
from tests.data.discovery.looked import refusal, sentence, table, told, write

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.txt", "\n \n\n", "a.txt: there are blank lines and nothing else; name a file with a text in it"),
        ("a.jsonl", DEEP, "broken JSON (lists or objects are nested too deeply at column 1)"),
        ("a.json", DEEP, "broken JSON (lists or objects are nested too deeply at column 1)"),
        ("a.jsonl", '{"text": "a b", "label": ' + "9" * 5000 + "}", "broken JSON (a number has too many digits"),
        ("a.json", '{"nodes": ' + DEEP, "a.json is broken JSON (lists or objects are nested too deeply"),
        ("a.csv", table(40).encode("utf-16"), "a.csv is in UTF-16, and only UTF-8 is read here"),
        ("a.csv", b"text,label\n\0a,b\n" + table(90).encode(), "a.csv has a NUL byte in line 2"),
        ("a.csv.gz", gzip.compress(table(40).encode(), mtime=0)[:200], "the compressed file is truncated or broken"),
        ("a.csv", table(40, labels=("ham",)), "'label' is the same in all rows"),
        ("a.csv", table(40) + "one,two,three\n", "but line 42 has 3"),
        ("a.csv", "value\n" + "".join(f"{n * 1.37:.2f}\n" for n in range(50)), "no column has texts"),
        ("mol.sdf", "no molecule\n", "mol.sdf: no graph can be read: line 1: no molecule: the block ends too early"),
        ("w.ts", "@classLabel true a\n1,2:a\n", "w.ts has no line @data"),
        ("w.ts", "@classLabel true a b\n@data\n1,2:a\n1,x:b\n", "w.ts: line 4 has 'x', which is not a number"),
    ],
)
def test_what_cannot_be_right_is_told(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    write(tmp_path, {name: content})
    assert message in refusal(tmp_path, name)


def test_a_cell_whose_quotation_mark_is_not_closed_is_told_by_its_line(tmp_path: Path) -> None:
    lines = ["text,label", *(f'"{sentence(n)}, indeed","{"ab"[n % 2]}"' for n in range(40))]
    lines[20] = lines[20].replace('indeed"', "indeed")
    write(tmp_path, {"a.csv": "\n".join(lines)})
    assert "a.csv, line 21: " in refusal(tmp_path, "a.csv")


def test_as_many_labels_as_rows_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{sentence(n)},label {n}\n" for n in range(100_000))
    write(tmp_path, {"a.csv": f"text,label\n{rows}"})
    message = refusal(tmp_path, "a.csv", text_column="text", label_column="label")
    assert "different values in " in message
    assert "so there is little to learn about each of them as a label" in message


def test_pictures_without_pixels_are_told(tmp_path: Path) -> None:
    write(tmp_path, {
        "train-images-idx3-ubyte": struct.pack(">IIII", 0x803, 40, 0, 0),
        "train-labels-idx1-ubyte": struct.pack(">II", 0x801, 40) + bytes(range(2)) * 20,
    })  # fmt: skip
    assert "its header announces pictures of 0 × 0 pixels" in refusal(tmp_path, "train-images-idx3-ubyte")


def test_what_is_no_file_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    assert "a.csv: neither a file nor a folder, but a pipe" in refusal(tmp_path, "a.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "b.csv")
    with pytest.raises(DataError, match=r"b\.csv"):
        discover([tmp_path / "b.csv"])


def test_what_may_not_be_read_is_told() -> None:
    with TemporaryDirectory() as held:  # pytest's own folders are for one user alone
        folder = Path(held)
        folder.chmod(0o755)
        write(folder, {"a.csv": table(40)})
        (folder / "a.csv").chmod(0)
        assert "cannot be read: Permission denied" in by_somebody(lambda: refusal(folder, "a.csv"))


def by_somebody(ask: Callable[[], str]) -> str:
    """What a user who may not read everything gets: where the tests run as root, by a child that gives that up."""
    if os.geteuid() != 0:
        return ask()
    back, out = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            told = ask()
        except BaseException as error:
            told = repr(error)
        os.write(out, told.encode())
        os._exit(0)
    os.close(out)
    os.waitpid(child, 0)
    with os.fdopen(back, encoding="utf-8") as answer:
        return answer.read()


def test_a_broken_picture_among_good_ones_is_told(tmp_path: Path) -> None:
    from PIL import Image

    for number in range(24):
        path = tmp_path / "p" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 10 * number).save(path)
    (tmp_path / "p" / "a" / "0.png").write_bytes(b"\x89PNG\r\n")
    found = looked_at(tmp_path, "p")
    assert found.skipped == 1
    assert "0.png" in told(found)

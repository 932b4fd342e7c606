"""Readers: lines of text files, plain or compressed, and pairs from parallel ones; no line gets lost."""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from regard.core.errors import DataError
from regard.data.corpus import Pair
from regard.data.ledger import Ledger

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSIONS = tuple(_OPENERS)
# How packed files begin: by program, the suffix with which we read them, and their first bytes.
_PACKED = {
    "gzip": (".gz", rb"\x1f\x8b\x08"),
    "bzip2": (".bz2", rb"BZh[1-9]\x31\x41\x59\x26\x53\x59"),
    "xz": (".xz", rb"\xfd7zXZ\x00"),
    "Zstandard": ("", rb"\x28\xb5\x2f\xfd"),
    "zip": ("", rb"PK\x03\x04"),
}
_SHOWN = 10
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_parallel(source: Path, target: Path, split: str, ledger: Ledger) -> list[Pair]:
    """Line i of one file belongs to line i of the other."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(
            f"{source} has {len(sources):,} lines, but {target} has {len(targets):,}; line i of one file "
            "must be the translation of line i of the other. Look for a line that was lost or broken in two, "
            "or check that the two files belong together"
        )
    rows = ((number, *sides) for number, sides in enumerate(zip(sources, targets), start=1))
    return keep_pairs(rows, str(source), split, ledger)


def keep_pairs(rows: Iterable[tuple[int, str, str]], file: str, split: str, ledger: Ledger) -> list[Pair]:
    """Strips both sides, and skips, into the ledger, every pair of which a side is empty."""
    pairs: list[Pair] = []
    read = 0
    for number, source, target in rows:
        read += 1
        source, target = source.strip(), target.strip()
        if source and target:
            pairs.append(Pair(source, target, number, file))
        elif source or target:
            ledger.skip(split, file, number, "the target is empty" if source else "the source is empty")
        else:
            ledger.skip(split, file, number, "both sides are empty")
    ledger.record(split, file, read=read, kept=len(pairs))
    return pairs


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file; only a newline ends a line, unlike in ``str.splitlines``."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[str]:
    """The same one by one, for files larger than memory."""
    return decode_lines(byte_lines(path), str(path))


def decode_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[str]:
    """Lines as text, without their ends; at the end one error names every line that is not UTF-8, and its byte."""
    decoder = LineDecoder(where)
    for raw in raw_lines:
        yield decoder.decode(raw)
    decoder.check()


def count_lines(path: Path) -> int:
    """How many lines a file has; all that are not UTF-8 are named, and none is kept in memory."""
    return sum(1 for _ in stream_lines(path))


class LineDecoder:
    """Takes the lines of a text one after another, and remembers which are not UTF-8."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.lines = 0
        self.bytes = 0
        self.wrong: list[str] = []

    def decode(self, raw: bytes) -> str:
        """The line without its end; empty where it cannot be read."""
        start = self.bytes
        self.lines += 1
        self.bytes += len(raw)
        if self.lines == 1 and raw.startswith(BYTE_ORDER_MARK):
            raw, start = raw[len(BYTE_ORDER_MARK) :], len(BYTE_ORDER_MARK)
        try:
            return raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            place = start + error.start
            self.wrong.append(f"line {self.lines}, byte {place} of the file (0x{raw[error.start]:02X})")
            return ""

    def check(self) -> None:
        if self.wrong:
            raise DataError(
                f"{self.where} is not valid UTF-8: {summarise(self.wrong)}. Convert it, e.g. with: "
                "iconv -f latin1 -t utf-8"
            )


def byte_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, plain or compressed."""
    return _pieces(path, iter)


def byte_blocks(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """The same in blocks, for those to whom lines mean nothing."""
    return _pieces(path, lambda handle: iter(partial(handle.read, size), b""))


def _pieces(path: Path, cut: Callable[[IO[bytes]], Iterator[bytes]]) -> Iterator[bytes]:
    whole = 0
    try:
        _check_not_compressed(path)
        with _open(path) as handle:
            for raw in cut(handle):
                yield raw
                whole += raw.count(b"\n")
    except FileNotFoundError:
        raise missing_files([path]) from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise _broken(path, whole, error) from error
    except OSError as error:
        if path.suffix in _OPENERS and error.errno is None:
            raise _broken(path, whole, error) from error
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _check_not_compressed(path: Path) -> None:
    """A packed file that its name does not tell would look like text in a strange encoding."""
    if path.suffix in _OPENERS or is_stream(path):
        return
    with path.open("rb") as handle:
        begins = handle.read(10)
    for program, (suffix, pattern) in _PACKED.items():
        if re.match(pattern, begins):
            remedy = f"its name does not tell; call it {path.name}{suffix}"
            if not suffix:
                remedy = "is not read here; unpack it and name the file inside"
            raise DataError(f"{path} is packed with {program}, which {remedy}")


def is_stream(path: Path) -> bool:
    """A pipe or a terminal: what was read of it is gone."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _open(path: Path) -> IO[bytes]:
    return _OPENERS[path.suffix](path, "rb") if path.suffix in _OPENERS else path.open("rb")


def _broken(path: Path, whole: int, error: Exception) -> DataError:
    return DataError(
        f"{path}: the compressed file is truncated or broken after {whole:,} whole lines ({error}); "
        "download it or compress it again"
    )


def find_file(path: Path) -> Path:
    """The file itself, or the same name with .gz, .bz2 or .xz; the bare path where there is none."""
    candidates = [path, *(path.with_name(path.name + suffix) for suffix in COMPRESSIONS)]
    return next((candidate for candidate in candidates if candidate.is_file()), path)


def missing_files(paths: Sequence[Path], remedy: str = "") -> DataError:
    """One error for all files that are not there, with what does stand in their folders."""
    lines = [f"no file {path}{_similar(path)}" for path in paths]
    if remedy:
        lines.append(remedy)
    return DataError("\n".join(lines))


def _similar(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; the folder {folder} does not exist (the current folder is {Path.cwd()})"
    searched = "that folder" if path.is_absolute() else str(folder.absolute())
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    close = difflib.get_close_matches(path.name, names, n=5, cutoff=0.55)
    if close:
        return f"; similar names in {searched}: {', '.join(close)}"
    return f"; {len(names)} files are in {searched}, none with a similar name"


def summarise(problems: Sequence[str]) -> str:
    more = f" and {len(problems) - _SHOWN:,} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more

"""Word vectors that others trained: GloVe text, word2vec text or binary, of which only the wanted words are kept."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.data.readers import BYTE_ORDER_MARK, COMPRESSIONS, byte_lines, find_file

_LOOKED_AT = 100  # lines by which a file's format is known
_SHOWN = 20
_LONGEST_WORD = 10_000  # bytes without a space that no longer are a word
_HEADER = re.compile(rb"(\d{1,15})[ \t]+(\d{1,9})\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")  # float() takes "nan" and "1_0" too


class Header(NamedTuple):
    """The first line of a word2vec file."""

    words: int
    width: int


def read_vectors(path: Path, width: int, wanted: set[str]) -> dict[str, np.ndarray]:
    """The float32 vectors of the wanted words that the file has; of a word that stands there twice, the first.

    The format is found by looking: a first line of two whole numbers is word2vec's header, and behind a header
    a name in ``.bin`` or a body that is no text means binary.
    """
    path = find_file(path)
    lines = list(itertools.islice(byte_lines(path), _LOOKED_AT))
    if not lines:
        raise DataError(f"{path} is empty, but word vectors are expected; download it again")
    lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
    header = _header(path, lines[0])
    _check_width(path, header.width if header else _usual_width(path, lines, width), width)
    if header is None:
        return _read_text(path, width, wanted, skipped=0)
    if _has_binary_name(path) or _is_binary(lines[1:]):
        return _read_binary(path, header, wanted)
    return _read_text(path, width, wanted, skipped=1)


# -- which format it is -----------------------------------------------------------------------------------------


def _header(path: Path, line: bytes) -> Header | None:
    found = _HEADER.fullmatch(line)
    if found:
        return Header(int(found[1]), int(found[2]))
    if _has_binary_name(path):
        raise DataError(
            f"{path}: a word2vec binary file starts with a line of two whole numbers (how many words, how many "
            f"values each), found {_start(line)}; of a fastText model take the .vec file, and a text file may not "
            "be named .bin"
        )
    return None


def _has_binary_name(path: Path) -> bool:
    return (path.with_suffix("") if path.suffix in COMPRESSIONS else path).suffix == ".bin"


def _is_binary(body: Sequence[bytes]) -> bool:
    """No text has a zero byte; one that is merely not UTF-8 still has numbers at the ends of its lines."""
    numbered = sum(1 for line in body if _NUMBER.fullmatch(_text(line).rpartition(" ")[2]))
    if 2 * numbered > len(body):  # among the bytes of vectors, too, a few may look like the end of such a line
        return False
    try:
        return "\0" in b"".join(body).decode("utf-8")
    except UnicodeDecodeError:
        return True


def _usual_width(path: Path, lines: Sequence[bytes], width: int) -> int:
    """How many values most of the first lines have."""
    counts = Counter(_count_values(_text(line), width) for line in lines if line.strip())
    usual = counts.most_common(1)[0][0] if counts else 0
    if usual == 0:
        raise DataError(
            f"{path}: every line must be a word and its numbers with single spaces between them (GloVe, or word2vec "
            f"with a header line), found {_start(lines[0])}; name a file of word vectors"
        )
    return usual


def _check_width(path: Path, found: int, width: int) -> None:
    if found != width:
        raise DataError(
            f"{path}: the file's vectors have {found} numbers, model.embedding.width is {width}: "
            f"set model.embedding.width={found}"
        )


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").rstrip(" \r\n")


def _start(line: bytes) -> str:
    return repr(_text(line)[:40])


# -- text -------------------------------------------------------------------------------------------------------


class _Problems:
    """What is wrong with a file, by kind; of a kind all are counted and the first are shown."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.shown: dict[str, list[str]] = {}

    def note(self, kind: str, problem: str) -> None:
        self.counts[kind] += 1
        shown = self.shown.setdefault(kind, [])
        if len(shown) < _SHOWN:
            shown.append(problem)

    def refuse(self, kind: str, title: str, remedy: str) -> None:
        if self.counts[kind]:
            more = self.counts[kind] - len(self.shown[kind])
            tail = f"; and {more:,} more" if more else ""
            raise DataError(f"{title}{'; '.join(self.shown[kind])}{tail}. {remedy}")


def _read_text(path: Path, width: int, wanted: set[str], skipped: int) -> dict[str, np.ndarray]:
    vectors: dict[str, np.ndarray] = {}
    problems = _Problems()
    for number, line in _text_lines(path, skipped, problems):
        # Most lines are of words that nobody wants: they are counted, not taken apart.
        if line.count(" ") != width and (found := _count_values(line, width)) != width:
            problems.note("counts", f"line {number} has {found}")
            continue
        word = _word(line, width)
        if word in wanted and word not in vectors:
            vectors[word] = _vector(line.rsplit(" ", width)[1:], f"line {number} ({word!r})", problems)
    problems.refuse("encoding", f"{path} is not valid UTF-8: ", "Convert it, e.g. with: iconv -f latin1 -t utf-8")
    remedy = "Correct these lines, or download the file again"
    problems.refuse("counts", f"{path}: every line must be a word and {width} numbers, but ", remedy)
    problems.refuse("values", f"{path}: every value must be a finite number, but ", remedy)
    return vectors


def _text_lines(path: Path, skipped: int, problems: _Problems) -> Iterator[tuple[int, str]]:
    """Numbered lines without their ends, empty ones left out; word2vec ends its lines with a space."""
    for number, raw in enumerate(byte_lines(path), start=1):
        if number <= skipped:
            continue
        if number == 1:
            raw = raw.removeprefix(BYTE_ORDER_MARK)
        try:
            line = raw.decode("utf-8").rstrip(" \r\n")
        except UnicodeDecodeError as error:
            problems.note("encoding", f"line {number} (0x{raw[error.start]:02X} at its byte {error.start})")
            continue
        if line:
            yield number, line


def _word(line: str, width: int) -> str:
    return line[: line.index(" ")] if line.count(" ") == width else line.rsplit(" ", width)[0].strip(" ")


def _count_values(line: str, width: int) -> int:
    """How many numbers follow the word; GloVe's 840B has words with spaces in them, such as ". . ."."""
    fields = line.split(" ")
    if len(fields) == width + 1 and any(map(_NUMBER.fullmatch, fields[1:])):
        return width  # a value that is no number is a value all the same
    values = sum(1 for _ in itertools.takewhile(_NUMBER.fullmatch, reversed(fields[1:])))
    # "route 66 0.1 0.2": a whole number in front of enough others belongs to the word.
    return width if values == width + 1 and fields[-values].isdigit() else values


def _vector(fields: Sequence[str], where: str, problems: _Problems) -> np.ndarray:
    numbers = [float(field) if _NUMBER.fullmatch(field) else math.nan for field in fields]
    with np.errstate(over="ignore"):  # becomes infinite, and is named below
        vector = np.array(numbers, dtype=np.float32)
    wrong = [field for field, finite in zip(fields, np.isfinite(vector)) if not finite]
    if wrong:
        problems.note("values", f"{where} has {', '.join(map(repr, wrong[:3]))}{'…' if len(wrong) > 3 else ''}")
    return vector


# -- binary -----------------------------------------------------------------------------------------------------


class _Bytes:
    """A file as one run of bytes, of which little is held at a time."""

    def __init__(self, chunks: Iterator[bytes], place: int) -> None:
        self.chunks = chunks
        self.held = bytearray()
        self.place = place  # of the first byte held, in the file

    def hold(self, count: int) -> bool:
        """Whether so many bytes are still to come."""
        while len(self.held) < count:
            chunk = next(self.chunks, b"")
            if not chunk:
                return False
            self.held += chunk
        return True

    def take(self, count: int) -> bytes:
        taken = bytes(self.held[:count])
        del self.held[:count]
        self.place += count
        return taken

    def take_word(self) -> bytes | None:
        """What stands before the next space, which is taken too; None where no word ends."""
        length = self.held.find(b" ")
        while length < 0:
            seen = len(self.held)
            if seen > _LONGEST_WORD or not self.hold(seen + 1):
                return None
            length = self.held.find(b" ", seen)
        return self.take(length + 1)[:-1]


def _read_binary(path: Path, header: Header, wanted: set[str]) -> dict[str, np.ndarray]:
    # Compared as bytes: word2vec cuts long words within a character, and such a word is nobody's.
    keys = {word.encode(): word for word in wanted}
    vectors: dict[str, np.ndarray] = {}
    problems = _Problems()
    for spelled, values in _records(path, header):
        word = keys.get(spelled)
        if word is not None and word not in vectors:
            vector = np.frombuffer(values, dtype="<f4").astype(np.float32)
            if not np.isfinite(vector).all():
                problems.note("values", f"{word!r} has {', '.join(map(str, vector[~np.isfinite(vector)][:3]))}")
            vectors[word] = vector
    problems.refuse("values", f"{path}: every value must be a finite number, but ", "Fetch the file again")
    return vectors


def _records(path: Path, header: Header) -> Iterator[tuple[bytes, bytes]]:
    """A word and the bytes of its vector, as many times as the header says."""
    lines = byte_lines(path)
    file = _Bytes(lines, place=len(next(lines)))  # the header is a line, the rest merely comes in pieces
    size = 4 * header.width
    for number in range(1, header.words + 1):
        word = file.take_word()
        if word is None or not file.hold(size):
            raise _broken(path, header, number, word, file)
        yield word.lstrip(b"\n"), file.take(size)  # the newline, where there is one, ends the word before
    while file.hold(1):
        if file.take(1) != b"\n":
            raise DataError(
                f"{path}: the file goes on at byte {file.place - 1:,} after the {header.words:,} words of "
                f"{header.width} values that its header promises; the values must be float32 (4 bytes each): "
                "save it so, or download it again"
            )


def _broken(path: Path, header: Header, number: int, word: bytes | None, file: _Bytes) -> DataError:
    promised = f"its header promises {header.words:,} words of {header.width} values, "
    if word is not None:
        name = word.lstrip(b"\n").decode("utf-8", errors="replace")
        found = f"but it ends after {len(file.held)} of the {4 * header.width} bytes of word {number:,} ({name!r})"
    elif len(file.held) > _LONGEST_WORD:
        found = f"but at byte {file.place:,}, where word {number:,} should start, there is none"
    else:
        found = f"but it ends after {number - 1:,} words"
    return DataError(f"{path}: the file is truncated or broken: {promised}{found}. Download it again")

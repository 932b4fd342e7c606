"""Inputs of ``regard predict``: from the command line, a file or standard input, in chunks that fit into memory."""

from __future__ import annotations

import io
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from regard.cli.console import notes, say
from regard.core.errors import DataError, OptionError
from regard.data.readers import LineDecoder, byte_lines, count_lines, is_stream

FIRST_LINES, GROWTH, MOST_LINES = 64, 16, 8192
"""Lines of the first chunk, so that answers come soon, and of later ones, so that batches are full."""
MOST_CHARACTERS = 1 << 19
"""Characters of a chunk, with what comes to each of its lines: a context, a long answer."""
PAUSE = 0.1
"""Seconds without another line after which those that have arrived are answered."""
BLOCK = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Inputs that follow one another, after ``first`` others; ``references`` are answers that the user gives."""

    first: int
    texts: list[str]
    references: list[str] | None = None


@dataclass(frozen=True)
class Inputs:
    """Lines in their order; None stands where the next one has not arrived yet. ``total`` is 0 where it is not known.

    ``file`` says where they are from, as a user knows it; it is empty for words of the command line.
    """

    lines: Iterator[str | None]
    file: str = ""
    total: int = 0
    check: Callable[[], None] = lambda: None

    def name(self, number: int) -> str:
        """What an input is called, counted from 0."""
        return f"line {number + 1}" if self.file else f"input {number + 1}"


def from_arguments(texts: list[str]) -> Inputs:
    return Inputs(iter(readable(texts)), total=len(texts))


def from_file(path: Path) -> Inputs:
    """A file is gone through once before, so that what is wrong with it is known before the first answer."""
    if is_stream(path):
        return from_lines(opened_lines(path), str(path))
    total = count_lines(path)
    if not total:
        raise DataError(f"{path} is empty, so there is nothing to answer; name a file with one input per line")
    return from_lines(byte_lines(path), str(path), total)


def from_standard_input() -> Inputs:
    if sys.stdin is None:
        raise OptionError("standard input is closed; give texts, or name a file with --file")
    if sys.stdin.isatty():
        say("reading standard input, one text per line; Ctrl-D ends it", to=notes, style="dim")
    return from_lines(arriving_lines(sys.stdin.buffer), "standard input")


def from_lines(raw_lines: Iterable[bytes | None], file: str, total: int = 0) -> Inputs:
    decoder = LineDecoder(file)
    lines = (None if raw is None else decoder.decode(raw) for raw in raw_lines)
    return Inputs(lines, file, total, decoder.check)


def readable(texts: list[str]) -> list[str]:
    """Texts of the command line, refused where the terminal sent bytes that are not UTF-8."""
    for number, text in enumerate(texts, start=1):
        if any("\udc80" <= character <= "\udcff" for character in text):  # how Python keeps such bytes
            raise DataError(f"input {number} is not valid UTF-8; convert it, or set the terminal to UTF-8")
    return list(texts)


def check_filled(texts: list[str], what: str) -> None:
    """An empty text says nothing, so that nothing could be said about it."""
    empty = [str(number) for number, text in enumerate(texts, start=1) if not text.strip()]
    if empty:
        raise DataError(f"{what} {', '.join(empty)} is empty; give it some words, or leave it out")


def opened_lines(path: Path) -> Iterator[bytes | None]:
    with path.open("rb") as stream:
        yield from arriving_lines(stream)


def arriving_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Lines as they arrive, and None whenever the next one keeps us waiting."""
    begun = bytearray()
    while True:
        if not has_more(stream):
            yield None
        block = read_block(stream)
        if not block:
            break
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield bytes(begun) + line + b"\n"
            begun.clear()
        begun += rest
    if begun:
        yield bytes(begun)


def read_block(stream: BinaryIO) -> bytes:
    """What is there, once there is something; nothing is left behind where ``has_more`` could not see it."""
    return stream.read1(BLOCK) if isinstance(stream, io.BufferedIOBase) else stream.read(BLOCK)


def has_more(stream: BinaryIO) -> bool:
    """Whether reading would not have to wait; what cannot be asked is read as if it would not."""
    try:
        return bool(select.select([stream], [], [], PAUSE)[0])
    except (OSError, ValueError):  # not a file of the system's, or no pipes in ``select`` (Windows)
        return True


def chunks(
    inputs: Inputs, references: Inputs | None = None, *, skip: int = 0, extra: int = 0
) -> Iterator[Chunk]:
    """Lines after the first ``skip``, divided by their number and their characters, ``extra`` more of them for each."""
    check_totals(inputs, references, skip)
    given = None if references is None else (one for one in islice(references.lines, skip, None) if one is not None)
    read, most, characters = 0, FIRST_LINES, 0
    texts: list[str] = []
    for line in chain(inputs.lines, [None]):
        if line is not None:
            read += 1
            if read > skip:
                texts.append(line)
                characters += len(line) + extra
        if texts and (line is None or len(texts) == most or characters >= MOST_CHARACTERS):
            inputs.check()
            first = read - len(texts)
            yield Chunk(first, texts, None if given is None else take_references(given, first, len(texts)))
            most, characters, texts = min(GROWTH * most, MOST_LINES), 0, []
    inputs.check()
    if read < skip:
        raise too_many_skipped(inputs.file, read, skip)
    if not read:
        say(f"{inputs.file} has no lines, so there is nothing to answer", to=notes)
    if given is not None and next(given, None) is not None:
        told = f"which end after {read:,}; give one for each, in order"
        raise DataError(f"there are more references than sources, {told}")


def take_references(references: Iterator[str], first: int, count: int) -> list[str]:
    """The references of so many sources."""
    found = list(islice(references, count))
    if len(found) < count:
        told = f"which end after {first + len(found):,}; give one for each, in order"
        raise DataError(f"there are more sources than references, {told}")
    return found


def check_totals(inputs: Inputs, references: Inputs | None, skip: int) -> None:
    """What is known of the numbers of lines before the first is answered."""
    if references is not None and inputs.total and references.total and inputs.total != references.total:
        raise DataError(
            f"{inputs.total:,} sources against {references.total:,} references; give one for each, in order"
        )
    if inputs.total and skip > inputs.total:
        raise too_many_skipped(inputs.file, inputs.total, skip)


def too_many_skipped(file: str, lines: int, skip: int) -> OptionError:
    return OptionError(f"--skip {skip} leaves out more lines than the {lines:,} of {file}; give at most {lines}")

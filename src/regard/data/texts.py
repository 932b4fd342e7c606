"""Running text: stretches of files or of memory, divided without overlap.

A text is never held whole: it is read in blocks, which are cut where no tokenizer joins anything.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, TypeGuard

from regard.core.errors import DataError
from regard.data.corpus import Corpus
from regard.data.examples import HasTexts
from regard.data.ledger import Ledger

BLOCK = 1 << 16
"""Bytes that are read at once."""
CUT = re.compile(r"(?<=\S)(?= \S)")
"""A single space between two signs belongs to what follows it, in every tokenizer of the house."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(ABC):
    """An example that is a stretch of text and can be read again and again.

    ``ends``: the document is over with it. ``lines``: every line of it is a document of its own.
    """

    ends: bool = True
    lines: bool = False
    line: ClassVar[int] = 0

    @property
    @abstractmethod
    def origin(self) -> str: ...

    @abstractmethod
    def blocks(self) -> Iterator[str]:
        """The text in pieces that may be tokenised one by one."""

    @abstractmethod
    def key(self) -> str:
        """Changes when the text may have changed."""

    def by_lines(self) -> Self:
        """The same, with a document in every line."""
        return replace(self, lines=True)

    def answer(self) -> Hashable:
        return ""  # a text is all there is

    def sides(self) -> tuple[Iterable[str], ...]:
        return (self.blocks(),)


@dataclass(frozen=True, slots=True)
class FileText(Text):
    """The bytes from ``start`` to ``stop`` of a UTF-8 file."""

    path: Path
    start: int
    stop: int

    @property
    def origin(self) -> str:
        return str(self.path)

    def key(self) -> str:
        found = self.path.stat()
        return f"{self.path.resolve()}|{self.start}|{self.stop}|{found.st_size}|{found.st_mtime_ns}"

    def blocks(self) -> Iterator[str]:
        return cut_blocks(self._pieces())

    def digest(self) -> str:
        """Of its bytes."""
        found = hashlib.sha256()
        with self.path.open("rb") as file:
            file.seek(self.start)
            left = self.stop - self.start
            while left and (read := file.read(min(BLOCK, left))):
                found.update(read)
                left -= len(read)
        return found.hexdigest()

    def record(self) -> dict[str, Any]:
        """Where it stands, and its digest; a run folder keeps that of a split that was set aside."""
        places = {"start": self.start, "stop": self.stop, "ends": self.ends, "lines": self.lines}
        return {**places, "sha256": self.digest(), "origin": self.origin}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The same stretch, as long as its file only grew at the end."""
        places = {key: record[key] for key in ("start", "stop", "ends", "lines")}
        text = cls(path=Path(record["origin"]), **places)
        if not text.path.is_file() or text.digest() != record["sha256"]:
            raise DataError(
                f"{text.path} no longer holds, from byte {text.start:,} to {text.stop:,}, the text that was set aside "
                "when the run was trained; put the file back as it was (it may have grown at its end)"
            )
        return text

    def _pieces(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        place = self.start
        with self.path.open("rb") as file:
            file.seek(self.start)
            while place < self.stop:
                read = file.read(min(BLOCK, self.stop - place))
                if not read:
                    break
                try:
                    yield decoder.decode(read, final=place + len(read) >= self.stop)
                except UnicodeDecodeError as error:
                    raise DataError(
                        f"{self.path} is not UTF-8 near byte {place + error.start}; convert it, e.g. with: "
                        "iconv -f latin1 -t utf-8"
                    ) from error
                place += len(read)


@dataclass(frozen=True, slots=True)
class TextInMemory(Text):
    """A text in memory."""

    name: str
    text: str

    @property
    def origin(self) -> str:
        return self.name

    def key(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def blocks(self) -> Iterator[str]:
        return cut_blocks(self.text[start : start + BLOCK] for start in range(0, len(self.text), BLOCK))


def cut_blocks(pieces: Iterator[str]) -> Iterator[str]:
    """The same text, parted only before single spaces between two signs; what has none stays in one block."""
    held = ""
    for piece in pieces:
        held += piece
        cut = last_cut(held)
        if cut:
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def last_cut(text: str) -> int:
    """The last place in a block's last quarter where it may be parted, looked for from its end; 0: there is none."""
    floor, window = max(0, len(text) - BLOCK // 4), 256
    while True:
        start = max(floor, len(text) - window)
        cut = max((found.start() for found in CUT.finditer(text, start)), default=0)
        if cut or start == floor:
            return cut
        window *= 4


def divide_file(path: Path, shares: Mapping[str, float], *, at_lines: bool) -> dict[str, FileText]:
    """A file's beginning for "train", and at its end, in this order, the shares of other splits, as far as there is
    text for them; no cut goes through a character (or a line)."""
    size = path.stat().st_size
    wanted = {split: share for split, share in shares.items() if share}
    with path.open("rb") as file:
        start = 3 if file.read(3) == codecs.BOM_UTF8 else 0
        left = [1 - sum([*wanted.values()][place:]) for place in range(len(wanted))]
        cuts = [_cut_near(file, start, start + int((size - start) * share), at_lines) for share in left]
    places = [start, *(min(cut, size) for cut in cuts), size]
    stretches = {
        split: FileText(path, begin, stop, ends=at_lines or stop == size)
        for split, begin, stop in zip(("train", *wanted), places, places[1:])
    }
    return {split: text for split, text in stretches.items() if split == "train" or text.start < text.stop}


def _cut_near(file: BinaryIO, start: int, place: int, at_lines: bool) -> int:
    """The first place from here on where a character (or a line) begins."""
    if at_lines and place > start:
        file.seek(place - 1)
        return place + max(len(file.readline()) - 1, 0)
    file.seek(place)
    following = file.read(4)
    return place + next((ahead for ahead, byte in enumerate(following) if byte & 0xC0 != 0x80), len(following))


def divide_text(name: str, text: str, share: float) -> tuple[Text, ...]:
    middle = int(len(text) * (1 - share))
    if not share or middle >= len(text):
        return (TextInMemory(name, text),)
    return TextInMemory(name, text[:middle], ends=False), TextInMemory(name, text[middle:])


def corpus_of(
    splits: Mapping[str, Sequence[Text]], ledger: Ledger, set_aside: Sequence[str] = ()
) -> Corpus[Text]:
    """Refuses a corpus in which there is nothing to read; empty texts are skipped and listed."""
    every = {split: filled(split, texts, ledger) for split, texts in splits.items()}
    kept = {split: texts for split, texts in every.items() if texts}
    if not kept.get("train"):
        names = ", ".join(text.origin for text in splits["train"][:5])
        raise DataError(f"there is no text to train on: {names} is empty; give a file with text in it")
    ledger.check()
    return Corpus(kept, ledger, set_aside=tuple(split for split in set_aside if split in kept))


def filled(split: str, texts: Sequence[Text], ledger: Ledger) -> tuple[Text, ...]:
    """The texts of a split that have something in them; the others are skipped and listed."""
    kept = []
    for text in texts:
        if next(text.blocks(), ""):
            kept.append(text)
            ledger.record(split, text.origin, read=1, kept=1)
        else:
            ledger.record(split, text.origin, read=1, kept=0)
            ledger.skip(split, text.origin, 0, "the file is empty")
    if kept:
        ledger.splits[split] = len(kept)
    return tuple(kept)


def is_running_text(corpus: Corpus[Any]) -> TypeGuard[Corpus[Text]]:
    """Whether its examples are stretches of text, as far as the first of each split tell."""
    return all(isinstance(one, Text) for own in corpus.splits.values() for one in own[:1])


def documents(corpus: Corpus[Any]) -> Corpus[Text]:
    """The texts of a corpus for those who learn a language from them: those of an example are documents."""
    if is_running_text(corpus):
        return corpus
    for split, examples in corpus.splits.items():
        for one in examples[:1]:
            if not isinstance(one, HasTexts) or len(one.sides()) > 1:
                raise DataError(
                    f"a language model learns from running text, and the split {split!r} has {type(one).__name__}s; "
                    'choose data.kind = "text", or another kind with texts of one language'
                )
    if corpus.weights:
        raise DataError("running text is read from start to end, so weights of files have no effect; leave them out")
    splits = {
        split: tuple(
            TextInMemory(one.origin, text) for one in examples for side in one.sides() for text in side
        )
        for split, examples in corpus.splits.items()
    }
    return Corpus(splits, corpus.ledger)

"""Running text for language models: files, folders, or what every Python brings along, split without overlap.

A text is never held whole: it is read in blocks, which are cut where no tokenizer joins anything.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from regard.core.config import Part
from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.readers import missing_files

BLOCK = 1 << 16
"""Bytes that are read at once."""
CUT = re.compile(r"(?<=\S)(?= \S)")
"""A single space between two signs belongs to what follows it, in every tokenizer of the house."""


class Text(Protocol):
    """A stretch of text that can be read again and again. ``ends``: the document is over with it."""

    @property
    def name(self) -> str: ...

    @property
    def ends(self) -> bool: ...

    def blocks(self) -> Iterator[str]:
        """The text in pieces that may be tokenised one by one."""
        ...

    def key(self) -> str:
        """Changes when the text may have changed."""
        ...


@dataclass(frozen=True, slots=True)
class FileText:
    """The bytes from ``start`` to ``stop`` of a UTF-8 file."""

    path: Path
    start: int
    stop: int
    ends: bool = True

    @property
    def name(self) -> str:
        return str(self.path)

    def key(self) -> str:
        found = self.path.stat()
        return f"{self.path.resolve()}|{self.start}|{self.stop}|{found.st_size}|{found.st_mtime_ns}"

    def blocks(self) -> Iterator[str]:
        return cut_blocks(self._pieces())

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
class HeldText:
    """A text in memory."""

    name: str
    text: str
    ends: bool = True

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


@dataclass(frozen=True, slots=True)
class TextCorpus:
    """Texts in named splits. ``lines``: every line is a document of its own."""

    splits: Mapping[str, tuple[Text, ...]]
    ledger: Ledger
    lines: bool = False
    validation_was_set_aside: bool = False

    def training_texts(self, joint: bool) -> tuple[Iterator[str], ...]:
        """What tokenizers are trained on: a text in, a text out, one vocabulary."""
        return (block for text in self.splits["train"] for block in text.blocks()),

    def without_training(self) -> TextCorpus:
        kept = {split: texts for split, texts in self.splits.items() if split != "train"}
        return TextCorpus(kept, self.ledger, self.lines, self.validation_was_set_aside)


class TextFiles(Part):
    """A text file, or all files below a folder whose names match; the end of each is set aside for validation."""

    kind: str = "text"
    file: str = ""
    folder: str = ""
    pattern: str = "*.txt"
    validation: str = ""  # a file of its own; then nothing is set aside
    test: str = ""
    validation_share: float = Field(0.1, ge=0, lt=1)  # of every file, at its end
    documents: Literal["file", "line"] = "file"  # what counts as one

    def load(self, seed: int, ledger: Ledger) -> TextCorpus:
        share = 0.0 if self.validation else self.validation_share
        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for path in self._files():
            parts = divide_file(path, share, at_lines=self.documents == "line")
            for split, text in zip(splits, parts):
                splits[split].append(text)
        for split, name in (("validation", self.validation), ("test", self.test)):
            if name:
                splits[split] = list(divide_file(existing(name, f"data.{split}"), 0.0, at_lines=False))
        return corpus_of(splits, ledger, lines=self.documents == "line")

    def _files(self) -> list[Path]:
        if bool(self.file) == bool(self.folder):
            raise DataError(
                "data kind 'text' needs to know where the text is: --set data.file=path/to/file.txt, or "
                "--set data.folder=path/to/folder (with data.pattern, by default *.txt); one of the two"
            )
        if self.file:
            return [existing(self.file, "data.file")]
        folder = Path(self.folder).expanduser()
        if not folder.is_dir():
            raise DataError(f"there is no folder {folder}; check data.folder")
        found = sorted(path for path in folder.rglob(self.pattern) if path.is_file())
        if not found:
            raise DataError(f"no file below {folder} matches {self.pattern}; check data.pattern")
        return found


def existing(name: str, key: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise missing_files([path], f"Check {key}")
    return path


def divide_file(path: Path, share: float, *, at_lines: bool) -> tuple[Text, ...]:
    """A file's beginning, and the ``share`` at its end; the cut never goes through a character (or a line)."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = 3 if file.read(3) == codecs.BOM_UTF8 else 0
        middle = start + int((size - start) * (1 - share))
        file.seek(middle)
        if at_lines and middle > start:
            file.seek(middle - 1)
            middle += max(len(file.readline()) - 1, 0)
        else:
            following = file.read(4)
            middle += next((place for place, byte in enumerate(following) if byte & 0xC0 != 0x80), 0)
    if not share or middle >= size:
        return (FileText(path, start, size),)
    return FileText(path, start, middle, ends=at_lines), FileText(path, middle, size)


def divide_text(name: str, text: str, share: float) -> tuple[Text, ...]:
    middle = int(len(text) * (1 - share))
    if not share or middle >= len(text):
        return (HeldText(name, text),)
    return HeldText(name, text[:middle], ends=False), HeldText(name, text[middle:])


def corpus_of(splits: Mapping[str, list[Text]], ledger: Ledger, *, lines: bool = False) -> TextCorpus:
    """Refuses a corpus in which there is nothing to read; empty texts are skipped and listed."""
    kept: dict[str, tuple[Text, ...]] = {}
    for split, texts in splits.items():
        filled = []
        for text in texts:
            if next(text.blocks(), ""):
                filled.append(text)
                ledger.record(split, text.name, read=1, kept=1)
            else:
                ledger.record(split, text.name, read=1, kept=0)
                ledger.skip(split, text.name, 0, "the file is empty")
        if filled:
            kept[split] = tuple(filled)
            ledger.splits[split] = len(filled)
    if not kept.get("train"):
        names = ", ".join(text.name for text in splits["train"][:5])
        raise DataError(f"there is no text to train on: {names} is empty; give a file with text in it")
    ledger.check()
    return TextCorpus(kept, ledger, lines)


class PythonEnglish(Part):
    """The English help topics that come with every Python: about half a million characters."""

    kind: str = "python-english"
    validation_share: float = Field(0.1, ge=0, lt=1)

    def load(self, seed: int, ledger: Ledger) -> TextCorpus:
        from pydoc_data import topics

        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for name, text in sorted(topics.topics.items()):
            for split, part in zip(splits, divide_text(name, text, self.validation_share)):
                splits[split].append(part)
        return corpus_of(splits, ledger)


class PythonCode(Part):
    """The sources of Python's own standard library; the last lines of each file validate."""

    kind: str = "python-code"
    validation_share: float = Field(0.1, ge=0, lt=1)
    packages: tuple[str, ...] = ()  # by default the top level and the larger packages

    def load(self, seed: int, ledger: Ledger) -> TextCorpus:
        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for path in self.files():
            for split, text in zip(splits, divide_file(path, self.validation_share, at_lines=True)):
                splits[split].append(text)
        return corpus_of(splits, ledger)

    def files(self) -> list[Path]:
        import sysconfig

        library = Path(sysconfig.get_path("stdlib"))
        wanted = self.packages or ("", "asyncio", "collections", "concurrent", "email", "http", "importlib", "json",
                                   "logging", "unittest", "urllib", "xml")  # fmt: skip
        found = sorted(path for package in wanted for path in (library / package).glob("*.py"))
        if not found:
            raise DataError(f"no Python sources in {library} for data.packages = {self.packages}; check the names")
        return found


class WorldEnglish(Part):
    """The English sentences of the small world, each a document of its own; made, not read."""

    kind: str = "world-english"
    train: int = Field(default=20_000, ge=1)
    validation: int = Field(default=500, ge=1)
    test: int = Field(default=500, ge=0)

    def load(self, seed: int, ledger: Ledger) -> TextCorpus:
        from regard.data.world import splits as make  # the grammar is only built where it is wanted

        world = make(self.train, self.validation, self.test, 0, seed)
        splits: dict[str, list[Text]] = {}
        for split in ("train", "validation", "test"):
            sentences = [pair.source for pair in getattr(world, split)]
            splits[split] = [HeldText("small-world", "\n".join(sentences))] if sentences else []
        return corpus_of(splits, ledger, lines=True)

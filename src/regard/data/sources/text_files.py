"""Running text for language models: files of your own, or what every Python brings along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.core.errors import DataError
from regard.data import DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.sources.entries import Entry
from regard.data.sources.files import FileData
from regard.data.sources.world import WORLD
from regard.data.texts import HeldText, Text, corpus_of, divide_file, divide_text, filled

if TYPE_CHECKING:
    from regard.data.world.pairs import WorldPair


class TextFiles(FileData[Entry]):
    """Text files. Where none are named for validation, the end of each training file is set aside for it."""

    suffixes: ClassVar[tuple[str, ...]] = (".txt",)
    compressions: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "path/to/file.txt"
    dividing: ClassVar[tuple[str, ...]] = ("validation_share",)

    kind: str = "text"
    validation_share: float = Field(0.1, ge=0, lt=1)  # of every file, at its end
    documents: Literal["file", "line"] = "file"  # what counts as one

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        if self.validation and self.validation_share:
            unused["validation_share"] = "it says how much of each file is set aside, and data.validation names files"
        return unused

    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
        by_lines = self.documents == "line"
        share = 0.0 if self.validation else self.validation_share
        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for split, files in self.found().items():
            own = splits.setdefault(split, [])
            for one in files:
                first, *rest = divide_file(one.paths[0], share if split == "train" else 0.0, at_lines=by_lines)
                own.append(first)
                splits["validation"] += rest
        if by_lines:
            splits = {split: [text.by_lines() for text in own] for split, own in splits.items()}
        return corpus_of(splits, ledger)

    def load_test(self, split: str, ledger: Ledger) -> Corpus[Text]:
        paths = [one.paths[0] for one in self.files()["test"]]
        texts = [text for path in paths for text in divide_file(path, 0.0, at_lines=True)]
        kept = filled(split, [text.by_lines() for text in texts] if self.documents == "line" else texts, ledger)
        if not kept:
            raise DataError(f"there is no text in {', '.join(map(str, paths[:5]))}; give files with text in them")
        return Corpus({split: kept}, ledger)


class PythonEnglish(DataPart):
    """The English help topics that come with every Python: about half a million characters."""

    files_kind: ClassVar[str] = "text"

    kind: str = "python-english"
    validation_share: float = Field(0.1, ge=0, lt=1)

    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
        from pydoc_data import topics

        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for name, text in sorted(topics.topics.items()):
            for split, part in zip(splits, divide_text(name, text, self.validation_share)):
                splits[split].append(part)
        return corpus_of(splits, ledger)


class PythonCode(DataPart):
    """The sources of Python's own standard library; the last lines of each file validate."""

    files_kind: ClassVar[str] = "text"

    kind: str = "python-code"
    validation_share: float = Field(0.1, ge=0, lt=1)
    packages: tuple[str, ...] = ()  # by default the top level and the larger packages

    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
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


class WorldEnglish(DataPart):
    """The English sentences of the small world, each a document of its own; made, not read."""

    files_kind: ClassVar[str] = "text"

    kind: str = "world-english"
    train_size: int = Field(default=20_000, ge=1)
    validation_size: int = Field(default=500, ge=1)
    test_size: int = Field(default=500, ge=0)

    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
        from regard.data.world import splits as make  # the grammar is only built where it is wanted

        world = make(self.train_size, self.validation_size, self.test_size, 0, seed)
        drawn = {"train": world.train, "validation": world.validation, "test": world.test}
        return corpus_of({split: _one_a_line(pairs) for split, pairs in drawn.items()}, ledger)


def _one_a_line(pairs: Sequence[WorldPair]) -> list[Text]:
    sentences = "\n".join(pair.source for pair in pairs)
    return [HeldText(WORLD, sentences, lines=True)] if sentences else []

"""Running text for language models: files, or the help topics and the sources of Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.core.errors import DataError
from regard.data import DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.sources.entries import Entry
from regard.data.sources.files import FileData
from regard.data.sources.world import WORLD, WorldSizes
from regard.data.texts import Text, TextInMemory, corpus_of, divide_file, divide_text, filled

if TYPE_CHECKING:
    from regard.data.world.pairs import WorldPair


class TextFiles(FileData[Entry]):
    """Text files. Where none are named for validation (or test), the end of each training file is set aside for it."""

    suffixes: ClassVar[tuple[str, ...]] = (".txt",)
    compressions: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = "path/to/file.txt"
    dividing: ClassVar[tuple[str, ...]] = ("validation_share", "test_share")

    kind: str = "text"
    validation_share: float = Field(0.1, ge=0, lt=1)  # of every file, at its end
    test_share: float = Field(0.0, ge=0, lt=1)  # the same, behind what validates
    documents: Literal["file", "line"] = "file"  # what counts as one

    def unused(self) -> dict[str, str]:
        unused = super().unused()
        for split, share in self.shares().items():
            if share and split in self.named():
                unused[f"{split}_share"] = f"it says how much of each file is set aside, and data.{split} names files"
        return unused

    @model_validator(mode="after")
    def _something_is_left(self) -> Self:
        if sum(self.aside().values()) >= 1:
            raise ValueError("validation_share and test_share leave nothing to train on; together they must be below 1")
        return self

    def shares(self) -> dict[str, float]:
        return {"validation": self.validation_share, "test": self.test_share}

    def aside(self) -> dict[str, float]:
        """The shares that are set aside: those of splits for which no files are named."""
        return {split: share for split, share in self.shares().items() if share and split not in self.named()}

    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
        by_lines, aside = self.documents == "line", self.aside()
        splits: dict[str, list[Text]] = {"train": [], "validation": []}
        for split, files in self.found().items():
            own = splits.setdefault(split, [])
            for one in files:
                stretches = divide_file(one.paths[0], aside if split == "train" else {}, at_lines=by_lines)
                own.append(stretches.pop("train"))
                for other, text in stretches.items():
                    splits.setdefault(other, []).append(text)
        if by_lines:
            splits = {split: [text.by_lines() for text in own] for split, own in splits.items()}
        return corpus_of(splits, ledger, tuple(aside))

    def load_test(self, split: str, ledger: Ledger) -> Corpus[Text]:
        paths = [one.paths[0] for one in self.files()["test"]]
        texts: list[Text] = [divide_file(path, {}, at_lines=True)["train"] for path in paths]
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
            for split, text in divide_file(path, {"validation": self.validation_share}, at_lines=True).items():
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


class WorldEnglish(WorldSizes):
    """The English sentences of the small world, each a document of its own; made, not read."""

    files_kind: ClassVar[str] = "text"

    kind: str = "world-english"
    def load(self, seed: int, ledger: Ledger) -> Corpus[Text]:
        from regard.data.world import splits as make  # the grammar is only built where it is wanted

        world = make(self.train_size, self.validation_size, self.test_size, 0, seed)
        drawn = {"train": world.train, "validation": world.validation, "test": world.test}
        return corpus_of({split: _one_a_line(pairs) for split, pairs in drawn.items()}, ledger)


def _one_a_line(pairs: Sequence[WorldPair]) -> list[Text]:
    sentences = "\n".join(pair.source for pair in pairs)
    return [TextInMemory(WORLD, sentences, lines=True)] if sentences else []

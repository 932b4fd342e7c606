"""Where a corpus comes from: the data parts of a recipe that read files or ask the small world."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from regard.core.config import Config, Part, nearest
from regard.core.errors import DataError
from regard.data.corpus import Corpus, GoldAlignment, Pair
from regard.data.ledger import Ledger
from regard.data.readers import (
    COMPRESSIONS,
    find_file,
    missing_files,
    read_json_lines,
    read_parallel,
    read_tsv,
)
from regard.data.splits import Overlap, arrange, note_duplicates

_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


class CorpusFiles(Config):
    """One corpus: a source and a target file, or one file of both (.tsv, .jsonl), plain or compressed."""

    source: str = ""
    target: str = ""
    file: str = ""
    source_key: str = "source"
    target_key: str = "target"
    split: str = Field(default="train", min_length=1)
    weight: float = Field(default=1.0, gt=0.0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise ValueError(f"unknown key {key!r}{nearest(key, cls.model_fields)}; valid here: {known}")
        return values

    @model_validator(mode="after")
    def _one_form(self) -> CorpusFiles:
        if bool(self.file) == bool(self.source or self.target) or bool(self.source) != bool(self.target):
            raise ValueError("a corpus needs either file, or both source and target")
        if self.file and _format(Path(self.file)) not in (".tsv", *_JSON_SUFFIXES):
            raise ValueError(
                f"{self.file}: a file of both sides must end in .tsv, .jsonl, .ndjson or .json "
                f"({', '.join(COMPRESSIONS)} may follow)"
            )
        return self

    def paths(self) -> list[Path]:
        names = [self.file] if self.file else [self.source, self.target]
        return [find_file(Path(name).expanduser()) for name in names]

    def read(self, ledger: Ledger) -> list[Pair]:
        paths = self.paths()
        if len(paths) == 2:
            return read_parallel(paths[0], paths[1], self.split, ledger)
        if _format(paths[0]) == ".tsv":
            return read_tsv(paths[0], self.split, ledger)
        return read_json_lines(paths[0], self.split, ledger, self.source_key, self.target_key)


def _format(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


class PairFiles(Part):
    """Pairs from files: ``folder/train.en`` beside ``folder/train.de`` and so on, and any ``corpora``.

    With no validation files, a validation split is set aside from the training pairs.
    """

    kind: str = "pairs"
    folder: str = ""
    source: str = "en"
    target: str = "de"
    train: str = "train"
    validation: str = "val"
    test: str = "test2016"
    corpora: tuple[CorpusFiles, ...] = ()
    validation_size: int = Field(default=1000, ge=0)
    overlap: Overlap = "warn"

    def load(self, seed: int, ledger: Ledger) -> Corpus:
        files = self._files()
        splits = self._read(files, ledger)
        if not splits["train"]:
            raise DataError(
                "no training pairs: every line was empty, or no file is named for training; "
                "check data.train and data.corpora"
            )
        splits, setting_aside = arrange(splits, self.validation_size, self.overlap, seed, ledger)
        return Corpus(
            {split: tuple(pairs) for split, pairs in splits.items()},
            ledger,
            weights=_weights(splits["train"], files),
            validation_was_set_aside=setting_aside,
        )

    def _read(self, files: Sequence[CorpusFiles], ledger: Ledger) -> dict[str, list[Pair]]:
        missing = [path for corpus in files for path in corpus.paths() if not path.is_file()]
        if missing:
            raise missing_files(missing, self._remedy())
        # Training stands first and validation second, whatever the order of the files.
        splits: dict[str, list[Pair]] = {"train": [], "validation": []}
        for corpus in files:
            splits.setdefault(corpus.split, []).extend(corpus.read(ledger))
        return splits

    def _files(self) -> tuple[CorpusFiles, ...]:
        if not self.folder and not self.corpora:
            raise DataError(
                "data kind 'pairs' needs to know where the files are: --set data.folder=path/to/folder "
                f"(with files such as train.{self.source} and train.{self.target}), "
                "or list them in data.corpora"
            )
        named = {"train": self.train, "validation": self.validation, "test": self.test} if self.folder else {}
        stems = {split: Path(self.folder) / name for split, name in named.items() if name}
        files = tuple(
            CorpusFiles(source=f"{stem}.{self.source}", target=f"{stem}.{self.target}", split=split)
            for split, stem in stems.items()
        )
        _refuse_twice(files + self.corpora)
        _refuse_idle_weights(self.corpora)
        return files + self.corpora

    def _remedy(self) -> str:
        return (
            "Check data.folder, data.source and data.target; name the files with data.train, data.validation "
            'and data.test, or leave a split out with data.validation="" or data.test=""'
            if self.folder
            else "Check the names in data.corpora"
        )


def _refuse_twice(files: Sequence[CorpusFiles]) -> None:
    """Lines and weights are known by their first file, so that one must belong to one corpus of a split."""
    seen: dict[tuple[str, Path], list[Path]] = {}
    for corpus in files:
        first, *others = corpus.paths()
        before = seen.setdefault((corpus.split, first), others)
        if before is others:
            continue
        if before == others:
            raise DataError(f"{first} is listed twice for {corpus.split}; list it once and give it a weight")
        raise DataError(
            f"{first} is the source of two corpora of {corpus.split}, with {before[0]} and with {others[0]}; its lines "
            "could not be told apart: give it a second name (a link will do) for one of them"
        )


def _refuse_idle_weights(files: Sequence[CorpusFiles]) -> None:
    weighted = (corpus for corpus in files if corpus.split != "train" and corpus.weight != 1)
    idle = [f"{corpus.paths()[0]} ({corpus.split})" for corpus in weighted]
    if idle:
        raise DataError(
            f"weights say how often training pairs are seen, and these are not for training: {', '.join(idle)}; leave "
            "their weights out"
        )


def _weights(pairs: Sequence[Pair], files: Sequence[CorpusFiles]) -> tuple[float, ...]:
    by_file = {str(corpus.paths()[0]): corpus.weight for corpus in files if corpus.split == "train"}
    if set(by_file.values()) <= {1.0}:
        return ()
    return tuple(by_file[pair.origin] for pair in pairs)


class SmallWorld(Part):
    """Sentences of the small world in two languages, with gold alignments; made, not read."""

    kind: str = "small-world"
    train: int = Field(default=60_000, ge=1)
    validation: int = Field(default=1000, ge=1)
    test: int = Field(default=1000, ge=0)
    compositional: int = Field(default=1000, ge=0)

    def load(self, seed: int, ledger: Ledger) -> Corpus:
        from regard.data.world import splits as make  # the grammar is only built where it is wanted

        world = make(self.train, self.validation, self.test, self.compositional, seed)
        splits: dict[str, tuple[Pair, ...]] = {}
        gold: dict[str, tuple[GoldAlignment, ...]] = {}
        for split in ("train", "validation", "test", "compositional"):
            made = getattr(world, split)
            splits[split] = tuple(
                Pair(pair.source, pair.target, line, "small-world") for line, pair in enumerate(made, start=1)
            )
            ledger.record(split, "small-world", read=len(made), kept=len(made))
            if split != "train":
                gold[split] = tuple(
                    GoldAlignment(pair.source_words, pair.target_words, pair.sure, pair.possible)
                    for pair in made
                )
        note_duplicates("train", splits["train"], ledger)
        ledger.splits.update({split: len(pairs) for split, pairs in splits.items()})
        ledger.check()
        return Corpus(splits, ledger, gold)

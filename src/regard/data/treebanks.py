"""Treebanks: files of bracketed trees, or the trees of the small world, become pairs of a sentence and its symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from regard.core.config import Part
from regard.core.errors import DataError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.readers import find_file, missing_files, read_lines
from regard.data.splits import Overlap, arrange, note_duplicates
from regard.data.trees import Tree, parse

Numbered = tuple[int, str]
SHOWN = 80


class TreeFiles(Part):
    """Files of trees in brackets, one a line or spread over indented lines, plain or compressed.

    ``labels = "bare"`` leaves out what parsers are usually not asked for: traces, and functions such as -SBJ.
    """

    kind: str = "trees"
    train: str = ""
    validation: str = ""
    test: str = ""
    labels: Literal["whole", "bare"] = "whole"
    validation_size: int = Field(default=1000, ge=0)
    overlap: Overlap = "warn"

    def load(self, seed: int, ledger: Ledger) -> Corpus:
        splits = self._read(ledger)
        if not splits["train"]:
            listed = "; ".join(f"line {one.line}: {one.reason}" for one in ledger.exceptions[:10])
            raise DataError(f"{self.train} holds no tree that could be read ({listed or 'it is empty'})")
        made, setting_aside = arrange(splits, self.validation_size, self.overlap, seed, ledger)
        return Corpus(
            {split: tuple(pairs) for split, pairs in made.items()}, ledger, validation_was_set_aside=setting_aside
        )

    def _read(self, ledger: Ledger) -> dict[str, list[Pair]]:
        if not self.train:
            raise DataError("data kind 'trees' needs to know its files: --set data.train=path/to/trees.mrg")
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        paths = {split: find_file(Path(name).expanduser()) for split, name in named.items() if name}
        missing = [path for path in paths.values() if not path.is_file()]
        if missing:
            raise missing_files(missing, "Check data.train, data.validation and data.test")
        read = {split: read_trees(path, split, ledger, self.labels) for split, path in paths.items()}
        return {"train": [], "validation": [], **read}


class WorldTrees(Part):
    """The English sentences of the small world with their trees, in the splits of kind small-world; made, not read."""

    kind: str = "world-trees"
    train: int = Field(default=60_000, ge=1)
    validation: int = Field(default=1000, ge=1)
    test: int = Field(default=1000, ge=0)
    compositional: int = Field(default=1000, ge=0)

    def load(self, seed: int, ledger: Ledger) -> Corpus:
        from regard.data.world import splits as make  # the grammar is only built where it is wanted

        world = make(self.train, self.validation, self.test, self.compositional, seed)
        splits: dict[str, tuple[Pair, ...]] = {}
        for split in ("train", "validation", "test", "compositional"):
            made = enumerate(getattr(world, split), start=1)
            splits[split] = tuple(pair_of(parse(pair.tree), line, "small-world") for line, pair in made)
            ledger.record(split, "small-world", read=len(splits[split]), kept=len(splits[split]))
        note_duplicates("train", splits["train"], ledger)
        ledger.splits.update({split: len(pairs) for split, pairs in splits.items()})
        ledger.check()
        return Corpus(splits, ledger)


def pair_of(tree: Tree, line: int = 0, origin: str = "") -> Pair:
    """Its words, with spaces between them, and its symbols; together they are the tree."""
    return Pair(" ".join(tree.words()), " ".join(tree.symbols()), line, origin)


def read_trees(
    path: Path, split: str, ledger: Ledger, labels: Literal["whole", "bare"] = "whole"
) -> list[Pair]:
    """Every tree of a file under the line where it begins; what is none is skipped, into the ledger."""
    pairs: list[Pair] = []
    read = 0
    for block in blocks(read_lines(path)):
        for number, text in sentences(block):
            read += 1
            try:
                tree = parse(text)
                kept = tree if labels == "whole" else tree.bare()
                if kept is None:
                    raise DataError("the tree has no words beside its traces")
                pairs.append(pair_of(kept, number, str(path)))
            except DataError as error:
                ledger.skip(split, str(path), number, str(error), " ".join(text.split())[:SHOWN])
    ledger.record(split, str(path), read=read, kept=len(pairs))
    return pairs


def blocks(lines: Sequence[str]) -> Iterator[list[Numbered]]:
    """Lines that belong together: one that begins with a bracket and is indented no more than the first begins anew.

    So a tree whose brackets do not close cannot swallow those after it.
    """
    block: list[Numbered] = []
    first = 0
    for number, line in enumerate(lines, start=1):
        indented = len(line) - len(line.lstrip())
        if line.strip() and (not block or (line.lstrip().startswith("(") and indented <= first)):
            if block:
                yield block
            block, first = [], indented
        if line.strip():
            block.append((number, line))
    if block:
        yield block


def sentences(block: Sequence[Numbered]) -> Iterator[Numbered]:
    """The trees of a block, each with its line; a block whose brackets do not pair up stays whole, to be refused."""
    text = "\n".join(line for _, line in block)
    stops, depth, lowest = [0], 0, 0
    for found in re.finditer(r"[()]", text):
        depth += 1 if found.group() == "(" else -1
        lowest = min(lowest, depth)
        if depth == 0:
            stops.append(found.end())
    if depth or lowest:
        stops = [0]
    for start, stop in zip(stops, [*stops[1:], len(text)]):
        one = text[start:stop]
        if one.strip():
            before = text[:start] + one[: len(one) - len(one.lstrip())]
            yield block[before.count("\n")][0], one

"""Treebanks: files of bracketed trees, or the trees of the small world, become pairs of a sentence and its symbols."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from regard.core.errors import DataError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.readers import read_lines
from regard.data.sources.entries import ExampleEntry
from regard.data.sources.example_files import ExampleFiles
from regard.data.sources.files import Found
from regard.data.sources.world import WORLD, WorldPairs
from regard.data.trees import Tree, parse

Labels = Literal["whole", "bare"]
Numbered = tuple[int, str]
SHOWN = 80


class TreeFiles(ExampleFiles[ExampleEntry, Pair]):
    """Files of trees in brackets, one a line or spread over indented lines, plain or compressed.

    ``labels = "bare"`` leaves out what parsers are usually not asked for: traces, and functions such as -SBJ.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".mrg", ".ptb", ".trees", ".txt")
    example: ClassVar[str] = "path/to/trees.mrg"

    kind: str = "trees"
    labels: Labels = "whole"

    def read(self, found: Found[ExampleEntry], split: str, ledger: Ledger) -> list[Pair]:
        return read_trees(found.paths[0], split, ledger, self.labels)


class WorldTrees(WorldPairs):
    """The English sentences of the small world with their trees, in the splits of kind small-world."""

    files_kind: ClassVar[str] = "trees"

    kind: str = "world-trees"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Pair]:
        return self.gather(lambda pair, line: [pair_of(parse(pair.tree), line, WORLD)], seed, ledger)


def pair_of(tree: Tree, line: int = 0, origin: str = "") -> Pair:
    """Its words, with spaces between them, and its symbols; together they are the tree."""
    return Pair(" ".join(tree.words()), " ".join(tree.symbols()), line, origin)


def read_trees(path: Path, split: str, ledger: Ledger, labels: Labels = "whole") -> list[Pair]:
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

"""Treebanks: files of trees in brackets, from which a parser learns."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import GivenFiles, SplitFiles, ending
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.ledger import Ledger
from regard.data.readers import stream_lines
from regard.data.sources.treebanks import blocks, read_trees, sentences
from regard.data.trees import parse

ENDINGS = (".mrg", ".ptb", ".trees")
POSSIBLE = (*ENDINGS, ".txt", ".prd", ".psd", ".tree", "")
HEAD = 400  # lines
MOSTLY = 0.9


class Treebanks(Discoverer):
    """Files of bracketed trees."""

    what = "trees in brackets"
    tasks: tuple[str, ...] = ("parsing",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return bool(given.files) and all(looks_like_trees(path) for path in given.files[:10])

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        files = SplitFiles.of(given, given.files)
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        observations = []
        for split, own in files.by_name().items():
            for path in own:
                check_text(path)
                ledger = Ledger()
                for pair in read_trees(path, split, ledger):
                    tallies[split].add(Seen(pair.source, pair.target))
                tallies[split].skipped.update(one.reason for one in ledger.exceptions)
                counts = ledger.counts(split, str(path))
                observations.append(f"{path.name}: {numbered(counts.read, 'tree')}")
        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        name = files.train[0].name
        findings = Findings(
            "parsing", {"kind": "trees"}, files, entries, tallies, name, f"trees of {name}", "tree",
            observations=[*observations, *given.ignored_files()], reasons=[f"{name} has trees in brackets"],
        )  # fmt: skip
        return findings.discovery()


def looks_like_trees(path: Path) -> bool:
    """By the beginning: an opening bracket, and nearly all that follows are trees."""
    if ending(path) not in POSSIBLE:
        return False
    try:
        lines = list(islice(stream_lines(path), HEAD))
    except DataError:
        return False
    if not next((line for line in lines if line.strip()), "").lstrip().startswith("("):
        return False
    found = [text for block in blocks(lines) for _, text in sentences(block)]
    whole = found[:-1] if len(lines) == HEAD else found
    return bool(whole) and sum(map(is_tree, whole)) >= MOSTLY * len(whole)


def is_tree(text: str) -> bool:
    try:
        parse(text)
    except DataError:
        return False
    return True

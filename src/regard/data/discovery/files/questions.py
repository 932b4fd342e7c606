"""SQuAD's files: articles, their paragraphs, questions about them and answers that stand in them."""

from __future__ import annotations

from pathlib import Path

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import GivenFiles, SplitFiles
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.ledger import Ledger
from regard.data.readers import byte_blocks
from regard.data.sources.questions import NOWHERE, corrected, squad, squad_rows
from regard.data.tables import suffix

BEGINNING = 4096


class SquadFiles(Discoverer):
    """One JSON object with articles, paragraphs and questions."""

    what = "questions about paragraphs, as in SQuAD's files"
    tasks: tuple[str, ...] = ("question-answering",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return any(looks_like_squad(path) for path in given.files)

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        paths = [path for path in given.files if looks_like_squad(path)]
        files = SplitFiles.of(given, paths)
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        observations = []
        for split, own in files.by_name().items():
            for path in own:
                observations.append(f"{path.name}: {count(path, split, tallies[split])}")
        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        findings = Findings(
            "question-answering", {"kind": "questions"}, files, entries, tallies, "question and context", "answer",
            "question", observations=[*observations, *given.ignored_files()],
            reasons=["in SQuAD's format: answers are spans of their contexts"],
        )  # fmt: skip
        return findings.discovery()


def looks_like_squad(path: Path) -> bool:
    """By its first bytes: an object, in which paragraphs are named."""
    if suffix(path) != ".json":
        return False
    try:
        begin = next(byte_blocks(path, BEGINNING), b"").removeprefix(b"\xef\xbb\xbf").lstrip()
    except DataError:
        return False
    return begin.startswith(b"{") and (b'"paragraphs"' in begin or (b'"data"' in begin and b'"version"' in begin[:200]))


def count(path: Path, split: str, tally: Tally) -> str:
    check_text(path)
    held = squad(path)
    if held is None:
        raise DataError(
            f"{path} begins like a SQuAD file, but is not a complete JSON object with \"data\"; download it again"
        )
    rows, without = 0, 0
    for row in squad_rows(held, path):
        rows += 1
        kept = corrected(row, split, Ledger())
        if kept is None:
            tally.skipped[NOWHERE if row.question and row.context.strip() else "no question or no context"] += 1
        else:
            without += not kept.answers
            tally.add(Seen(kept.source, kept.target))
    unanswered = f", {without:,} of them without an answer in the context" if without else ""
    return f"{numbered(rows, 'question')}{unanswered}"

"""The ledger: what was read, kept, skipped, truncated, corrected, duplicated or found in two splits, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from regard.core.files import write_json

LISTED_PER_REASON = 10_000
LINES, EXAMPLES = "lines", "examples"  # what is counted, by default and where it is of several kinds


@dataclass(slots=True)
class Counts:
    """What became of the lines of one file in one split.

    A line counts in ``in_two_splits`` once for each other split in which it is found.
    """

    read: int = 0
    kept: int = 0
    skipped: int = 0
    truncated: int = 0
    duplicated: int = 0
    in_two_splits: int = 0
    corrected: int = 0


@dataclass(frozen=True, slots=True)
class Exceptional:
    """One line that was not simply read and kept. ``reason`` is a class of cases, ``detail`` this one."""

    what: str
    split: str
    file: str
    line: int
    reason: str
    detail: str = ""


@dataclass
class Ledger:
    """Counts by split and file, and every exception with its line (of a folder or a file of pictures: its number).

    Law: for every file, read = kept + skipped; and what was kept is what stands in the splits. The counts are
    exact; of each reason the first ``cap`` lines are listed.
    """

    cap: int = LISTED_PER_REASON
    files: dict[tuple[str, str], Counts] = field(default_factory=dict)
    exceptions: list[Exceptional] = field(default_factory=list)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    units: dict[str, str] = field(default_factory=dict)  # by file, what is counted in it where that is not lines
    splits: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def counts(self, split: str, file: str) -> Counts:
        return self.files.setdefault((split, file), Counts())

    def unit(self, files: Iterable[str]) -> str:
        """What is counted in these files."""
        units = {self.units.get(file, LINES) for file in files}
        return units.pop() if len(units) == 1 else EXAMPLES

    def place(self, file: str, line: int) -> str:
        """Where something was read, in words."""
        return f"{file} {self.unit([file]).removesuffix('s')} {line}"

    def record(self, split: str, file: str, read: int, kept: int) -> None:
        """Lines that were read from a file, and those of them that were kept."""
        counts = self.counts(split, file)
        counts.read += read
        counts.kept += kept

    def skip(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        """A line that was read and never kept."""
        self._count(Exceptional("skipped", split, file, line, reason, detail))

    def drop(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        """A line that was kept at first and is given up now."""
        self.counts(split, file).kept -= 1
        if split in self.splits:
            self.splits[split] -= 1
        self.skip(split, file, line, reason, detail)

    def move(self, split: str, to: str, file: str) -> None:
        """A kept line that is set aside for another split; it counts as read for that one."""
        for name, change in ((split, -1), (to, 1)):
            self.record(name, file, read=change, kept=change)

    def truncate(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        self._count(Exceptional("truncated", split, file, line, reason, detail))

    def duplicate(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        self._count(Exceptional("duplicated", split, file, line, reason, detail))

    def overlap(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        self._count(Exceptional("in_two_splits", split, file, line, reason, detail))

    def correct(self, split: str, file: str, line: int, reason: str, detail: str = "") -> None:
        """A line that is kept, but not quite as it was read."""
        self._count(Exceptional("corrected", split, file, line, reason, detail))

    def _count(self, exception: Exceptional) -> None:
        counts = self.counts(exception.split, exception.file)
        setattr(counts, exception.what, getattr(counts, exception.what) + 1)
        key = (exception.what, exception.reason)
        self.reasons[key] += 1
        if self.reasons[key] <= self.cap:
            self.exceptions.append(exception)

    def total(self, what: str, splits: Iterable[str] = ()) -> int:
        """One count over all files, or over those of some splits."""
        wanted = set(splits) or {split for split, _ in self.files}
        return sum(getattr(counts, what) for (split, _), counts in self.files.items() if split in wanted)

    def check(self) -> None:
        """Asserts that the counts add up: only we can get them wrong."""
        for (split, file), counts in self.files.items():
            assert counts.read == counts.kept + counts.skipped, f"{split}, {file}: {counts} do not add up"
        for what in ("skipped", "truncated", "duplicated", "in_two_splits", "corrected"):
            listed = sum(count for (kind, _), count in self.reasons.items() if kind == what)
            assert listed == self.total(what), f"{self.total(what)} {what}, but {listed} have a reason"
        if self.splits:
            kept, placed = self.total("kept"), sum(self.splits.values())
            assert kept == placed, f"{kept} lines were kept, but {placed} are in the splits"

    def as_dict(self) -> dict[str, Any]:
        return {
            "splits": dict(self.splits),
            "files": [
                {"split": split, "file": file, "unit": self.unit([file]), **asdict(counts)}
                for (split, file), counts in self.files.items()
            ],
            "reasons": [
                {
                    "what": what, "reason": reason, "count": count, "listed": min(count, self.cap),
                    "unit": self.unit(one.file for one in self.exceptions if (one.what, one.reason) == (what, reason)),
                }
                for (what, reason), count in self.reasons.items()
            ],
            "listed_per_reason_at_most": self.cap,
            "notes": list(self.notes),
            "exceptions": [asdict(exception) for exception in self.exceptions],
        }

    def save(self, path: Path) -> None:
        write_json(path, self.as_dict())

"""Parallel files: line i of one belongs to line i of the other, as in train.de and train.en."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import TRAIN, GivenFiles, SplitFiles, ending, listed, siblings
from regard.data.discovery.tables.names import PAIRS, SIDES, is_language
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.readers import COMPRESSIONS, stream_lines

NEVER = (".txt", ".md", ".rst", ".py", ".csv", ".tsv", ".json", ".jsonl", ".html", ".xml", ".toml")
"""Endings that name no language."""
MOST_SHIFTED = 1000  # lines that one file has more than the other, for their place to be looked for
CLEARLY = 0.8
"""A shift is told where it explains the lengths so much better."""


@dataclass(frozen=True, slots=True)
class Side:
    """One file of two: what it is called without its side, and the side."""

    path: Path
    stem: str
    side: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two sides and, by split, the files of both."""

    source: str
    target: str
    splits: Mapping[str, list[tuple[Path, Path]]]
    reasons: tuple[str, ...]
    aside: tuple[Path, ...] = ()


class ParallelFiles(Discoverer):
    """Two files whose lines belong together, or such two for each split."""

    what = "two parallel files, line by line"
    tasks: tuple[str, ...] = ("translation", "embedding")
    columns: tuple[str, ...] = ("source_column", "target_column")

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        if hints.task in self.tasks and given.folder is None and len(given.files) == 2:
            return True
        return bool(sides_of(given.files)) or (len(given.files) == 2 and named_alike(given.files) is not None)

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        found = pairing(given, hints)
        tallies = {split: Tally() for split in found.splits}
        observations = []
        for split, pairs in found.splits.items():
            for source, target in pairs:
                lines = go_by(source, target, tallies[split])
                observations.append(f"{source.name} and {target.name}: {numbered(lines, 'line')} each")
        entries = {
            split: [{"source": str(source), "target": str(target)} for source, target in pairs]
            for split, pairs in found.splits.items()
        }
        (source, target), *_ = found.splits[TRAIN]
        findings = Findings(
            hints.task or self.tasks[0], {"kind": "pairs"}, SplitFiles((source,), aside=found.aside), entries,
            tallies, source.name, target.name, "pair", observations=[*observations, *given.ignored_files()],
            reasons=[*found.reasons],
        )  # fmt: skip
        return findings.discovery()


# -- which files belong together --------------------------------------------------------------------------------


def side_of(path: Path) -> Side | None:
    """A file's side by its ending (train.de) or, for source and target, by a word of its name (src-train.txt)."""
    name = path.name.removesuffix(path.suffix) if path.suffix in COMPRESSIONS else path.name
    stem, _, last = name.rpartition(".")
    if stem and f".{last}" not in NEVER and (is_language(last) or last.lower() in SIDES):
        return Side(path, stem, last)
    words = [word for word in stem.replace("_", "-").replace(".", "-").split("-") if word.lower() in SIDES]
    if len(words) == 1 and ending(path) in (".txt", ""):
        return Side(path, name.replace(words[0], "", 1), words[0])
    return None


def sides_of(files: Sequence[Path]) -> dict[str, list[Side]]:
    """Files by what they are called without their sides; nothing where one has no other side."""
    stems: dict[str, list[Side]] = {}
    for path in files:
        side = side_of(path)
        if side is None:
            return {}
        stems.setdefault(side.stem, []).append(side)
    return stems if all(len({side.side for side in own}) > 1 for own in stems.values()) else {}


def named_alike(files: Sequence[Path]) -> tuple[Path, Path] | None:
    """Two files with one name and different endings, and one number of lines."""
    first, second = files
    alike = first.stem == second.stem and ending(first) != ending(second)
    if not alike or any(ending(path) in NEVER for path in files):
        return None
    try:
        lines = [sum(1 for _ in stream_lines(path)) for path in files]
    except DataError:
        return None
    return (first, second) if lines[0] == lines[1] > 1 else None


def pairing(given: GivenFiles, hints: Hints) -> Pairing:
    stems = sides_of(given.files)
    if not stems:
        first, second = given.files
        why = "as you said" if hints.task else "since both have one name and the same number of lines"
        reason = f"line i of {second.name} belongs to line i of {first.name}, {why}; the first is the source"
        return Pairing(first.name, second.name, {TRAIN: [(first, second)]}, (reason,))
    sides = list(dict.fromkeys(side.side for own in stems.values() for side in own))
    source, target, reason = direction(sides, given, hints)
    both: dict[str, tuple[Path, Path]] = {}
    for stem, own in stems.items():
        by_side = {side.side: side.path for side in own}
        missing = [side for side in (source, target) if side not in by_side]
        if missing:
            raise DataError(f"{listed(list(by_side.values()))}: no file for {missing[0]!r} beside; name both files")
        both[stem] = by_side[source], by_side[target]
    beside: tuple[Path, ...] = ()
    if given.folder is None and len(both) == 1:
        ((stem, (first, _)),) = both.items()
        for path in siblings(first):
            side = side_of(path)
            other = next((one for one in siblings(both[stem][1]) if side and _same(side, side_of(one))), None)
            if side and other:
                both[side.stem] = path, other
                beside = (*beside, path, other)
    sources = {pair[0]: pair for pair in both.values()}
    files = SplitFiles.of(given, [*sources])
    splits = {split: [sources[path] for path in paths] for split, paths in files.by_name().items()}
    kept = [f"found beside them: {listed(beside)}"] if beside else []
    told = [one for one in files.reasons if not one.startswith("found beside")]
    used = {path for pairs in splits.values() for pair in pairs for path in pair}
    aside = tuple(path for path in given.files if path not in used)
    return Pairing(source, target, splits, (reason, *told, *kept), aside)


def _same(side: Side, other: Side | None) -> bool:
    return other is not None and other.stem == side.stem


def direction(sides: Sequence[str], given: GivenFiles, hints: Hints) -> tuple[str, str, str]:
    """The source's side and the target's, and why."""
    wished = (hints.source_column, hints.target_column)
    for name in filter(None, wished):
        if name not in sides:
            raise DataError(f"there is no side {name!r}; the files end in {', '.join(sides)}")
    if any(wished):
        rest = [side for side in sides if side not in wished]
        if len(rest) == 1 or all(wished):
            source, target = wished[0] or rest[0], wished[1] or rest[0]
            return source, target, f"from {source} to {target}, as you said"
    if len(sides) == 2:
        small = tuple(side.lower() for side in sides)
        for pair in PAIRS:
            if set(pair) == set(small):
                source, target = (sides[small.index(one)] for one in pair)
                return source, target, f"from {source} to {target}, by their names"
        if given.folder is None:
            return sides[0], sides[1], f"from {sides[0]} to {sides[1]}, since {given.files[0].name} is named first"
    where = given.folder or given.files[0].parent
    ways = [f"  --source-column {one} --target-column {other}" for one in sides for other in sides if one != other]
    raise DataError(
        f"{where.name} has parallel files for {', '.join(sides)}; which is the source, and which the target? Say so "
        "with "
        "one of:\n" + "\n".join(ways[:6])
    )


# -- lines ------------------------------------------------------------------------------------------------------


def go_by(source: Path, target: Path, tally: Tally) -> int:
    """Counts the pairs of two files, which must have as many lines."""
    counts = [check_text(path).lines for path in (source, target)]
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} has {counts[0]:,} lines, but {target} has {counts[1]:,}; line i of one file must belong to line "
            f"i of the other{shifted(source, target)}. Look for a line that was lost or broken in two, or check that "
            "the files belong together"
        )
    for given, answer in zip(stream_lines(source), stream_lines(target), strict=True):
        given, answer = given.strip(), answer.strip()
        if given and answer:
            tally.add(Seen(given, answer))
        else:
            empty = "both sides are" if not (given or answer) else "the target is" if given else "the source is"
            tally.skipped[f"{empty} empty"] += 1
    return counts[0]


def shifted(source: Path, target: Path) -> str:
    """From where on lengths fit better with the next lines, if that is clear; else nothing."""
    lengths = [np.log1p([len(line) for line in stream_lines(path)]) for path in (source, target)]
    longer, shorter = sorted(lengths, key=len, reverse=True)
    more = len(longer) - len(shorter)
    if more > MOST_SHIFTED or len(shorter) < 10:
        return ""
    ratio = float(np.median(longer)) - float(np.median(shorter))
    straight = np.abs(longer[: len(shorter)] - shorter - ratio)
    moved = np.abs(longer[more:] - shorter - ratio)
    before, after = np.concatenate([[0.0], np.cumsum(straight)]), np.cumsum(moved[::-1])[::-1]
    costs = before + np.concatenate([after, [0.0]])
    place = int(costs.argmin())
    clear = costs[place] < CLEARLY * costs[-1]
    return f" (by the lengths, they seem shifted from about line {place + 1:,} on)" if clear else ""

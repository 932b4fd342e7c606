"""A folder for each class, with pictures or text files in it; perhaps below a folder for each split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from regard.core.errors import DataError
from regard.data.class_files import class_files
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.files import picture_facts, sound_facts
from regard.data.discovery.found import Discovery, Hints, numbered
from regard.data.discovery.given import TRAIN, GivenFiles, SplitFiles, ending, listed, role_of_word, role_word
from regard.data.discovery.tables.columns import PICTURE_ENDINGS
from regard.data.discovery.tally import Findings, Measure, Seen, Tally, given_text
from regard.data.modalities.audio.decoding import SUFFIXES as SOUND_ENDINGS
from regard.data.readers import read_lines, summarise

READ_AS = {".txt", ".text", ".md", ""}
"""Endings of the files in class folders that are texts without doubt."""
FEWEST = 2  # classes
FEWEST_TEXTS = 2  # of each; folders with a single file each are more likely chapters


Fits: TypeAlias = Callable[[Path], bool]
GoBy: TypeAlias = Callable[..., list[str]]
"""Counts labelled files in a tally and says what is wrong with them."""


class ClassFolders(NamedTuple):
    """The folders of class folders, by split."""

    splits: Mapping[str, Path]
    reasons: tuple[str, ...] = ()
    aside: tuple[Path, ...] = ()


def class_folders(given: GivenFiles, fits: Fits) -> ClassFolders | None:
    """Where the one folder that was named, or those in it that are called like splits, have a folder for each class;
    None where files that ``fits`` accepts are not so."""
    folder = given.folder
    if folder is None:
        return None
    below = {path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")}
    roles = {name: role_of_word(role_word(name)) for name in below}
    if TRAIN in roles.values():
        splits: dict[str, Path] = {}
        for name, role in roles.items():
            if role:
                splits.setdefault(role, below[name])
        aside = tuple(path for name, path in below.items() if path not in splits.values())
        reasons = tuple(f"{path.name}/ is for {split}, by its name" for split, path in splits.items())
    else:
        splits, reasons, aside = {TRAIN: folder}, (), ()
    files = class_files(splits[TRAIN])
    found = {label for label, path in files if fits(path)}
    enough = sum(fits(path) for _, path in files) >= 0.5 * len(files)
    if not found or not enough or any(role_word(label) for label in found):
        return None
    return ClassFolders(splits, reasons, aside)


def check_classes(folder: Path, labels: Sequence[str], what: str) -> None:
    if len(set(labels)) < FEWEST:
        raise DataError(
            f"{folder} has {what} in one folder only, {labels[0]!r}, so there is nothing to classify; a folder for "
            "each class is expected, with two classes at least"
        )


def gathered(
    found: ClassFolders, kind: str, tallies: Mapping[str, Tally], measure: Measure, given: GivenFiles, what: str
) -> Discovery:
    """The discovery of folders whose files have gone by."""
    train = found.splits[TRAIN]
    entries = {split: [str(path)] for split, path in found.splits.items()}
    findings = Findings(
        "classification", {"kind": kind}, SplitFiles((train,)), entries, tallies, train.name, "", what, measure
    )  # fmt: skip
    for split, path in found.splits.items():
        classes = len(tallies[split].labels)
        findings.observations.append(
            f"{path.name}/: {numbered(tallies[split].examples, what)} in {numbered(classes, 'class folder')}"
        )
    findings.observations += [*given.ignored_files()]
    findings.observations += [f"left aside: {listed(found.aside)}"] if found.aside else []
    findings.reasons += [f"{train.name}/ has a folder for each class, whose name is the label", *found.reasons]
    return findings.discovery()


class OpenedFolders(Discoverer):
    """Files of one kind in a folder for each class, opened one by one."""

    tasks: tuple[str, ...] = ("classification",)

    def __init__(self, kind: str, endings: Collection[str], go_by: GoBy, measure: Measure) -> None:
        self.kind, self.endings, self.go_by, self.measure = kind, endings, go_by, measure
        self.what = f"{kind}s in a folder for each class"

    def fits(self, path: Path) -> bool:
        return path.suffix.lower() in self.endings

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return class_folders(given, self.fits) is not None

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        found = class_folders(given, self.fits)
        assert found is not None
        tallies = {split: Tally() for split in found.splits}
        problems: list[str] = []
        for split, folder in found.splits.items():
            files = class_files(folder)
            check_classes(folder, [label for label, _ in files], f"{self.kind}s")
            problems += self.go_by(files, tallies[split])
        made = gathered(found, f"{self.kind}s", tallies, self.measure, given, self.kind)
        return replace(made, warnings=(*made.warnings, *problems))


def picture_folders() -> OpenedFolders:
    return OpenedFolders("picture", PICTURE_ENDINGS, picture_facts.go_by, picture_facts.measure_pictures)


def sound_folders() -> OpenedFolders:
    return OpenedFolders("sound", SOUND_ENDINGS, sound_facts.go_by, sound_facts.measure_sounds)


class TextFolders(Discoverer):
    """Text files in a folder for each class."""

    what = "text files in a folder for each class"
    tasks: tuple[str, ...] = ("classification",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        found = class_folders(given, is_text)
        if found is None or hints.task == "classification":
            return found is not None
        train = found.splits[TRAIN]
        labels = Counter(label for label, _ in class_files(train))
        loose = any(path.parent == train for path in given.files)
        return len(labels) >= FEWEST and min(labels.values()) >= FEWEST_TEXTS and not loose

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        found = class_folders(given, is_text)
        assert found is not None
        tallies = {split: Tally() for split in found.splits}
        for split, folder in found.splits.items():
            files, wrong = class_files(folder), []
            check_classes(folder, [label for label, _ in files], "text files")
            for label, path in files:
                try:
                    if path.stat().st_size:
                        check_text(path)
                    text = "\n".join(read_lines(path)).strip()
                except DataError as error:
                    wrong.append(str(error))
                    continue
                if text:
                    tallies[split].add(Seen(text, label, (label,)))
                else:
                    tallies[split].skipped["the file is empty"] += 1
            if wrong:
                raise DataError(f"{folder}: {numbered(len(wrong), 'file')} cannot be read as texts: {summarise(wrong)}")
        made = gathered(found, "labelled", tallies, given_text, given, "text")
        other = "for a language model of all files: --task language-model"
        return replace(made, reasons=(*made.reasons, other))


def is_text(path: Path) -> bool:
    return ending(path) in READ_AS

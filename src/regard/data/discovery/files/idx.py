"""idx files, in which MNIST and its relatives come: pictures in one file, labels in another beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.files.picture_facts import idx_facts
from regard.data.discovery.found import Discovery, Hints, PictureFacts, numbered
from regard.data.discovery.given import TEST, GivenFiles, SplitFiles, listed, role_of, without_role
from regard.data.discovery.measuring import Counted
from regard.data.discovery.tally import Findings, Seen, Tally
from regard.data.modalities.image.idx import is_idx, labels_beside, read_idx_pair

USUAL_TEST = "t10k"
"""What MNIST's makers call the test split."""


class IdxFiles(Discoverer):
    """Pictures in idx files."""

    what = "pictures and labels in idx files, as MNIST's are"
    tasks: tuple[str, ...] = ("classification",)

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return any(is_idx(path) for path in given.files)

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        files = idx_splits(given)
        tallies: dict[str, Tally] = {split: Tally() for split in files.by_name()}
        observations = []
        for split, paths in files.by_name().items():
            for path in paths:
                pictures, labels = read_idx_pair(path, labels_beside(path))
                for pixels, label in zip(pictures, labels.tolist(), strict=True):
                    digest = hashlib.blake2b(pixels.tobytes(), digest_size=16).hexdigest()
                    tallies[split].add(Seen(digest, str(label), (str(label),)))
                observations.append(f"{path.name}: {numbered(len(pictures), 'picture')} for {split}")
        first = files.train[0]
        facts = idx_facts(first.name, read_idx_pair(first, labels_beside(first))[0], first)

        def measure(name: str, tally: Tally, counted: Counted) -> PictureFacts:
            return facts

        entries = {split: [str(path) for path in own] for split, own in files.by_name().items()}
        findings = Findings(
            "classification", {"kind": "pictures"}, files, entries, tallies, first.name, "", "picture", measure,
            observations=[*observations, *given.ignored_files()],
            reasons=[f"{first.name} is an idx file, and {labels_beside(first).name} beside it has its labels"],
        )  # fmt: skip
        return findings.discovery()


def idx_splits(given: GivenFiles) -> SplitFiles:
    """Files of pictures by split; t10k is for testing, as everybody knows it."""
    pictures = [path for path in given.files if is_idx(path) and "labels" not in path.name]
    if not pictures:
        raise DataError(f"{listed(given.files)}: labels without pictures; name the idx file of the pictures")
    if given.folder is None and len(pictures) == 1:
        beside = sorted(path for path in pictures[0].parent.iterdir() if is_idx(path) and "labels" not in path.name)
        tests = [path for path in beside if is_test(path) and path != pictures[0]]
        pictures += [path for path in tests if rest(path) == rest(pictures[0])]
    held = tuple(path for path in pictures if is_test(path)) if len(pictures) > 1 else ()
    train = tuple(path for path in pictures if path not in held)
    named = SplitFiles.of(given, train) if train else None
    if named is None:
        raise DataError(f"{listed(held)}: all are for testing; name a file to learn from, too")
    reasons = (f"{listed(held)} is for testing, by its name",) if held else ()
    return SplitFiles(named.train, named.validation, held, {}, (), (*named.reasons, *reasons))


def is_test(path: Path) -> bool:
    return path.name.startswith(USUAL_TEST) or role_of(path) == TEST


def rest(path: Path) -> str:
    return without_role(path.name.replace(USUAL_TEST, "test", 1))

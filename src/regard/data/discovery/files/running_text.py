"""Running text: a file, several, or a folder of them, from which a language model learns what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import TextFile, check_text
from regard.data.discovery.found import Discovery, Hints, TextFacts, numbered, percent
from regard.data.discovery.given import (
    SPLITS,
    TEST,
    TRAIN,
    VALIDATION,
    GivenFiles,
    SplitFiles,
    ending,
    listed,
    split_table,
)
from regard.data.discovery.measuring import LINE, text_facts
from regard.data.readers import COMPRESSIONS
from regard.data.sources.entries import is_pattern, matching

LANGUAGE_MODELS = ("language-model", "masked-language-model")
MEASURED = 16 << 20  # bytes
PIECE = 1 << 16
FEWEST_BYTES = 100  # of a text of which ends can be set aside
SHARE = 0.1
UNSPACED = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
LISTED_WORDS, LISTED_CHARACTERS, FEWEST_LISTED = 3, 80, 50
NEARLY = 0.97  # of all lines, empty ones among them
NO_TEXTS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".wav", ".flac", ".ogg", ".mp3", ".npy", ".npz", ".pt", ".bin",
            ".safetensors", ".pkl", ".so", ".exe", ".pyc")  # fmt: skip
MANY = 5  # files of which each is told
FEW = 3  # files that a recipe names one by one, even where a pattern would do


class RunningText(Discoverer):
    """Files of running text."""

    what = "running text"
    tasks = LANGUAGE_MODELS

    def recognises(self, given: GivenFiles, hints: Hints) -> bool:
        return bool(texts_among(given))

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery:
        paths = texts_among(given)
        packed = [path for path in paths if path.suffix in COMPRESSIONS]
        if packed:
            raise DataError(
                f"running text is read unpacked; unpack {listed(packed)} first, e.g. with: gunzip {packed[0].name}"
            )
        filled = [path for path in paths if path.stat().st_size]
        files = SplitFiles.of(given, filled or paths, strict=True)
        held = {split: {path: check_text(path) for path in own} for split, own in files.by_name().items()}
        sizes = {split: sum(one.lines for one in own.values()) for split, own in held.items()}
        facts = facts_of(held[TRAIN])
        if not facts.alphabet:
            raise DataError(f"{listed(paths)}: there are blank lines and nothing else; name a file with a text in it")
        shares, reasons, warnings = set_aside(held[TRAIN], set(held))
        documents, why, unsure = documents_of(facts, held[TRAIN])
        entries = {split: named(own, given) for split, own in files.by_name().items()}
        aside = [path for path in given.files if path not in set(paths)]
        empty = len(paths) - len(filled)
        left = sizes[TRAIN]
        examples = {TRAIN: left}
        share_keys = {f"{split}_share": share for split, share in shares.items()}
        for split, share in shares.items():
            examples[split] = round(left * share)
            examples[TRAIN] -= examples[split]
        told = [f"{path.name}: {size(one)}" for own in held.values() for path, one in [*own.items()][:MANY]]
        if sum(map(len, held.values())) > len(told):
            told = [f"{numbered(len(own), 'file')} for {split}" for split, own in held.items()] + told[:3]
        told += [*facts.sentences(), *files.ignored_files(), *given.ignored_files()]
        told += [f"ignored, since they are not text: {listed(aside)}"] if aside else []
        told += [f"{numbered(empty, 'file is', 'files are')} empty"] if empty else []
        return Discovery(
            hints.task or LANGUAGE_MODELS[0],
            {"kind": "text", **documents, **split_table(entries), **share_keys},
            tuple(told),
            (f"{listed(paths)}: running text, so a language model learns to continue it", *why, *files.reasons,
             *reasons),
            facts,
            examples={split: examples.get(split, sizes.get(split, 0)) for split in {**dict.fromkeys(SPLITS), **sizes}
                      if split in examples or split in sizes},
            warnings=(*warnings, *unsure),
        )  # fmt: skip


def texts_among(given: GivenFiles) -> list[Path]:
    """Of a folder's files those of the endings that its texts have; of named files all."""
    fitting = [path for path in given.files if ending(path) not in NO_TEXTS]
    return fitting if given.folder is None or len(fitting) < len(given.files) else [*given.files]


def size(file: TextFile) -> str:
    return f"{numbered(file.characters, 'character')} in {numbered(file.lines, 'line')}"


def set_aside(train: dict[Path, TextFile], named: set[str]) -> tuple[dict[str, float], list[str], list[str]]:
    """Shares of each file's end for the splits that have no files, why, and what is to be said about it."""
    wanted = [split for split in (VALIDATION, TEST) if split not in named]
    if sum(one.bytes for one in train.values()) < FEWEST_BYTES:
        shares = {VALIDATION: 0.0} if VALIDATION in wanted else {}
        why = f"the text is too short to set its end aside for {' and '.join(wanted)}"
        return shares, [], [why] if wanted else []
    shares = dict.fromkeys(wanted, SHARE)
    reasons = [
        f"no file is named for {split}: {percent(SHARE)} of the text, at the end of "
        f"{'the' if len(train) == 1 else 'each'} file"
        for split in wanted
    ]
    return shares, reasons, []


def named(paths: Sequence[Path], given: GivenFiles) -> list[str]:
    """How a recipe names these files: one by one, or by a pattern where there are many and it finds exactly them."""
    if given.folder is None or len(paths) <= FEW:
        return [str(path) for path in paths]
    suffixes = sorted({path.suffix for path in paths})
    roots = [given.folder, *(path for path in sorted(given.folder.iterdir()) if path.is_dir())]
    for root in roots:
        patterns = [root / "**" / f"*{suffix}" for suffix in suffixes if suffix]
        found = {path for pattern in patterns if is_pattern(pattern) for path in matching(pattern)}
        if found == set(paths) and not is_pattern(root):
            return [str(pattern) for pattern in patterns]
    return [str(path) for path in paths]


def documents_of(facts: TextFacts, files: dict[Path, TextFile]) -> tuple[dict[str, str], list[str], list[str]]:
    """Whether every line is a document of its own, as in a list of names; why, and what is to be warned of."""
    lines = [line for text in pieces_of(files) for line in text.split("\n")]
    filled = [line for line in lines if line.strip()]
    unspaced = any(facts.scripts.get(script, 0) > 0.5 for script in UNSPACED)
    short = sum(len(line.split()) <= LISTED_WORDS and len(line) <= LISTED_CHARACTERS for line in filled)
    if unspaced or len(filled) < FEWEST_LISTED or short < NEARLY * len(lines):
        return {}, [], []
    is_sorted = filled == sorted(filled) or filled == sorted(filled, key=str.lower)
    warning = (
        "the lines are in the order of the alphabet, so what is set aside at the end is unlike the rest; shuffle them"
    )
    return {"documents": "line"}, ["a list of short lines: each is a document of its own"], [warning] * is_sorted


# -- what the text is like --------------------------------------------------------------------------------------


def facts_of(files: dict[Path, TextFile]) -> TextFacts:
    """Measured line by line, in evenly taken pieces where there is more than is quickly read."""
    lines = [line for text in pieces_of(files) for line in text.split("\n") if line.strip()]
    total = sum(one.lines for one in files.values())
    name = next(iter(files)).name if len(files) == 1 else numbered(len(files), "file")
    return text_facts(
        name, lines, total, characters=sum(one.characters for one in files.values()), unit=LINE
    )


def pieces_of(files: dict[Path, TextFile]) -> list[str]:
    """The texts, or pieces of them from everywhere, each of whole lines where it has some."""
    places = [(path, start) for path, one in files.items() for start in range(0, one.bytes, PIECE)]
    wanted = len(places)
    total = sum(one.bytes for one in files.values())
    if total > MEASURED:
        wanted = max(1, len(places) * MEASURED // total)
    taken = [places[place] for place in np.unique(np.linspace(0, len(places) - 1, wanted).astype(int))]
    if wanted == len(places):
        return [path.read_text(encoding="utf-8-sig") for path in files]
    return [piece(path, start) for path, start in taken]


def piece(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        raw = file.read(PIECE)
    text = raw.decode("utf-8", "ignore")
    first, last = text.find("\n"), text.rfind("\n")
    begin = first + 1 if start and first >= 0 else 0
    return text[begin : last + 1] if last > begin else text

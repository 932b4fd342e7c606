"""What pictures are like: sizes, grey or colour, and those that cannot be read, by opening evenly taken ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.data.discovery.found import PictureFacts
from regard.data.discovery.measuring import SHOWN, Counted
from regard.data.discovery.tally import Seen, Tally
from regard.data.readers import summarise

OPENED = 2000
VERIFIED_BYTES = 1 << 30
LISTED = 20


def picture_facts(name: str, pictures: Sequence[Path], examples: int) -> PictureFacts:
    """Opens some of the pictures whole, as training will."""
    from regard.data.modalities.image.decoding import GREY_MODES  # which needs Pillow
    from regard.data.modalities.image.opening import UNREADABLE, Image, reason

    sizes: Counter[tuple[int, int]] = Counter()
    modes: Counter[str] = Counter()
    unreadable: list[str] = []
    taken = [pictures[place] for place in np.unique(np.linspace(0, len(pictures) - 1, OPENED).astype(int))]
    for path in taken:
        try:
            with Image.open(path) as image:
                mode, (width, height) = image.mode, image.size
                if image.format == "JPEG":
                    image.draft("L", (1, 1))  # all bytes are read, few pixels made
                image.load()
        except (FileNotFoundError, *UNREADABLE) as error:
            why = "no such file" if isinstance(error, FileNotFoundError) else reason(error)
            unreadable.append(f"{path.name}: {why}")
            continue
        sizes[height, width] += 1
        modes["grey" if mode in GREY_MODES or mode.startswith("I") else "colour"] += 1
    if not sizes:
        raise DataError(f"{name}: none of {len(taken):,} pictures can be read: {'; '.join(unreadable[:LISTED])}")
    return PictureFacts(
        name, examples, len(taken), dict(sizes.most_common()), dict(modes.most_common()), tuple(unreadable),
        tuple(str(path) for path in taken[:: max(1, len(taken) // SHOWN)][:SHOWN]),
    )  # fmt: skip


def idx_facts(name: str, pictures: np.ndarray, path: Path) -> PictureFacts:
    """The same of pictures_BHW or BHWC in one file, which all are alike."""
    count = len(pictures)
    mode = "grey" if pictures.ndim == 3 or pictures.shape[3] == 1 else "colour"
    size = (int(pictures.shape[1]), int(pictures.shape[2]))
    return PictureFacts(name, count, count, {size: count}, {mode: count}, samples=(f"{path}[0]",))


def measure_pictures(name: str, tally: Tally, counted: Counted) -> PictureFacts:
    return picture_facts(name, [Path(path) for path in tally.given.things()], tally.examples)


def go_by(pictures: Sequence[tuple[str, Path]], tally: Tally, *, labelled: bool = True) -> list[str]:
    """Counts labelled pictures, equal ones as equal; what cannot be read is skipped and told."""
    from regard.data.modalities.image.verifying import Verdict, verify_files

    paths = [path for _, path in pictures]
    sizes = (path.stat().st_size if path.is_file() else 0 for path in paths)
    verdicts: Iterable[Verdict]
    if sum(sizes) > VERIFIED_BYTES:  # whether there are equal ones among so many, only training finds out
        verdicts = (Verdict(str(path), "" if path.is_file() else "no such file") for path in paths)
    else:
        verdicts = verify_files(paths, "decode" if len(paths) <= OPENED else "header")
    problems = []
    for (label, path), verdict in zip(pictures, verdicts, strict=True):
        if verdict.problem:
            tally.skipped["not a readable picture"] += 1
            problems.append(f"{path.name}: {verdict.problem}")
        else:
            tally.add(Seen(str(path), label, (label,) if labelled else (), verdict.digest))
    if problems and not tally.examples:
        raise DataError(f"none of {len(paths):,} files is a readable picture: {summarise(problems)}")
    return [f"cannot be read: {summarise(problems)}"] if problems else []

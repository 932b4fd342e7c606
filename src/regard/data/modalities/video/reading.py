"""Reading clips: folders of numbered frames, each looked at once; what is missing or of another size is named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.image.decoding import picture_size
from regard.data.modalities.image.pictures import Picture
from regard.data.modalities.image.verifying import digest, verdict
from regard.data.modalities.text.modality import PICTURES
from regard.data.modalities.video.clips import FrameFolder, LabelledClip
from regard.data.prefetch import prefetch
from regard.data.readers import summarise

NUMBER = re.compile(r"^(.*?)(\d+)$")
UNREADABLE = "not a readable clip"
SHOWN = 10


def read_clip(folder: Path) -> FrameFolder:
    """Every frame is decoded once; what is wrong is told in words, the folder's name first."""
    names = numbered(folder)
    found = [verdict(folder / name, "decode") for name in names]
    broken = [f"{name} ({one.problem})" for name, one in zip(names, found, strict=True) if one.problem]
    if broken:
        raise DataError(f"{folder}: {listed(broken)} cannot be read; replace the files, or remove the clip")
    sizes = [picture_size(Picture(str(folder / name))) for name in names]
    others = [f"{name} ({size[0]} × {size[1]})" for name, size in zip(names, sizes, strict=True) if size != sizes[0]]
    if others:
        raise DataError(
            f"{folder}: its first frame {names[0]} has {sizes[0][0]} × {sizes[0][1]} pixels, and other sizes have "
            f"{listed(others)}; bring all frames of a clip to one size"
        )
    return FrameFolder(str(folder), names, *sizes[0], digest("".join(one.digest for one in found).encode()))


def numbered(folder: Path) -> tuple[str, ...]:
    """The names of a folder's frames in the order of their numbers, which may begin anywhere and miss none."""
    frames: dict[int, str] = {}
    beginnings: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        match = NUMBER.match(path.stem)
        if path.suffix.lower() not in PICTURES or match is None or path.name.startswith("."):
            continue
        beginnings.setdefault(match[1], path.name)
        before = frames.setdefault(int(match[2]), path.name)
        if before != path.name and len(beginnings) == 1:
            raise DataError(f"{folder}: {before} and {path.name} have the same number; remove one of them")
    if len(beginnings) > 1:
        raise DataError(
            f"{folder} holds several sequences of frames, such as {listed(list(beginnings.values()))}; give each a "
            "folder of its own"
        )
    if not frames:
        raise DataError(f"{folder} has no numbered frames in it, such as frame-001.png")
    missing = sorted(set(range(min(frames), max(frames) + 1)) - frames.keys())
    if missing:
        raise DataError(
            f"{folder}: between {frames[min(frames)]} and {frames[max(frames)]} there is no frame number "
            f"{listed(list(map(str, missing)))}; put it back, or number the frames anew"
        )
    return tuple(frames[number] for number in sorted(frames))


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def read_class_folders(folder: Path, split: str, ledger: Ledger) -> list[LabelledClip]:
    """``folder/class/clip/001.png``: a clip is a folder with frames in it, its class the folder below ``folder``."""
    found = [
        (label.name, clip)
        for label in folders_in(folder)
        for clip in sorted({path.parent for path in label.rglob("*") if path.suffix.lower() in PICTURES})
    ]
    if not found:
        raise DataError(
            f"{folder} has no folders of frames in it; a folder for each class and in it one for each clip are "
            f"expected, as in {folder / 'left' / 'clip-1' / '001.png'}"
        )
    ledger.units[str(folder)] = "clips"
    kept, wrong = [], []
    for line, ((label, _), clip) in enumerate(zip(found, prefetch(attempt, [own for _, own in found], 8)), start=1):
        if isinstance(clip, str):
            ledger.skip(split, str(folder), line, UNREADABLE, clip)
            wrong.append(clip)
        else:
            kept.append(LabelledClip(clip, label, line=line, origin=str(folder)))
    ledger.record(split, str(folder), read=len(found), kept=len(kept))
    if not kept:
        raise DataError(f"{folder}: none of {len(found):,} folders is a readable clip: {summarise(wrong)}")
    return kept


def attempt(folder: Path) -> FrameFolder | str:
    """A clip, or what is wrong with it."""
    try:
        return read_clip(folder)
    except DataError as error:
        return str(error)


def folders_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; name one with a folder for each class, and clips in them")
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]

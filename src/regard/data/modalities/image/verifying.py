"""Verifying: every picture's file is decoded once before training, so that none can break it midway."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.data.modalities.image.opening import UNREADABLE, Image, reason
from regard.data.prefetch import prefetch

Verify: TypeAlias = Literal["decode", "header"]
"""``decode`` finds whatever is broken and costs about as much as an epoch's decoding; ``header`` finds only what is no
picture at all: a file that breaks off later then ends the training."""
DIGEST_BYTES = 16


class Verdict(NamedTuple):
    """What was found out about a file: a digest of its bytes, or what is wrong with it."""

    digest: str = ""
    problem: str = ""


def verify_files(paths: Sequence[Path], verify: Verify = "decode") -> Iterator[Verdict]:
    """A verdict for each file, in order; as many at once as there are processors, since decoding needs no lock."""
    workers = os.cpu_count() or 1
    return prefetch(lambda path: verdict(path, verify), paths, ahead=8 * workers, workers=workers)


def verdict(path: Path, verify: Verify) -> Verdict:
    try:
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as image:
            if verify == "decode":
                if image.format == "JPEG":
                    image.draft("L", (1, 1))  # all bytes are read, few pixels made
                image.load()
    except FileNotFoundError:
        return Verdict(problem="no such file")
    except UNREADABLE as error:
        return Verdict(problem=reason(error))
    return Verdict(digest(data))


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()

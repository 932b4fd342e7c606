"""Looks at files of a user and says what they hold, so that a recipe can be written for them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.data.discovery import DISCOVERERS
from regard.data.discovery.discoverer import Discoverer
from regard.data.discovery.encodings import check_text
from regard.data.discovery.found import Discovery, Hints, option
from regard.data.discovery.given import GivenFiles, listed

NO_HINTS = Hints()


def discover(paths: Sequence[Path], hints: Hints = NO_HINTS) -> Discovery:
    """What the files hold, by the first kind of data that recognises itself in them. What is not certain, and what is
    wrong, is told in a DataError that says what was found and what to say."""
    known = [*discoverers()]
    tasks = list(dict.fromkeys(task for one in known for task in one.tasks))
    if hints.task and hints.task not in tasks:
        raise DataError(
            f"task {hints.task!r}{nearest(hints.task, tasks)} cannot be set up from files alone; those that can: "
            f"{', '.join(tasks)}. For another, write a recipe"
        )
    given = GivenFiles.of(paths)
    for one in known:
        if (not hints.task or hints.task in one.tasks) and one.recognises(given, hints):
            check_columns(one, given, hints)
            return one.discover(given, hints)
    if hints.task:
        raise unfit(given, hints, known)
    for path in given.files[:1]:
        check_text(path)
    raise DataError(
        f"{listed(given.files)}: nothing that can be learned from was recognised; recognised are "
        f"{'; '.join(one.what for one in known)}"
    )


def check_columns(found: Discoverer, given: GivenFiles, hints: Hints) -> None:
    idle = [option(name) for name in hints.columns() if name not in found.columns]
    if idle:
        raise DataError(
            f"{listed(given.files)}: this seems to be {found.what}, where {' and '.join(idle)} has no effect; leave it "
            "out"
        )


def unfit(given: GivenFiles, hints: Hints, known: Sequence[Discoverer]) -> DataError:
    """A task that the files are not for."""
    found = next((one for one in known if one.recognises(given, Hints())), None)
    needed = "; or ".join(one.what for one in known if hints.task in one.tasks)
    if found is None:
        return DataError(f"{listed(given.files)}: --task {hints.task} needs {needed}; nothing like it was recognised")
    return DataError(
        f"{listed(given.files)}: this seems to be {found.what}, which is for {', '.join(found.tasks)}; --task "
        f"{hints.task} needs {needed}"
    )


def discoverers() -> Iterator[Discoverer]:
    """In the order in which they are asked."""
    for address in DISCOVERERS:
        module, _, name = address.partition(":")
        one: Discoverer = getattr(importlib.import_module(module), name)()
        yield one

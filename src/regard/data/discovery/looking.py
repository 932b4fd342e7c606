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
from regard.data.discovery.found import Discovery, Wishes, option
from regard.data.discovery.given import Given, listed

NO_WISHES = Wishes()


def discover(paths: Sequence[Path], wishes: Wishes = NO_WISHES) -> Discovery:
    """What the files hold, by the first kind of data that recognises itself in them. What is not certain, and what is
    wrong, is told in a DataError that says what was found and what to say."""
    known = [*discoverers()]
    tasks = list(dict.fromkeys(task for one in known for task in one.tasks))
    if wishes.task and wishes.task not in tasks:
        raise DataError(
            f"task {wishes.task!r}{nearest(wishes.task, tasks)} cannot be set up from files alone; those that can: "
            f"{', '.join(tasks)}. For another, write a recipe"
        )
    given = Given.of(paths)
    for one in known:
        if (not wishes.task or wishes.task in one.tasks) and one.recognises(given, wishes):
            check_columns(one, given, wishes)
            return one.discover(given, wishes)
    if wishes.task:
        raise unfit(given, wishes, known)
    for path in given.files[:1]:
        check_text(path)
    raise DataError(
        f"{listed(given.files)}: nothing that can be learned from was recognised; recognised are "
        f"{'; '.join(one.what for one in known)}"
    )


def check_columns(found: Discoverer, given: Given, wishes: Wishes) -> None:
    idle = [option(name) for name in wishes.columns() if name not in found.columns]
    if idle:
        raise DataError(
            f"{listed(given.files)}: this seems to be {found.what}, where {' and '.join(idle)} has no effect; leave it "
            "out"
        )


def unfit(given: Given, wishes: Wishes, known: Sequence[Discoverer]) -> DataError:
    """A task that the files are not for."""
    found = next((one for one in known if one.recognises(given, Wishes())), None)
    needed = "; or ".join(one.what for one in known if wishes.task in one.tasks)
    if found is None:
        return DataError(f"{listed(given.files)}: --task {wishes.task} needs {needed}; nothing like it was recognised")
    return DataError(
        f"{listed(given.files)}: this seems to be {found.what}, which is for {', '.join(found.tasks)}; --task "
        f"{wishes.task} needs {needed}"
    )


def discoverers() -> Iterator[Discoverer]:
    """In the order in which they are asked."""
    for address in DISCOVERERS:
        module, _, name = address.partition(":")
        one: Discoverer = getattr(importlib.import_module(module), name)()
        yield one

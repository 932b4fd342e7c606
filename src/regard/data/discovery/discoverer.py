"""The seam between looking at files and a kind of data that can be recognised in them."""

from __future__ import annotations

from typing import Protocol

from regard.data.discovery.found import Discovery, Hints
from regard.data.discovery.given import GivenFiles


class Discoverer(Protocol):
    """One kind of data. Law: ``recognises`` looks at names and beginnings only, and at data of another kind it says no,
    and raises nothing; ``discover`` then tells all that is wrong with the data in a DataError."""

    what: str  # "a table of rows and columns"
    tasks: tuple[str, ...]  # that can be learned from it, the usual one first
    columns: tuple[str, ...] = ()  # the hints for columns that mean something in it

    def recognises(self, given: GivenFiles, hints: Hints) -> bool: ...

    def discover(self, given: GivenFiles, hints: Hints) -> Discovery: ...

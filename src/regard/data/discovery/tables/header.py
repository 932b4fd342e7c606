"""Does the first line of a table name its columns?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.data.discovery.tables.names import KNOWN

NAME = re.compile(r"[^\W\d][\w .:/()#-]{0,39}")
DIGIT = re.compile(r"\d")
MOSTLY = 0.95
LONGER = 2  # texts are so many times as long as their column's name
CHECKED = 2000  # rows


def has_names(first: Sequence[str], rows: Sequence[Sequence[str]], named: Sequence[str] = ()) -> tuple[bool, str]:
    """Whether it does, and why."""
    cells = [cell.strip() for cell in first]
    if any(name in cells for name in named):
        return True, "it has the columns that you named"
    if named and all(name.isdecimal() for name in named) and not set(cells) & KNOWN:
        return False, "you gave numbers of columns"
    written = [cell for cell in cells if cell]  # columns may be without a name
    if 2 * len(written) < min(len(cells), 4) or not all(map(NAME.fullmatch, written)):
        return False, "its first line is not a list of names"
    known = [cell for cell in cells if cell.lower() in KNOWN]
    if known:
        return True, f"it has {', '.join(map(repr, dict.fromkeys(known)))}"
    if len(set(written)) < len(written):
        return False, "its first line has one word twice"
    rows = rows[:CHECKED]
    for place, cell in enumerate(cells):
        column = [row[place].strip() for row in rows]
        filled = [one for one in column if one]
        if not cell:
            continue
        if filled and not DIGIT.search(cell) and sum(map(bool, map(DIGIT.search, filled))) >= MOSTLY * len(filled):
            return True, f"{cell!r} is above numbers"
        if cell in set(column) and len(set(column)) < len(column) / 2:
            return False, f"{cell!r} appears in other lines too"
        if filled and sum(map(len, filled)) / len(filled) > max(20, LONGER * len(cell)):
            return True, f"{cell!r} is short above long texts"
        if filled and cell not in filled and len(set(filled)) <= len(filled) / 10:
            return True, f"{cell!r} appears in no other line, and what does recurs"
    return False, "its first line looks like the others"

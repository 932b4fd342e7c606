"""What holds of the answers of a run, whatever it reads."""

from __future__ import annotations

from regard.interop.checking import check
from regard.runs.load import Run


def holding(run: Run) -> set[str]:
    """What ``regard check`` tried and found to change no answer."""
    return {one.name for one in check(run) if one.holds and not one.skipped}

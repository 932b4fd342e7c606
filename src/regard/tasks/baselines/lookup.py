"""Looks up the most frequent training target of a source; copies the source where it is new."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence


def fit_lookup(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The most frequent target of every source; of equally frequent ones, the first."""
    targets: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for source, target in pairs:
        targets[source][target] += 1
    return {source: own.most_common(1)[0][0] for source, own in targets.items()}


def looked_up(table: Mapping[str, str], sources: Sequence[str]) -> list[str]:
    return [table.get(source, source) for source in sources]

"""What sounds are like: how many samples a second, how long; and those that cannot be read or heard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.core.errors import DataError
from regard.data.discovery.found import LengthSummary, SoundFacts
from regard.data.discovery.measuring import Counted
from regard.data.discovery.tally import Seen, Tally
from regard.data.readers import summarise

MEASURED = 500


def measure_sounds(name: str, tally: Tally, counted: Counted) -> SoundFacts:
    """Decodes evenly taken ones of those that can be decoded."""
    from regard.data.modalities.audio.reading import verdicts

    paths = [Path(path) for path in tally.given.things()]
    taken = [paths[place] for place in np.unique(np.linspace(0, len(paths) - 1, MEASURED).astype(int))]
    sounds = [one.sound for one in verdicts(taken) if one.sound is not None]
    rates = Counter(one.rate for one in sounds)
    lengths = LengthSummary.of([1000 * one.count // one.rate for one in sounds])
    return SoundFacts(name, tally.examples, dict(rates.most_common()), lengths)


def go_by(sounds: Sequence[tuple[str, Path]], tally: Tally, *, labelled: bool = True) -> list[str]:
    """Counts sounds and what is said of them, equal ones as equal; what cannot be read or heard is skipped and told."""
    from regard.data.modalities.audio.reading import verdicts

    problems = []
    for (answer, path), said in zip(sounds, verdicts([path for _, path in sounds]), strict=True):
        if said.sound is None:
            tally.skipped[said.reason] += 1
            problems.append(said.detail)
        else:
            tally.add(Seen(str(path), answer, (answer,) if labelled else (), said.sound.digest))
    if problems and not tally.examples:
        raise DataError(f"none of {len(sounds):,} files is a readable sound: {summarise(problems)}")
    return [f"left out: {summarise(problems)}"] if problems else []

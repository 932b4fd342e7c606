"""Always the same text: at every place the most likely character, as long as costs the fewest edits in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from regard.tasks.metrics.text import edit_distance

TRIED = 300  # texts on which lengths are compared
LONGEST = 60


def fit_likely_characters(texts: Sequence[str]) -> str:
    """The text that is answered to everything."""
    columns = (Counter(text[place] for text in texts if place < len(text)) for place in range(LONGEST))
    likely = "".join(min(own, key=lambda one: (-own[one], one)) for own in columns if own)
    tried = texts[:: -(-len(texts) // TRIED)]
    lengths = range(1, len(likely) + 1)
    edits = {length: sum(edit_distance(text, likely[:length]) for text in tried) for length in lengths}
    return likely[: min(edits, key=edits.__getitem__)]

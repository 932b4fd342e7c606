"""Quality by length: BLEU and exact match of short and of long sentences."""

from __future__ import annotations

from collections.abc import Sequence

from regard.data.corpus import Pair
from regard.tasks.metrics.bleu import bleu
from regard.tasks.metrics.text import exact_match

LENGTHS = (5, 10, 15, 20, 30, 40, 60)  # upper ends of the groups, in source words


def by_length(pairs: Sequence[Pair], answers: Sequence[str], tokenize: str) -> list[dict[str, float]]:
    """BLEU and exact match of short and of long sentences: the bottleneck shows here."""
    groups: dict[int, list[int]] = {}
    for place, pair in enumerate(pairs):
        words = len(pair.source.split())
        end = next((end for end in LENGTHS if words <= end), LENGTHS[-1] + 1)
        groups.setdefault(end, []).append(place)
    found = []
    for end, places in sorted(groups.items()):
        texts, references = [answers[place] for place in places], [pairs[place].target for place in places]
        found.append(
            {
                "longest": end,
                "words": sum(len(pairs[place].source.split()) for place in places) / len(places),
                "sentences": len(places),
                "bleu": bleu(texts, references, tokenize=tokenize, confidence=False).score,
                "exact_match": exact_match(texts, references).rate,
            }
        )
    return found

"""The most frequent tag of each word; an unknown word has that of the words which end as it does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

LONGEST_ENDING = 4


class WordTags(NamedTuple):
    """The most frequent tag by word, by ending, and of all words."""

    by_word: Mapping[str, str]
    by_ending: Mapping[str, str]
    usual: str

    def tag(self, word: str) -> str:
        """As the word was tagged, else as it is in lower case, else as words with its longest known ending."""
        for written in (word, word.lower()):
            if written in self.by_word:
                return self.by_word[written]
        known = (word[-size:] for size in range(min(LONGEST_ENDING, len(word)), 0, -1))
        return next((self.by_ending[ending] for ending in known if ending in self.by_ending), self.usual)


def fit_word_tags(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> WordTags:
    """From words and their tags; of equally frequent tags, the one that was seen first."""
    by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in sentences:
        for word, tag in zip(words, tags, strict=True):
            by_word[word][tag] += 1
    by_ending: defaultdict[str, Counter[str]] = defaultdict(Counter)
    usual: Counter[str] = Counter()
    for word, counts in by_word.items():
        usual.update(counts)
        for size in range(1, min(LONGEST_ENDING, len(word)) + 1):
            by_ending[word[-size:]].update(counts)
    return WordTags(_first(by_word), _first(by_ending), usual.most_common(1)[0][0] if usual else "")


def _first(counts: Mapping[str, Counter[str]]) -> dict[str, str]:
    return {key: own.most_common(1)[0][0] for key, own in counts.items()}

"""Sentence pairs of the small world with everything that is known about them."""

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from .drawing import Drawer
from .english import EnglishText, write_english
from .french import FrenchWord, write_french
from .mood import mood, structure
from .questions import Question, ask
from .sounds import join
from .syntax import Key, Sentence

Structure = frozenset[tuple[str, str]]
Links = frozenset[tuple[int, int]]

SHORTEST, LONGEST = 3, 16


@dataclass(frozen=True, slots=True)
class WorldPair:
    """An English sentence, its one French translation, and the truth about both.

    Alignment links are (source word, target word); sure links are possible ones too. `structure` holds the
    (adjective, noun) and (subject noun, verb) pairs of the English side, which the compositional split needs.
    """

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: Links
    possible: Links
    source_tags: tuple[str, ...]
    target_tags: tuple[str, ...]
    tree: str
    questions: tuple[Question, ...]
    mood: str
    structure: Structure


def generate(count: int, seed: int, *, exclude: Collection[str] = ()) -> list[WorldPair]:
    """Pairs with distinct English sentences, none in `exclude`; the same seed gives the same pairs."""
    stream = sample(random.Random(f"regard small world {seed}"), set(exclude), lambda _: True)
    return [next(stream) for _ in range(count)]


def sample(source: random.Random, seen: set[str], accept: Callable[[Structure], bool]) -> Iterator[WorldPair]:
    """Endlessly many new pairs of an accepted structure; each English sentence is added to `seen`."""
    drawer = Drawer(source)
    while True:
        sentence = drawer.sentence()
        pairs = structure(sentence)
        if not accept(pairs):
            continue
        english = write_english(sentence)
        text = " ".join(english.words)
        if SHORTEST <= len(english.words) <= LONGEST and text not in seen:
            seen.add(text)
            yield _pair(sentence, english, text, pairs)


def _pair(sentence: Sentence, english: EnglishText, source: str, pairs: Structure) -> WorldPair:
    french = write_french(sentence)
    target_words = tuple(word.text for word in french)
    sure, possible = _links(english.positions, french)
    return WorldPair(
        source=source,
        target=join(target_words),
        source_words=tuple(english.words),
        target_words=target_words,
        sure=sure,
        possible=possible,
        source_tags=tuple(english.tags),
        target_tags=tuple(word.tag for word in french),
        tree=english.tree,
        questions=ask(sentence, english),
        mood=mood(sentence),
        structure=pairs,
    )


def _links(positions: dict[Key, int], french: list[FrenchWord]) -> tuple[Links, Links]:
    """Both kinds of links; what the English side does not spell out, like an absent "did", gives none."""
    sure, possible = [], []
    for target, word in enumerate(french):
        for key in word.sure:
            sure.append((positions[key], target))
        for key in word.possible:
            if key in positions:
                possible.append((positions[key], target))
    return frozenset(sure), frozenset(sure + possible)

"""The kinds of words of the small world, and the spelling rules that give their regular forms."""

from dataclasses import dataclass
from typing import Literal

Auxiliary = Literal["avoir", "être", "se"]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun with its plurals; `kinds` holds its classes and its own name, for others to match."""

    english: str
    english_plural: str
    french: tuple[str, ...]
    french_plural: tuple[str, ...]
    feminine: bool
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; `rank` orders English ones from the outside in, `before` is where French puts it."""

    english: str
    masculine: str
    masculine_plural: str
    feminine: str
    masculine_vowel: str
    before: bool
    rank: int
    mood: int
    predicative: bool
    kinds: frozenset[str]

    def form(self, feminine: bool, plural: bool) -> str:
        if feminine:
            return self.feminine + "s" if plural else self.feminine
        return self.masculine_plural if plural else self.masculine


@dataclass(frozen=True, slots=True, eq=False)
class Feeling:
    """What English is and French has: "is hungry", "a faim"."""

    english: str
    french: str
    mood: int


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """A determiner; an empty English form means that it lacks this number."""

    singular: str
    plural: str
    penn: str
    universal: str
    french_universal: str
    masculine: str
    feminine: str
    masculine_vowel: str
    feminine_vowel: str
    french_plural: str


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """A preposition of place and the nouns it goes with; the first French word carries the meaning."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    nouns: tuple[Noun, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Manner:
    """An adverb of manner; an early one stands before the French participle."""

    english: str
    french: str
    early: bool


@dataclass(frozen=True, slots=True, eq=False)
class Frequency:
    """The adverb that goes with the verb, negations among them: not, never, often."""

    english: str
    french: str
    negative: bool


@dataclass(frozen=True, slots=True, eq=False)
class Time:
    """A time at the end; a French word names the English ones it surely and possibly translates."""

    english: tuple[tuple[str, str, str], ...]
    french: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb; with `imperfect` forms its past is a state, otherwise a compound with its auxiliary."""

    base: str
    third: str
    past: str
    particle: str
    singular: str
    plural: str
    participle: str
    auxiliary: Auxiliary
    imperfect: tuple[str, str] | None
    subjects: frozenset[str]
    objects: frozenset[str]
    places: tuple[Preposition, ...]
    place_chance: float
    manners: tuple[Manner, ...]
    sudden: bool
    mood: int

    @property
    def name(self) -> str:
        return f"{self.base} {self.particle}" if self.particle else self.base


def english_with_s(word: str) -> str:
    """The regular plural of a noun, which is also the third person of a verb."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "ch", "sh", "o")):
        return word + "es"
    return word + "s"


def french_plural(word: str) -> str:
    """The plural of a French noun or masculine adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith("eau") else "s")


def participle_form(participle: str, feminine: bool, plural: bool) -> str:
    """A past participle in agreement."""
    agreed = participle + "e" if feminine else participle
    return agreed + "s" if plural and not agreed.endswith("s") else agreed

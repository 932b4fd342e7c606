"""Draws the noun phrases of the small world, keeping account of the words a sentence has used already."""

import random
from collections.abc import Sequence
from typing import TypeVar

from .combinations import ADJECTIVES_OF
from .function_words import (
    HER,
    HIS,
    KNOWN_PLACES,
    MY,
    OUR,
    POSSESSIVES,
    SOME,
    THAT,
    THE,
    THEIR,
    THIS,
    THREE,
    TWO,
    A,
)
from .lexemes import Adjective, Determiner, Noun, Preposition
from .syntax import NounPhrase, Place

Anything = TypeVar("Anything")

# Repetition is weight: a word that stands here twice is drawn twice as often.
_OWNERS = (MY, MY, OUR, HIS, HIS, HER, HER, THEIR)
DEFINITE: tuple[Determiner, ...] = (THE,) * 18 + (THIS, THIS, THAT, THAT) + _OWNERS
ANY_SINGULAR: tuple[Determiner, ...] = (*DEFINITE, *(A,) * 7)
ANY_PLURAL: tuple[Determiner, ...] = (*DEFINITE, *(SOME,) * 4, TWO, TWO, THREE, THREE)
# "the man that that cow saw" is better left unsaid.
AFTER_THAT = tuple(determiner for determiner in ANY_SINGULAR if determiner is not THAT)
NEW_SINGULAR: tuple[Determiner, ...] = (A,)
NEW_PLURAL: tuple[Determiner, ...] = (SOME, SOME, TWO, THREE)

_PLURAL_CHANCE = 0.27


class Stuck(Exception):
    """No fitting word is left; the sentence is drawn anew."""


class PhraseDrawer:
    """Draws noun phrases; a word stands at most once in a sentence."""

    def __init__(self, source: random.Random) -> None:
        self.roll = source.random
        self.used: set[object] = set()
        self._label = 0

    def forget(self) -> None:
        """Begin a new sentence."""
        self.used.clear()
        self._label = 0

    def label(self) -> int:
        self._label += 1
        return self._label

    def chance(self, probability: float) -> bool:
        return self.roll() < probability

    def pick(self, options: Sequence[Anything]) -> Anything:
        return options[int(self.roll() * len(options))]

    def fresh(self, options: Sequence[Anything]) -> Anything:
        """An option that the sentence has not used yet."""
        if not options:
            raise Stuck
        chosen = self.pick(options)
        if chosen in self.used:
            left = [option for option in options if option not in self.used]
            if not left:
                raise Stuck
            chosen = self.pick(left)
        self.used.add(chosen)
        return chosen

    def phrase(
        self,
        nouns: Sequence[Noun],
        singular: Sequence[Determiner] = ANY_SINGULAR,
        plural: Sequence[Determiner] = ANY_PLURAL,
        richness: float = 1.0,
    ) -> NounPhrase:
        """A noun phrase; `richness` scales its adjectives, and without plural determiners it is singular."""
        noun = self.fresh(nouns)
        label = self.label()
        if "unique" in noun.kinds:
            return NounPhrase(label, THE, self._adjectives(noun, richness), noun, False)
        many = bool(plural) and self.roll() < _PLURAL_CHANCE
        determiner = self.pick(plural if many else singular)
        if determiner in POSSESSIVES and "owned" not in noun.kinds:
            determiner = THE
        return NounPhrase(label, determiner, self._adjectives(noun, richness), noun, many)

    def _adjectives(self, noun: Noun, richness: float) -> tuple[Adjective, ...]:
        """Up to two adjectives in English order; of two, at most one stands before the French noun."""
        hint = self.roll()
        options = ADJECTIVES_OF[noun]
        if hint > 0.42 * richness or not options:
            return ()
        first = self.fresh(options)
        if hint > 0.12 * richness:
            return (first,)
        second = self.pick(options)
        if second in self.used or second.rank == first.rank or (first.before and second.before):
            return (first,)
        self.used.add(second)
        return (first, second) if first.rank < second.rank else (second, first)

    def place(self, prepositions: Sequence[Preposition], richness: float) -> Place:
        preposition = self.pick(prepositions)
        known = preposition in KNOWN_PLACES
        singular, plural = (DEFINITE, ()) if known else (ANY_SINGULAR, DEFINITE)
        phrase = self.phrase(preposition.nouns, singular, plural, 0.4 * richness)
        return Place(self.label(), preposition, phrase)

"""Which words of the small world go together, and which pairs of them only the compositional split shows."""

import random
from functools import cache

from .adjectives import ADJECTIVES
from .lexemes import Adjective, Noun, Verb
from .nouns import NOUNS, nouns_of
from .verbs import GIVING, INTRANSITIVE, MOTION, REFLEXIVE, TRANSITIVE, VERBS

SUBJECTS_OF: dict[Verb, tuple[Noun, ...]] = {verb: nouns_of(verb.subjects) for verb in VERBS}
OBJECTS_OF: dict[Verb, tuple[Noun, ...]] = {verb: nouns_of(verb.objects) for verb in VERBS}
ADJECTIVES_OF: dict[Noun, tuple[Adjective, ...]] = {
    noun: tuple(adjective for adjective in ADJECTIVES if adjective.kinds & noun.kinds) for noun in NOUNS
}
DEEDS_OF: dict[Noun, tuple[Verb, ...]] = {
    noun: tuple(v for v in (*INTRANSITIVE, *REFLEXIVE, *MOTION, *TRANSITIVE) if v.subjects & noun.kinds)
    for noun in NOUNS
}
VERBS_TAKING: dict[Noun, tuple[Verb, ...]] = {
    noun: tuple(verb for verb in TRANSITIVE if verb.objects & noun.kinds) for noun in NOUNS
}

# Never held out, so that the world's first sentence is always an ordinary one.
_FIRST_SENTENCE = frozenset((("black", "cat"), ("cat", "sit")))
# A word with few partners keeps them all: it must still be learnt.
_FEWEST_PARTNERS = 6
_HELD_OUT_SHARE = 0.07


def _keep_some_back(pairs: list[tuple[str, str]], source: random.Random) -> set[tuple[str, str]]:
    partners: dict[str, int] = {}
    for pair in pairs:
        for word in pair:
            partners[word] = partners.get(word, 0) + 1
    eligible = [
        (first, second)
        for first, second in pairs
        if (first, second) not in _FIRST_SENTENCE
        and min(partners[first], partners[second]) >= _FEWEST_PARTNERS
    ]
    return set(source.sample(eligible, round(_HELD_OUT_SHARE * len(pairs))))


@cache
def held_out() -> frozenset[tuple[str, str]]:
    """The (adjective, noun) and (subject noun, verb) pairs that only the compositional split shows."""
    source = random.Random("regard small world: held-out combinations")
    described = [
        (adjective.english, noun.english) for noun, fits in ADJECTIVES_OF.items() for adjective in fits
    ]
    acting = [
        (noun.english, verb.name)
        for verb in (*INTRANSITIVE, *REFLEXIVE, *MOTION, *TRANSITIVE, *GIVING)
        for noun in SUBJECTS_OF[verb]
    ]
    return frozenset(_keep_some_back(described, source) | _keep_some_back(acting, source))

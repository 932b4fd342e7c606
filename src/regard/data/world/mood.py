"""What a sentence feels like and which words it combines, both read off its structure."""

from collections.abc import Iterator

from .syntax import Clause, Couple, NounPhrase, Sentence, Subject

MOODS = ("happy", "calm", "sad")


def mood(sentence: Sentence) -> str:
    """Every mood word votes, what "not" or "never" denies votes the other way; a tie is calm."""
    total = clause_mood(sentence.first) + (clause_mood(sentence.second) if sentence.second else 0)
    if total == 0:
        return "calm"
    return "happy" if total > 0 else "sad"


def clause_mood(clause: Clause) -> int:
    """The sum of the votes in a clause."""
    own = clause.verb.mood + (clause.predicate.mood if clause.predicate else 0)
    total = -own if clause.negative else own
    return total + sum(_phrase_mood(phrase) for phrase in _phrases(clause))


def _phrase_mood(phrase: NounPhrase) -> int:
    total = sum(adjective.mood for adjective in phrase.adjectives)
    return total + (clause_mood(phrase.relative) if phrase.relative else 0)


def _phrases(clause: Clause) -> Iterator[NounPhrase]:
    """The noun phrases that the clause itself writes, an owner after what it owns."""
    if clause.gap != "subject":
        yield from phrases_of(clause.subject)
    if clause.object and clause.gap != "object":
        yield from phrases_of(clause.object)
    if clause.recipient:
        yield clause.recipient
    if clause.place:
        yield clause.place.phrase


def phrases_of(subject: Subject) -> Iterator[NounPhrase]:
    """The noun phrases in a subject: none, one or two."""
    if isinstance(subject, Couple):
        yield subject.first
        yield subject.second
    elif isinstance(subject, NounPhrase):
        yield subject
        if subject.owner:
            yield subject.owner


def structure(sentence: Sentence) -> frozenset[tuple[str, str]]:
    """The (adjective, noun) and (subject noun, verb) pairs of a sentence."""
    pairs = set(_clause_pairs(sentence.first))
    if sentence.second:
        pairs.update(_clause_pairs(sentence.second))
    return frozenset(pairs)


def _clause_pairs(clause: Clause) -> Iterator[tuple[str, str]]:
    for noun in clause.subject.heads:
        yield noun.english, clause.verb.name
        if clause.predicate:
            yield clause.predicate.english, noun.english
    for phrase in _phrases(clause):
        for adjective in phrase.adjectives:
            yield adjective.english, phrase.noun.english
        if phrase.relative:
            yield from _clause_pairs(phrase.relative)

"""What a sentence of the small world is before it has words in either language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .lexemes import Adjective, Determiner, Feeling, Frequency, Manner, Noun, Preposition, Time, Verb

# A word's place in the meaning: the label of the phrase or clause it belongs to, and its role there.
Key = tuple[int, str]


@dataclass(slots=True, eq=False)
class NounPhrase:
    """A noun with what it carries; its relative clause and its owner never come together."""

    label: int
    determiner: Determiner
    adjectives: tuple[Adjective, ...]
    noun: Noun
    plural: bool
    relative: Clause | None = None
    owner: NounPhrase | None = None

    @property
    def feminine(self) -> bool:
        return self.noun.feminine

    @property
    def heads(self) -> tuple[Noun, ...]:
        return (self.noun,)


@dataclass(slots=True, eq=False)
class Pronoun:
    """He or she."""

    label: int
    feminine: bool
    plural: bool = False

    @property
    def heads(self) -> tuple[Noun, ...]:
        return ()


@dataclass(slots=True, eq=False)
class Couple:
    """Two noun phrases joined by "and"; feminine only if both are."""

    label: int
    first: NounPhrase
    second: NounPhrase
    plural: bool = True

    @property
    def feminine(self) -> bool:
        return self.first.feminine and self.second.feminine

    @property
    def heads(self) -> tuple[Noun, ...]:
        return (self.first.noun, self.second.noun)


Subject = NounPhrase | Pronoun | Couple


@dataclass(slots=True, eq=False)
class Place:
    """A preposition and what it governs."""

    label: int
    preposition: Preposition
    phrase: NounPhrase


@dataclass(slots=True, eq=False)
class Clause:
    """A verb with its company; `gap` names the one that a relative clause leaves to its antecedent."""

    label: int
    verb: Verb
    past: bool
    subject: Subject
    gap: Literal["none", "subject", "object"] = "none"
    frequency: Frequency | None = None
    predicate: Adjective | Feeling | None = None
    very: bool = False
    object: NounPhrase | None = None
    recipient: NounPhrase | None = None
    manner: Manner | None = None
    place: Place | None = None
    time: Time | None = None

    @property
    def negative(self) -> bool:
        return self.frequency is not None and self.frequency.negative


@dataclass(slots=True, eq=False)
class Sentence:
    """One clause, or two with a conjunction between them."""

    label: int
    first: Clause
    conjunction: str = ""
    second: Clause | None = None

"""Draws the meaning of sentences of the small world, before they have words in either language."""

import random
from collections.abc import Sequence

from .adjectives import ADJECTIVES, FEELINGS
from .combinations import ADJECTIVES_OF, DEEDS_OF, OBJECTS_OF, SUBJECTS_OF, VERBS_TAKING
from .function_words import AROUND, NEVER, NOT, OFTEN, PAST_TIMES, PRESENT_TIMES, SOME, STILL, THE, A
from .lexemes import Adjective, Feeling, Frequency, Noun, Verb
from .mood import clause_mood, phrases_of
from .nouns import nouns_of
from .phrases import (
    AFTER_THAT,
    ANY_PLURAL,
    ANY_SINGULAR,
    DEFINITE,
    NEW_PLURAL,
    NEW_SINGULAR,
    PhraseDrawer,
    Stuck,
)
from .syntax import Clause, Couple, NounPhrase, Pronoun, Sentence, Subject
from .verbs import BE, GIVING, HAVE, INTRANSITIVE, MOTION, REFLEXIVE, TRANSITIVE

_ANIMATE = nouns_of(frozenset(("person", "animal")))
_LIFELESS = nouns_of(frozenset(("thing", "vehicle")))
_PERSONS = nouns_of(frozenset(("person",)))
_SUDDEN = tuple(verb for verb in (*INTRANSITIVE, *REFLEXIVE, *MOTION) if verb.sudden)
_DEEDS = (*INTRANSITIVE, *REFLEXIVE, *MOTION, *TRANSITIVE)
_STATES: tuple[Adjective | Feeling, ...] = (
    *(state for state in ADJECTIVES if "animal" in state.kinds and state.rank == 0 and not state.before),
    *FEELINGS,
)
# Repetition is weight. What lasts is denied at times, but neither frequent nor rare.
_ORDINARY: tuple[Frequency | None, ...] = (NOT,) * 17 + (NEVER,) * 4 + (OFTEN,) * 5 + (None,) * 74
_LASTING: tuple[Frequency | None, ...] = (NOT,) * 16 + (None,) * 84
_NO_FREQUENCY: tuple[Frequency | None, ...] = (None,)


class Drawer:
    """Draws one sentence after another."""

    def __init__(self, source: random.Random) -> None:
        self._draw = PhraseDrawer(source)

    def sentence(self) -> Sentence:
        while True:
            self._draw.forget()
            try:
                return self._attempt()
            except Stuck:
                continue

    def _attempt(self) -> Sentence:
        form = self._draw.roll()
        label = self._draw.label()
        past = self._draw.chance(0.6)
        if form < 0.68:
            return Sentence(label, self._clause(past, 1.0))
        if form < 0.82:
            first, second = self._clause(past, 0.5), self._clause(past, 0.5)
            conjunction = "and" if _sign(clause_mood(first)) == _sign(clause_mood(second)) else "but"
            return Sentence(label, first, conjunction, second)
        if form < 0.92:
            first = self._deed(past, 0.5, _DEEDS)
            return Sentence(label, first, "because", self._reason(first))
        # A French compound past after "quand" wants sudden deeds on both sides.
        verbs = _SUDDEN if past else _DEEDS
        first = self._deed(past, 0.5, verbs, _NO_FREQUENCY if past else _LASTING)
        return Sentence(label, first, "when", self._deed(past, 0.5, verbs, _NO_FREQUENCY))

    def _clause(self, past: bool, richness: float) -> Clause:
        form = self._draw.roll()
        if form < 0.22:
            clause = self._deed(past, richness, INTRANSITIVE)
        elif form < 0.34:
            clause = self._deed(past, richness, REFLEXIVE)
        elif form < 0.47:
            clause = self._deed(past, richness, MOTION)
        elif form < 0.75:
            clause = self._deed(past, richness, TRANSITIVE)
        elif form < 0.79:
            clause = self._deed(past, richness, (HAVE,))
        elif form < 0.86:
            clause = self._deed(past, richness, GIVING)
        elif form < 0.94:
            return self._state(past, richness)
        else:
            return self._whereabouts(past, richness)
        timeless = clause.verb.imperfect or clause.frequency in (NEVER, OFTEN)
        if richness == 1.0 and not timeless and not _ends_in_relative(clause) and self._draw.chance(0.12):
            clause.time = self._draw.pick(PAST_TIMES if past else PRESENT_TIMES)
        return clause

    def _deed(
        self,
        past: bool,
        richness: float,
        verbs: Sequence[Verb],
        frequencies: Sequence[Frequency | None] = _ORDINARY,
    ) -> Clause:
        verb = self._draw.fresh(verbs)
        frequency = self._draw.pick(_LASTING if verb.imperfect and frequencies is _ORDINARY else frequencies)
        subject = self._subject(SUBJECTS_OF[verb], past, richness, _is_negative(frequency))
        clause = Clause(self._draw.label(), verb, past, subject, frequency=frequency)
        self._complete(clause, richness)
        return clause

    def _state(self, past: bool, richness: float) -> Clause:
        """Somebody is happy or hungry, something is red."""
        draw = self._draw
        alive = draw.chance(0.8)
        nouns = _ANIMATE if alive else _LIFELESS
        frequency = draw.pick(_ORDINARY if alive else _LASTING)
        subject = self._subject(nouns, past, 0.5 * richness, _is_negative(frequency))
        clause = Clause(draw.label(), BE, past, subject, frequency=frequency)
        said = {adjective.rank for phrase in phrases_of(subject) for adjective in phrase.adjectives}
        options = _STATES if alive else ADJECTIVES_OF[subject.heads[0]]
        predicate = draw.fresh([option for option in options if _can_be_said(option, said)])
        # One is very old or very sad, but neither very blue nor very broken.
        gradable = isinstance(predicate, Adjective) and (alive or predicate.before)
        clause.predicate, clause.very = predicate, gradable and draw.chance(0.2)
        return clause

    def _whereabouts(self, past: bool, richness: float) -> Clause:
        frequency = self._draw.pick(_ORDINARY)
        subject = self._subject(SUBJECTS_OF[BE], past, richness, _is_negative(frequency), alone=True)
        clause = Clause(self._draw.label(), BE, past, subject, frequency=frequency)
        moving = any("vehicle" in noun.kinds for noun in subject.heads)
        clause.place = self._draw.place(AROUND if moving else STILL, richness)
        return clause

    def _reason(self, first: Clause) -> Clause:
        """A state that explains the deed: of the same mood, and often of the same person."""
        draw, mood = self._draw, clause_mood(first)
        echo = self._echo(first.subject) if draw.chance(0.6) else None
        subject = echo or draw.phrase(_ANIMATE, richness=0.0)
        clause = Clause(draw.label(), BE, first.past, subject)
        described = phrases_of(first.subject if echo else subject)
        said = {adjective.rank for phrase in described for adjective in phrase.adjectives}
        states = [state for state in _STATES if state.mood * mood >= 0 and _can_be_said(state, said)]
        clause.predicate = draw.fresh(states)
        if mood == 0 and not (isinstance(subject, NounPhrase) and subject.determiner is SOME):
            clause.frequency = draw.pick(_LASTING)  # "des chats n'étaient pas" nobody says
        return clause

    def _echo(self, subject: Subject) -> Pronoun | None:
        """The pronoun that takes up one person; "it" and "they" would have two translations."""
        if subject.plural or isinstance(subject, Couple):
            return None
        if isinstance(subject, Pronoun):
            return Pronoun(self._draw.label(), subject.feminine)
        if subject.noun.kinds.isdisjoint(("he", "she")):
            return None
        return Pronoun(self._draw.label(), subject.feminine)

    def _subject(
        self, nouns: Sequence[Noun], past: bool, richness: float, negative: bool, *, alone: bool = False
    ) -> Subject:
        draw = self._draw
        form = draw.roll()
        personal = _PERSONS[0] in nouns
        if form < 0.05 and personal:
            return Pronoun(draw.label(), draw.chance(0.5))
        many = DEFINITE if negative else ANY_PLURAL
        first = draw.phrase(nouns, ANY_SINGULAR, many, richness)
        if form < 0.11 and personal and not alone and first.noun in _ANIMATE and not first.plural:
            second = draw.phrase(_companions(nouns), ANY_SINGULAR, (), 0.5 * richness)
            return Couple(draw.label(), first, second)
        self._extend(first, past, richness)
        return first

    def _extend(self, phrase: NounPhrase, past: bool, richness: float) -> None:
        """Give a phrase a relative clause or an owner, sometimes."""
        draw = self._draw
        form = draw.roll()
        if "unique" in phrase.noun.kinds:
            return
        if form < 0.15 * richness:
            before = past or draw.chance(0.4)
            phrase.relative = self._relative(phrase, before)
        elif form < 0.19 * richness and phrase.determiner is THE and _can_belong(phrase.noun):
            phrase.owner = draw.phrase(_PERSONS, DEFINITE, DEFINITE, 0.3)

    def _relative(self, head: NounPhrase, past: bool) -> Clause:
        draw = self._draw
        if draw.chance(0.5) and VERBS_TAKING[head.noun]:
            verb = draw.fresh(VERBS_TAKING[head.noun])
            label = draw.label()
            subject: Subject = Pronoun(draw.label(), draw.chance(0.5))
            if not draw.chance(0.2) or _PERSONS[0] not in SUBJECTS_OF[verb]:
                subject = draw.phrase(SUBJECTS_OF[verb], AFTER_THAT, DEFINITE, 0.3)
            frequency = draw.pick(_LASTING)
            return Clause(label, verb, past, subject, "object", frequency=frequency, object=head)
        if not DEEDS_OF[head.noun]:
            raise Stuck
        clause = Clause(draw.label(), draw.fresh(DEEDS_OF[head.noun]), past, head, gap="subject")
        clause.frequency = draw.pick(_LASTING)
        self._complete(clause, 0.2)
        return clause

    def _complete(self, clause: Clause, richness: float) -> None:
        """Object, recipient, manner and place, as the verb and the room left allow."""
        draw, verb = self._draw, clause.verb
        if verb.objects:
            self._add_object(clause, richness)
        if verb in GIVING:
            clause.recipient = draw.phrase(_ANIMATE, ANY_SINGULAR, DEFINITE, 0.4 * richness)
        if verb.manners and draw.chance(0.2):
            clause.manner = draw.pick(verb.manners)
        scale = richness * (0.4 if verb.objects else 1.0)
        if verb.places and (verb.place_chance == 1.0 or draw.chance(verb.place_chance * scale)):
            clause.place = draw.place(verb.places, richness)
        if _ends_in_relative(clause):
            clause.manner = clause.place = None

    def _add_object(self, clause: Clause, richness: float) -> None:
        """A denied indefinite object stays singular and bare, since French turns its article into "de"."""
        if clause.verb is HAVE:
            singular, plural = NEW_SINGULAR, () if clause.negative else NEW_PLURAL
        elif clause.verb.imperfect:
            singular, plural = DEFINITE, DEFINITE
        else:
            singular, plural = ANY_SINGULAR, DEFINITE if clause.negative else ANY_PLURAL
        clause.object = self._draw.phrase(OBJECTS_OF[clause.verb], singular, plural, 0.8 * richness)
        plain = clause.gap == "none" and clause.recipient is None and clause.verb not in GIVING
        if plain and richness == 1.0 and not (clause.negative and clause.object.determiner is A):
            self._extend(clause.object, clause.past, richness)


def _sign(mood: int) -> int:
    return (mood > 0) - (mood < 0)


def _ends_in_relative(clause: Clause) -> bool:
    """Whether what follows could be said of either clause: "saw the mouse that slept near the house"."""
    return clause.gap == "none" and isinstance(clause.object, NounPhrase) and clause.object.relative is not None


def _is_negative(frequency: Frequency | None) -> bool:
    return frequency is not None and frequency.negative


def _can_be_said(option: Adjective | Feeling, said: set[int]) -> bool:
    """A blue car is not red, and a happy cat not sad."""
    return isinstance(option, Feeling) or (option.predicative and option.rank not in said)


def _can_belong(noun: Noun) -> bool:
    return "owned" in noun.kinds and "person" not in noun.kinds


def _companions(nouns: Sequence[Noun]) -> list[Noun]:
    return [noun for noun in nouns if noun in _ANIMATE]

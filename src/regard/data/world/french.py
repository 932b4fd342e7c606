"""The French side: agreement, word order, and which English word each word comes from."""

from typing import NamedTuple

from .function_words import CONJUNCTIONS, PARTICLES, SOME, A
from .lexemes import Adjective, Feeling, Verb, participle_form
from .sounds import contract, elide, opens_with_vowel
from .syntax import Clause, Couple, Key, NounPhrase, Place, Pronoun, Sentence, Subject
from .verbs import BE, HAVE

_NO_KEYS: tuple[Key, ...] = ()


class FrenchWord(NamedTuple):
    """A word with the meanings that it surely and possibly carries."""

    text: str
    tag: str
    sure: tuple[Key, ...]
    possible: tuple[Key, ...]


class FrenchText(list[FrenchWord]):
    """A sentence as it is being written."""

    __slots__ = ()

    def word(self, text: str, tag: str, sure: tuple[Key, ...], possible: tuple[Key, ...] = _NO_KEYS) -> None:
        self.append(FrenchWord(text, tag, sure, possible))


def write_french(sentence: Sentence) -> list[FrenchWord]:
    """The French of a sentence."""
    text = FrenchText()
    _clause(text, sentence.first)
    if sentence.second:
        key = (sentence.label, "conjunction")
        words, tag = CONJUNCTIONS[sentence.conjunction]
        text.word(words[0], tag, (key,))
        for word in words[1:]:
            text.word(word, tag, (), (key,))
        _clause(text, sentence.second)
    return _smooth(text)


def _smooth(rough: list[FrenchWord]) -> list[FrenchWord]:
    """Contract and elide from the end: "de le chat" is "du chat", but "de le homme" is "de l'homme"."""
    smooth = [rough[-1]]
    for word in reversed(rough[:-1]):
        following = smooth[-1]
        whole = contract(word.text, following.text)
        if whole:
            smooth[-1] = FrenchWord(whole, "ADP", word.sure, word.possible + following.sure)
            continue
        text = elide(word.text, following.text)
        smooth.append(word if text == word.text else word._replace(text=text))
    smooth.reverse()
    return smooth


def _clause(text: FrenchText, clause: Clause) -> None:
    if clause.gap != "subject":
        _subject(text, clause.subject)
    _verb_group(text, clause)
    label = clause.label
    if clause.predicate:
        _predicate(text, clause, clause.predicate)
    if clause.object and clause.gap != "object":
        _noun_phrase(text, clause.object, denied=clause.negative)
    if clause.manner and not clause.manner.early:
        text.word(clause.manner.french, "ADV", ((label, "manner"),))
    if clause.recipient:
        text.word("à", "ADP", ((label, "to"),))
        _noun_phrase(text, clause.recipient)
    if clause.place:
        _place(text, clause.place)
    if clause.time:
        for word, tag, sure, possible in clause.time.french:
            text.word(word, tag, _times(label, sure), _times(label, possible))


def _times(label: int, positions: tuple[int, ...]) -> tuple[Key, ...]:
    return tuple((label, f"time {position}") for position in positions)


def _subject(text: FrenchText, subject: Subject) -> None:
    if isinstance(subject, NounPhrase):
        _noun_phrase(text, subject)
    elif isinstance(subject, Pronoun):
        text.word("elle" if subject.feminine else "il", "PRON", ((subject.label, "pronoun"),))
    elif isinstance(subject, Couple):
        _noun_phrase(text, subject.first)
        text.word("et", "CCONJ", ((subject.label, "and"),))
        _noun_phrase(text, subject.second)


def _noun_phrase(text: FrenchText, phrase: NounPhrase, denied: bool = False) -> None:
    """A noun phrase; a denied indefinite one loses its article to "de"."""
    label, noun, feminine, plural = phrase.label, phrase.noun, phrase.noun.feminine, phrase.plural
    names = noun.french_plural if plural else noun.french
    before = next((adjective for adjective in phrase.adjectives if adjective.before), None)
    preceding = _adjective_before(before, names[0], feminine, plural) if before else ""
    article = _article(phrase, preceding, preceding or names[0], denied)
    text.word(article, phrase.determiner.french_universal, ((label, "determiner"),))
    if before:
        text.word(preceding, "ADJ", ((label, before.english),))
    _names(text, names, (label, "noun"))
    for adjective in reversed(phrase.adjectives):
        if adjective is not before:
            text.word(adjective.form(feminine, plural), "ADJ", ((label, adjective.english),))
    if phrase.relative:
        word = "qui" if phrase.relative.gap == "subject" else "que"
        text.word(word, "PRON", ((phrase.relative.label, "relative"),))
        _clause(text, phrase.relative)
    if phrase.owner:
        text.word("de", "ADP", ((label, "of"),))
        _noun_phrase(text, phrase.owner)


def _names(text: FrenchText, names: tuple[str, ...], key: Key) -> None:
    """A noun of one word or of three, like "pomme de terre", whose middle carries no meaning of its own."""
    text.word(names[0], "NOUN", (key,))
    if len(names) == 3:
        text.word(names[1], "ADP", (), (key,))
        text.word(names[2], "NOUN", (key,))


def _adjective_before(adjective: Adjective, name: str, feminine: bool, plural: bool) -> str:
    if not feminine and not plural and opens_with_vowel(name):
        return adjective.masculine_vowel
    return adjective.form(feminine, plural)


def _article(phrase: NounPhrase, preceding: str, following: str, denied: bool) -> str:
    determiner, feminine = phrase.determiner, phrase.noun.feminine
    indefinite = determiner is A or determiner is SOME
    if indefinite and (denied or (phrase.plural and preceding)):
        return "de"
    if phrase.plural:
        return determiner.french_plural
    if opens_with_vowel(following):
        return determiner.feminine_vowel if feminine else determiner.masculine_vowel
    return determiner.feminine if feminine else determiner.masculine


def _verb_group(text: FrenchText, clause: Clause) -> None:
    """The verb with all that stands around it: ne, se, auxiliary, pas, bien, participle."""
    label, verb, frequency = clause.label, clause.verb, clause.frequency
    meaning, helper, particle = (label, "verb"), (label, "do"), (label, "particle")
    adverb = (label, "frequency")
    compound = clause.past and verb.imperfect is None
    if clause.negative:
        text.word("ne", "ADV", (), (adverb,))
    if verb.auxiliary == "se":
        text.word("se", "PRON", (), (meaning,))
    sure = (meaning, particle) if verb.particle and PARTICLES[verb.particle][1] == "ADJ" else (meaning,)
    if compound:
        text.word(_auxiliary(verb, clause.subject.plural), "AUX", (), (helper, meaning))
    else:
        text.word(_finite(clause), _finite_tag(clause), sure, (helper, particle))
    if frequency:
        text.word(frequency.french, "ADV", (adverb,))
    if clause.manner and clause.manner.early:
        text.word(clause.manner.french, "ADV", ((label, "manner"),))
    if compound:
        text.word(_participle(clause), "VERB", sure, (particle,))


def _auxiliary(verb: Verb, plural: bool) -> str:
    if verb.auxiliary == "avoir":
        return "ont" if plural else "a"
    return "sont" if plural else "est"


def _finite(clause: Clause) -> str:
    verb = HAVE if isinstance(clause.predicate, Feeling) else clause.verb
    plural = clause.subject.plural
    if clause.past and verb.imperfect:
        return verb.imperfect[plural]
    return verb.plural if plural else verb.singular


def _finite_tag(clause: Clause) -> str:
    return "AUX" if clause.verb is BE and not isinstance(clause.predicate, Feeling) else "VERB"


def _participle(clause: Clause) -> str:
    """With être and reflexives it agrees with the subject, with avoir with an object that precedes it."""
    participle = clause.verb.participle
    if clause.verb.auxiliary != "avoir":
        return participle_form(participle, clause.subject.feminine, clause.subject.plural)
    if clause.gap == "object" and clause.object:
        return participle_form(participle, clause.object.feminine, clause.object.plural)
    return participle


def _predicate(text: FrenchText, clause: Clause, predicate: Adjective | Feeling) -> None:
    label = clause.label
    if clause.very:
        text.word("très", "ADV", ((label, "very"),))
    if isinstance(predicate, Feeling):
        text.word(predicate.french, "NOUN", ((label, "predicate"),))
        return
    form = predicate.form(clause.subject.feminine, clause.subject.plural)
    text.word(form, "ADJ", ((label, "predicate"),))


def _place(text: FrenchText, place: Place) -> None:
    """The first word translates the preposition, or the noun inside "in front of"; the rest goes along."""
    keys = tuple((place.label, word) for word in place.preposition.english)
    heart = keys[len(keys) // 2]
    others = tuple(key for key in keys if key is not heart)
    words = place.preposition.french
    text.word(words[0], "ADV" if len(words) > 1 else "ADP", (heart,), others)
    for word in words[1:]:
        text.word(word, "ADP", (), keys)
    _noun_phrase(text, place.phrase)

"""The English side: words, tags, the constituency tree, and where each part of the meaning stands."""

from .function_words import CONJUNCTIONS, NOT, PARTICLES
from .lexemes import Verb
from .syntax import Clause, Couple, Key, NounPhrase, Place, Pronoun, Sentence, Subject
from .verbs import BE


class EnglishText:
    """A sentence as it is being written; `positions` and `spans` remember where each part went."""

    __slots__ = ("_brackets", "positions", "spans", "tags", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.tags: list[str] = []
        self.positions: dict[Key, int] = {}
        self.spans: dict[Key, tuple[int, int]] = {}
        self._brackets: list[str] = []

    @property
    def tree(self) -> str:
        return " ".join(self._brackets).replace(" )", ")")

    def word(self, text: str, penn: str, universal: str, label: int, role: str) -> None:
        self.positions[label, role] = len(self.words)
        self.words.append(text)
        self.tags.append(universal)
        self._brackets.append(f"({penn} {text})")

    def open(self, bracket: str) -> None:
        self._brackets.append("(" + bracket)

    def close(self, count: int = 1) -> None:
        self._brackets.append(")" * count)


def write_english(sentence: Sentence) -> EnglishText:
    """The English of a sentence."""
    text = EnglishText()
    if sentence.second is None:
        _clause(text, sentence.first)
    elif CONJUNCTIONS[sentence.conjunction][1] == "CCONJ":
        text.open("S")
        _clause(text, sentence.first)
        text.word(sentence.conjunction, "CC", "CCONJ", sentence.label, "conjunction")
        _clause(text, sentence.second)
        text.close()
    else:
        _clause(text, sentence.first, sentence)
    return text


def _clause(text: EnglishText, clause: Clause, whole: Sentence | None = None) -> None:
    """A clause as S; a subordinate clause of the whole sentence hangs in its verb phrase."""
    text.open("S")
    if clause.gap != "subject":
        start = len(text.words)
        _subject(text, clause.subject)
        text.spans[clause.label, "subject"] = (start, len(text.words))
    start = len(text.words)
    depth = _verb_group(text, clause)
    _complements(text, clause)
    text.spans[clause.label, "predicate"] = (start, len(text.words))
    if whole and whole.second:
        _subordinate(text, whole, whole.second)
    text.close(depth + 1)


def _subordinate(text: EnglishText, whole: Sentence, clause: Clause) -> None:
    start = len(text.words)
    text.open("SBAR")
    if whole.conjunction == "because":
        text.word("because", "IN", "SCONJ", whole.label, "conjunction")
    else:
        text.open("WHADVP")
        text.word(whole.conjunction, "WRB", "SCONJ", whole.label, "conjunction")
        text.close()
    _clause(text, clause)
    text.close()
    text.spans[whole.label, "subordinate"] = (start, len(text.words))


def _subject(text: EnglishText, subject: Subject) -> None:
    if isinstance(subject, NounPhrase):
        _noun_phrase(text, subject)
    elif isinstance(subject, Pronoun):
        text.open("NP")
        text.word("she" if subject.feminine else "he", "PRP", "PRON", subject.label, "pronoun")
        text.close()
    else:
        _couple(text, subject)


def _couple(text: EnglishText, couple: Couple) -> None:
    text.open("NP")
    _noun_phrase(text, couple.first)
    text.word("and", "CC", "CCONJ", couple.label, "and")
    _noun_phrase(text, couple.second)
    text.close()


def _noun_phrase(text: EnglishText, phrase: NounPhrase) -> None:
    nested = phrase.relative is not None or phrase.owner is not None
    if nested:
        text.open("NP")
    _core(text, phrase)
    if phrase.relative:
        _relative(text, phrase, phrase.relative)
    if phrase.owner:
        text.open("PP")
        text.word("of", "IN", "ADP", phrase.label, "of")
        _noun_phrase(text, phrase.owner)
        text.close()
    if nested:
        text.close()


def _core(text: EnglishText, phrase: NounPhrase) -> None:
    determiner, noun, label = phrase.determiner, phrase.noun, phrase.label
    name = noun.english_plural if phrase.plural else noun.english
    article = determiner.plural if phrase.plural else determiner.singular
    following = phrase.adjectives[0].english if phrase.adjectives else name
    if article == "a" and following[0] in "aeiou":
        article = "an"
    text.open("NP")
    text.word(article, determiner.penn, determiner.universal, label, "determiner")
    for adjective in phrase.adjectives:
        text.word(adjective.english, "JJ", "ADJ", label, adjective.english)
    text.word(name, "NNS" if phrase.plural else "NN", "NOUN", label, "noun")
    text.close()


def _relative(text: EnglishText, phrase: NounPhrase, clause: Clause) -> None:
    personal = clause.gap == "subject" and "person" in phrase.noun.kinds
    text.open("SBAR")
    text.open("WHNP")
    text.word("who" if personal else "that", "WP" if personal else "WDT", "PRON", clause.label, "relative")
    text.close()
    _clause(text, clause)
    text.close()


def finite_form(verb: Verb, past: bool, plural: bool) -> str:
    """The verb as it stands without an auxiliary."""
    if verb is BE:
        return ("were" if past else "are") if plural else ("was" if past else "is")
    if past:
        return verb.past
    return verb.base if plural else verb.third


def helper_form(past: bool, plural: bool) -> str:
    """The form of "do"."""
    return "did" if past else ("do" if plural else "does")


def _verb_group(text: EnglishText, clause: Clause) -> int:
    """Verb, negation and particle; returns how many verb phrases are left open."""
    verb, label, plural = clause.verb, clause.label, clause.subject.plural
    frequency = clause.frequency
    finite = finite_form(verb, clause.past, plural)
    if verb is BE:
        text.open("VP")
        text.word(finite, _finite_tag(clause), "AUX", label, "verb")
        if frequency is NOT:
            text.word("not", "RB", "PART", label, "frequency")
        elif frequency:
            _frequency(text, clause)
        return 1
    if frequency is NOT:
        text.open("VP")
        text.word(helper_form(clause.past, plural), _finite_tag(clause), "AUX", label, "do")
        text.word("not", "RB", "PART", label, "frequency")
        text.open("VP")
        text.word(verb.base, "VB", "VERB", label, "verb")
        return 2
    if frequency:
        _frequency(text, clause)
    text.open("VP")
    text.word(finite, _finite_tag(clause), "VERB", label, "verb")
    return 1


def _frequency(text: EnglishText, clause: Clause) -> None:
    assert clause.frequency is not None
    text.open("ADVP")
    text.word(clause.frequency.english, "RB", "ADV", clause.label, "frequency")
    text.close()


def _finite_tag(clause: Clause) -> str:
    if clause.past:
        return "VBD"
    return "VBP" if clause.subject.plural else "VBZ"


def _complements(text: EnglishText, clause: Clause) -> None:
    label = clause.label
    if clause.predicate:
        text.open("ADJP")
        if clause.very:
            text.word("very", "RB", "ADV", label, "very")
        text.word(clause.predicate.english, "JJ", "ADJ", label, "predicate")
        text.close()
    _object(text, clause)
    if clause.manner:
        text.open("ADVP")
        text.word(clause.manner.english, "RB", "ADV", label, "manner")
        text.close()
    if clause.recipient:
        start = len(text.words)
        text.open("PP")
        text.word("to", "IN", "ADP", label, "to")
        _noun_phrase(text, clause.recipient)
        text.close()
        text.spans[label, "recipient"] = (start, len(text.words))
    if clause.place:
        _place(text, label, clause.place)
    if clause.time:
        _time(text, clause)


def _object(text: EnglishText, clause: Clause) -> None:
    """The object, inside the bracket of a verb's particle if the particle governs it."""
    particle = clause.verb.particle
    if particle:
        penn, universal, bracket = PARTICLES[particle]
        text.open(bracket)
        text.word(particle, penn, universal, clause.label, "particle")
    if clause.object and clause.gap != "object":
        start = len(text.words)
        _noun_phrase(text, clause.object)
        text.spans[clause.label, "object"] = (start, len(text.words))
    if particle:
        text.close()


def _place(text: EnglishText, label: int, place: Place) -> None:
    start = len(text.words)
    text.open("PP")
    words = place.preposition.english
    text.word(words[0], "IN", "ADP", place.label, words[0])
    if len(words) == 3:
        text.open("NP")
        text.open("NP")
        text.word(words[1], "NN", "NOUN", place.label, words[1])
        text.close()
        text.open("PP")
        text.word(words[2], "IN", "ADP", place.label, words[2])
    _noun_phrase(text, place.phrase)
    text.close(len(words))
    text.spans[label, "place"] = (start, len(text.words))


def _time(text: EnglishText, clause: Clause) -> None:
    assert clause.time is not None
    start = len(text.words)
    words = clause.time.english
    governed = words[0][1] == "IN"
    text.open("PP" if governed else "NP")
    for position, (word, penn, universal) in enumerate(words):
        if governed and position == 1:
            text.open("NP")
        text.word(word, penn, universal, clause.label, f"time {position}")
    text.close(2 if governed else 1)
    text.spans[clause.label, "time"] = (start, len(text.words))

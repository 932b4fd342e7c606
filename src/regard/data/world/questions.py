"""Questions about a sentence whose answers are spans of its English words."""

from collections import Counter
from dataclasses import dataclass

from .english import EnglishText, finite_form, helper_form
from .function_words import FROM, SOME, THREE, TWO, A
from .syntax import Clause, Couple, NounPhrase, Sentence, Subject
from .verbs import BE

_REASONS = {"because": "why", "when": "when"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its answer: the words `start` to `stop`, the latter exclusive."""

    text: str
    answer: str
    start: int
    stop: int


def ask(sentence: Sentence, text: EnglishText) -> tuple[Question, ...]:
    """Everything that can be asked about the main clauses."""
    questions = _about(sentence.first, text)
    if sentence.second:
        questions += _about(sentence.second, text)
    if sentence.conjunction in _REASONS:
        span = text.spans[sentence.label, "subordinate"]
        asked = _inverted(_REASONS[sentence.conjunction], sentence.first, text, "")
        questions.append(_question(asked, text, span))
    times = Counter(question.text for question in questions)
    return tuple(question for question in questions if times[question.text] == 1)  # two answers would both be right


def _about(clause: Clause, text: EnglishText) -> list[Question]:
    spans, label = text.spans, clause.label
    questions = [_question(_subject_question(clause, text), text, spans[label, "subject"])]
    openings = {"object": _wonder(clause.object), "recipient": "to whom", "place": "where", "time": "when"}
    for role, opening in openings.items():
        if (label, role) not in spans:
            continue
        start, stop = spans[label, role]
        asked = _inverted(opening, clause, text, role)
        if role == "recipient":
            start += 1
        elif role == "place" and clause.place and clause.place.preposition is FROM:
            start, asked = start + 1, asked + " from"
        questions.append(_question(asked, text, (start, stop)))
    return questions


def _question(asked: str, text: EnglishText, span: tuple[int, int]) -> Question:
    return Question(asked, " ".join(text.words[span[0] : span[1]]), *span)


def _wonder(subject: Subject | None) -> str:
    """Who for those who breathe, what for the rest."""
    nouns = subject.heads if subject else ()
    return "who" if all(noun.kinds & {"person", "animal"} for noun in nouns) else "what"


def _subject_question(clause: Clause, text: EnglishText) -> str:
    """The predicate as it stands, with its finite verb in the singular."""
    start, stop = text.spans[clause.label, "predicate"]
    predicate = text.words[start:stop]
    helper = text.positions.get((clause.label, "do"))
    if helper is not None:
        predicate[helper - start] = helper_form(clause.past, plural=False)
    else:
        finite = text.positions[clause.label, "verb"]
        predicate[finite - start] = finite_form(clause.verb, clause.past, plural=False)
    return " ".join((_wonder(clause.subject), *predicate))


def _inverted(opening: str, clause: Clause, text: EnglishText, missing: str) -> str:
    """A question with its auxiliary in front: "where did the cat sit"; it asks for what is missing."""
    plural, verb, label = clause.subject.plural, clause.verb, clause.label
    helper = finite_form(verb, clause.past, plural) if verb is BE else helper_form(clause.past, plural)
    parts = [opening, helper, _short(clause.subject, text)]
    if clause.frequency:
        parts.append(clause.frequency.english)
    if verb is not BE:
        parts.append(verb.name)
    if clause.predicate:
        parts += ["very", clause.predicate.english] if clause.very else [clause.predicate.english]
    for role in ("object", "recipient", "place"):
        if role != missing and (label, role) in text.spans:
            start, stop = text.spans[label, role]
            parts += text.words[start:stop]
        if role == "object" and clause.manner:
            parts.append(clause.manner.english)
    return " ".join(parts)


def _short(subject: Subject, text: EnglishText) -> str:
    """The subject as one would repeat it: definite, without its relative clause or owner."""
    if isinstance(subject, Couple):
        return f"{_short(subject.first, text)} and {_short(subject.second, text)}"
    if not isinstance(subject, NounPhrase):
        return "she" if subject.feminine else "he"
    start = text.positions[subject.label, "determiner"]
    rest = text.words[start : text.positions[subject.label, "noun"] + 1]
    if subject.determiner in (A, SOME):
        rest[0] = "the"
    elif subject.determiner in (TWO, THREE):
        rest.insert(0, "the")
    return " ".join(rest)

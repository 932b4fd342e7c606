"""The closed classes of the small world: determiners, prepositions, adverbs, times and conjunctions."""

from .lexemes import Determiner, Frequency, Manner, Preposition, Time
from .nouns import nouns_of


def _determiner(english: str, tags: str, french: str) -> Determiner:
    singular, plural = (form.strip("-") for form in english.split())
    return Determiner(singular, plural, *tags.split(), *french.split())


THE = _determiner("the the", "DT DET DET", "le la le la les")
A = _determiner("a -", "DT DET DET", "un une un une des")
SOME = _determiner("- some", "DT DET DET", "un une un une des")
TWO = _determiner("- two", "CD NUM NUM", "deux deux deux deux deux")
THREE = _determiner("- three", "CD NUM NUM", "trois trois trois trois trois")
THIS = _determiner("this these", "DT DET DET", "ce cette cet cette ces")
THAT = _determiner("that those", "DT DET DET", "ce cette cet cette ces")
MY = _determiner("my my", "PRP$ PRON DET", "mon ma mon mon mes")
OUR = _determiner("our our", "PRP$ PRON DET", "notre notre notre notre nos")
HIS = _determiner("his his", "PRP$ PRON DET", "son sa son son ses")
HER = _determiner("her her", "PRP$ PRON DET", "son sa son son ses")
THEIR = _determiner("their their", "PRP$ PRON DET", "leur leur leur leur leurs")

POSSESSIVES = frozenset((MY, OUR, HIS, HER, THEIR))


def _preposition(english: str, french: str, nouns: str) -> Preposition:
    return Preposition(tuple(english.split()), tuple(french.split()), nouns_of(frozenset(nouns.split())))


_HOUSES = "house castle church school windmill"

IN = _preposition("in", "dans", f"{_HOUSES} garden kitchen forest village car boat train tree")
ON = _preposition("on", "sur", "mat table chair bed bench roof beach")
UNDER = _preposition("under", "sous", "table chair bed tree bench umbrella")
BEHIND = _preposition("behind", "derrière", f"{_HOUSES} door tree car bench")
NEAR = _preposition("near", "près de", f"{_HOUSES} lake tree window door station market table")
IN_FRONT_OF = _preposition("in front of", "devant", f"{_HOUSES} door window station tree")
AT = _preposition("at", "à", "station market school church castle")
ABOVE = _preposition("above", "au-dessus de", f"{_HOUSES} forest lake village roof beach tree")
TO = _preposition("to", "à", "market school station village castle beach church lake garden windmill")
FROM = _preposition("from", "de", "market school station village castle beach church forest garden lake")
IN_WATER = _preposition("in", "dans", "lake")
ON_FAR = _preposition("on", "sur", "lake roof castle village beach")

# One goes to one market, and everybody knows which: "aux marchés" and "à un marché" are other things.
KNOWN_PLACES = frozenset((AT, TO, FROM, IN_WATER))

STILL = (IN, ON, UNDER, BEHIND, NEAR, IN_FRONT_OF, AT)
AROUND = (BEHIND, NEAR, IN_FRONT_OF, AT)

WELL = Manner("well", "bien", early=True)
SLOWLY = Manner("slowly", "lentement", early=False)
QUIETLY = Manner("quietly", "tranquillement", early=False)

NOT = Frequency("not", "pas", negative=True)
NEVER = Frequency("never", "jamais", negative=True)
OFTEN = Frequency("often", "souvent", negative=False)

YESTERDAY = Time((("yesterday", "NN", "NOUN"),), (("hier", "ADV", (0,), ()),))
THIS_MORNING = Time(
    (("this", "DT", "DET"), ("morning", "NN", "NOUN")),
    (("ce", "DET", (0,), ()), ("matin", "NOUN", (1,), ())),
)
EVERY_DAY = Time(
    (("every", "DT", "DET"), ("day", "NN", "NOUN")),
    (("tous", "DET", (0,), ()), ("les", "DET", (), (0,)), ("jours", "NOUN", (1,), ())),
)
IN_THE_EVENING = Time(
    (("in", "IN", "ADP"), ("the", "DT", "DET"), ("evening", "NN", "NOUN")),
    (("le", "DET", (1,), (0,)), ("soir", "NOUN", (2,), ())),
)
PAST_TIMES = (YESTERDAY, THIS_MORNING)
PRESENT_TIMES = (EVERY_DAY, IN_THE_EVENING)

# Verb particles: Penn tag, universal tag, and the bracket around them.
PARTICLES = {
    "at": ("IN", "ADP", "PP"),
    "for": ("IN", "ADP", "PP"),
    "to": ("IN", "ADP", "PP"),
    "up": ("RP", "ADP", "PRT"),
    "asleep": ("JJ", "ADJ", "ADJP"),
}

# Joints between clauses: the French words, and the universal tag of both sides.
CONJUNCTIONS = {
    "and": (("et",), "CCONJ"),
    "but": (("mais",), "CCONJ"),
    "because": (("parce", "que"), "SCONJ"),
    "when": (("quand",), "SCONJ"),
}

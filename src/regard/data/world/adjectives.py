"""The adjectives and feelings of the small world."""

from .lexemes import Adjective, Feeling, french_plural

_COLOURED = "ball hat umbrella flower car boat train airplane mat chair bench door lamp book house roof"
_COATED = "cat dog horse rabbit goat mouse bird donkey owl"
_ANIMATE = "person animal"
_MAGIC = "hat umbrella violin lamp key book flower forest castle tree mat ball"
_BIG = "horse elephant bear dog cow hat umbrella boat airplane furniture building plant place"
_SMALL = "person animal thing food vehicle furniture plant place"
_FAT = "cat dog rabbit mouse bird cow bear hedgehog bee frog squirrel"
_OLD = "animal man woman king queen sailor witch thing vehicle furniture building plant place"
_YOUNG = "animal boy girl man woman king queen sailor witch"
_NEW = "hat book umbrella violin lamp ball letter key vehicle furniture house school kitchen garden"
_BEAUTIFUL = (
    "animal man woman child king queen hat flower violin lamp gift book boat airplane plant place sky"
)


def _adjective(
    english: str,
    masculine: str,
    feminine: str,
    rank: int,
    kinds: str,
    *,
    before: bool = False,
    mood: int = 0,
    vowel: str = "",
    predicative: bool = True,
) -> Adjective:
    return Adjective(
        english=english,
        masculine=masculine,
        masculine_plural=french_plural(masculine),
        feminine=feminine,
        masculine_vowel=vowel or masculine,
        before=before,
        rank=rank,
        mood=mood,
        predicative=predicative,
        kinds=frozenset(kinds.split()),
    )


# Kinds keep the French idiomatic: "un grand homme" is a great man, "une vieille fille" a spinster.
ADJECTIVES = (
    _adjective("small", "petit", "petite", 1, _SMALL, before=True),
    _adjective("big", "grand", "grande", 1, _BIG, before=True),
    _adjective("fat", "gros", "grosse", 1, _FAT, before=True),
    _adjective("old", "vieux", "vieille", 2, _OLD, before=True, vowel="vieil"),
    _adjective("young", "jeune", "jeune", 2, _YOUNG, before=True),
    _adjective("new", "nouveau", "nouvelle", 2, _NEW, before=True, vowel="nouvel", predicative=False),
    _adjective("beautiful", "beau", "belle", 0, _BEAUTIFUL, before=True, vowel="bel"),
    _adjective("black", "noir", "noire", 3, f"{_COLOURED} {_COATED} cow bear"),
    _adjective("white", "blanc", "blanche", 3, f"{_COLOURED} {_COATED} cow bear moon castle church"),
    _adjective("grey", "gris", "grise", 3, f"{_COATED} elephant squirrel car boat roof house hat"),
    _adjective("red", "rouge", "rouge", 3, f"{_COLOURED} apple sun"),
    _adjective("green", "vert", "verte", 3, f"{_COLOURED} apple frog forest"),
    _adjective("blue", "bleu", "bleue", 3, f"{_COLOURED} bird lake"),
    _adjective("magic", "magique", "magique", 4, _MAGIC),
    _adjective("broken", "cassé", "cassée", 0, "lamp chair umbrella violin window bench table egg", mood=-1),
    _adjective("happy", "heureux", "heureuse", 0, _ANIMATE, mood=1),
    _adjective("proud", "fier", "fière", 0, _ANIMATE, mood=1),
    _adjective("curious", "curieux", "curieuse", 0, _ANIMATE),
    _adjective("gentle", "doux", "douce", 0, _ANIMATE, mood=1),
    _adjective("sad", "triste", "triste", 0, _ANIMATE, mood=-1),
    _adjective("tired", "fatigué", "fatiguée", 0, _ANIMATE, mood=-1),
    _adjective("furious", "furieux", "furieuse", 0, _ANIMATE, mood=-1),
)

FEELINGS = (Feeling("hungry", "faim", -1), Feeling("afraid", "peur", -1))

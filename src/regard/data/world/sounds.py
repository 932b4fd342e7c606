"""French at the seams between words: elision, contraction, and the way from text to words and back."""

import re
from functools import cache

_WORD = re.compile(r"[^ ']*'|[^ ']+")
_VOWELS = frozenset("aàâeéèêëiîïoôuùûyœh")
# An aspirated h is silent too, yet it forbids elision.
_ASPIRATED = frozenset(("hibou", "hiboux", "hérisson", "hérissons"))
_ELIDED = {"le": "l'", "la": "l'", "de": "d'", "que": "qu'", "ne": "n'", "se": "s'"}
_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def words(text: str) -> tuple[str, ...]:
    """The words of a text: split at spaces and after apostrophes."""
    return tuple(_WORD.findall(text))


def join(parts: tuple[str, ...]) -> str:
    """The text of words: no space after an apostrophe."""
    return " ".join(parts).replace("' ", "'")


@cache
def opens_with_vowel(word: str) -> bool:
    """Whether the word before this one elides."""
    return word[0] in _VOWELS and word not in _ASPIRATED


def elide(word: str, following: str) -> str:
    """The word as it is written before the following one."""
    return _ELIDED[word] if word in _ELIDED and opens_with_vowel(following) else word


def contract(preposition: str, article: str) -> str | None:
    """The one word that a preposition and an article become, if they do."""
    return _CONTRACTED.get((preposition, article))

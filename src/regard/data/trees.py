"""Constituency trees: read from brackets, written as brackets or as symbols without words, and put right again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.core.errors import DataError

CLOSE, UNTAGGED = ")", "()"
UNKNOWN_LABEL, UNKNOWN_TAG = "X", "XX"
"""Penn's own names for a phrase and for a word of which nothing is known."""
TRACE = "-NONE-"

_BRACKETS = re.compile(r"[()]|[^\s()]+")
_SYMBOLS = re.compile(r"\(\)|\([^\s()]*|\)|[^\s()]+")
_NAME = re.compile(r"[^\s()]+")
_WORD = re.compile(r"\S+")
_CATEGORY = re.compile(r"[^-=]+")


@dataclass(frozen=True, slots=True)
class Tree:
    """A label over phrases and words; a label over one word alone is that word's tag.

    Law: every bracket has a label and holds at least one word, so whatever is a ``Tree`` is well-formed.
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.label):
            raise DataError(f"{self.label!r} is not a label; labels have characters, but no spaces or brackets")
        if not self.children:
            raise DataError(f"nothing is below {self.label!r}; give it phrases or words")
        for word in self.children:
            if isinstance(word, str) and not _WORD.fullmatch(word):
                raise DataError(f"{word!r} is not a word; words have at least one character and no spaces")

    def __str__(self) -> str:
        """In brackets on one line, as Penn's treebank has it."""
        written: list[str] = []
        for here in self.walk():
            if here is None:
                written.append(")")
            elif isinstance(here, str):
                written.append(f" {escaped(here)}")
            else:
                written.append(f" ({here.label}" + (f" {escaped(here.words()[0])})" if here.is_tag else ""))
        return "".join(written).lstrip()

    @property
    def is_tag(self) -> bool:
        """Whether it is the tag of a word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def walk(self) -> Iterator[Tree | str | None]:
        """Brackets as they open, tagged and untagged words, and None where a bracket closes; however deep it is."""
        ahead: list[Tree | str | None] = [self]
        while ahead:
            here = ahead.pop()
            yield here
            if isinstance(here, Tree) and not here.is_tag:
                ahead.append(None)
                ahead.extend(reversed(here.children))

    def words(self) -> tuple[str, ...]:
        """The sentence that it stands over."""
        return tuple(
            here if isinstance(here, str) else str(here.children[0])
            for here in self.walk()
            if isinstance(here, str) or (here is not None and here.is_tag)
        )

    def symbols(self) -> tuple[str, ...]:
        """Linearised without its words (Vinyals et al. 2015): "(S (NP DT NN ) (VP VBD ) )", one symbol a space.

        A word is replaced by its tag, where Vinyals et al. have one placeholder for all words: they gained a point
        of F1 by it, but their trees had to be tagged by somebody else; these are whole, for any tool that reads Penn's.
        The words themselves need not be written, so none can be changed, lost or invented. A word without a tag
        is "()", which no label can be.
        """
        return tuple(_symbol(here) for here in self.walk())

    def bare(self) -> Tree | None:
        """Without traces (-NONE-) and without functions and indices (NP-SBJ-1 is NP); None if no word is left."""
        growing = _Growing()
        for here in self.walk():
            if here is None:
                growing.close()
            elif isinstance(here, str):
                growing.add(here)
            elif not here.is_tag:
                growing.open(category(here.label))
            elif here.label != TRACE:
                growing.add(Tree(category(here.label), here.children))
        return growing.root()

    def drawn(self) -> str:
        """On several lines, as one looks at it: what stands below hangs below."""
        lines: list[str] = []
        ahead: list[tuple[Tree | str, str, str]] = [(self, "", "")]
        while ahead:
            here, before, below = ahead.pop()
            if isinstance(here, str):
                lines.append(f"{before}{here}")
                continue
            lines.append(f"{before}{here.label}" + (f" {here.words()[0]}" if here.is_tag else ""))
            if not here.is_tag:
                *others, last = here.children
                ahead.append((last, f"{below}└── ", f"{below}    "))
                ahead.extend((child, f"{below}├── ", f"{below}│   ") for child in reversed(others))
        return "\n".join(lines)


def _symbol(here: Tree | str | None) -> str:
    if here is None:
        return CLOSE
    if isinstance(here, str):
        return UNTAGGED
    return here.label if here.is_tag else f"({here.label}"


@dataclass
class _Growing:
    """A tree while its brackets open and close. What holds no word when it closes is left out."""

    labels: list[str] = field(default_factory=list)
    children: list[list[Tree | str]] = field(default_factory=lambda: [[]])

    def open(self, label: str) -> None:
        self.labels.append(label)
        self.children.append([])

    def add(self, child: Tree | str) -> None:
        self.children[-1].append(child)

    def close(self) -> None:
        """A bracket without a label leaves what it holds to the one around it."""
        label, held = self.labels.pop(), self.children.pop()
        self.children[-1].extend([Tree(label, tuple(held))] if label and held else held)

    def root(self) -> Tree | None:
        """The one tree; several, or words alone, come below a label for what is not known."""
        while self.labels:
            self.close()
        held = self.children[0]
        if len(held) == 1:
            return held[0] if isinstance(held[0], Tree) else Tree(UNKNOWN_TAG, (held[0],))
        return Tree(UNKNOWN_LABEL, tuple(held)) if held else None


def category(label: str) -> str:
    """NP of NP-SBJ-1; a label that begins with the sign, such as -LRB-, is left whole."""
    found = _CATEGORY.match(label)
    return found.group() if found else label


def escaped(word: str) -> str:
    """Penn's names for the brackets in a word, which would be read as brackets of the tree."""
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def unescaped(word: str) -> str:
    return word.replace("-LRB-", "(").replace("-RRB-", ")")


def parse(text: str) -> Tree:
    """The tree that stands in brackets, in Penn's manner, perhaps inside one more pair of brackets without a label."""
    growing = _Growing()
    before = ""
    for token in _BRACKETS.findall(text):
        if token == ")":
            _check_closing(growing)
            growing.close()
        elif not growing.labels and (token != "(" or growing.children[0]):
            raise DataError("found something outside of the brackets")
        elif token == "(":
            growing.open("")
        elif before == "(":
            growing.labels[-1] = token
        else:
            growing.add(unescaped(token))
        before = token
    if growing.labels:
        raise DataError("a bracket is not closed")
    return _only(growing.children[0])


def _check_closing(growing: _Growing) -> None:
    if not growing.labels:
        raise DataError("a bracket is closed that was not opened")
    if not growing.children[-1]:
        raise DataError("a bracket holds no words")
    if not growing.labels[-1] and len(growing.labels) > 1:
        raise DataError("a bracket inside has no label")


def _only(found: Sequence[Tree | str]) -> Tree:
    """The one tree inside of brackets without a label, or the tree itself."""
    if not found:
        raise DataError("there is no tree")
    if len(found) > 1 or isinstance(found[0], str):
        raise DataError("the brackets around all have no label, and hold more than one tree")
    return found[0]


def symbols_of(text: str) -> tuple[str, ...]:
    """Any text as symbols; what is no opening or closing bracket stands for a word."""
    return tuple(_SYMBOLS.findall(text))


def repair(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """A tree over exactly these words, whatever the symbols are; a linearised tree of as many words is read as it is.

    Words take the symbols for words in order. Symbols for more words than there are go; words that are left over go
    where the symbols end. Brackets that are left open close at the end, those that hold no word go, and what follows
    the outermost bracket moves into it.
    """
    if not words:
        raise DataError("there is no tree over no words; give at least one")
    growing, left = _Growing(), list(reversed(words))
    for symbol in symbols_of(" ".join(symbols)):
        if symbol == CLOSE:
            if len(growing.labels) > 1 or (growing.labels and growing.children[0]):
                growing.close()
        elif symbol.startswith("(") and symbol != UNTAGGED:
            growing.open(symbol[1:])
        elif left:
            word = left.pop()
            growing.add(word if symbol == UNTAGGED else Tree(symbol, (word,)))
    for word in reversed(left):
        growing.add(Tree(UNKNOWN_TAG, (word,)))
    root = growing.root()
    assert root is not None
    return root


def read_back(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree whose linearised form and whose words are given; anything else is refused."""
    tree = repair(symbols, words)
    if tree.symbols() != tuple(symbols):
        shown = " ".join(symbols)
        raise DataError(f"{shown[:80]!r} is not a linearised tree over {len(words)} words, such as '(NP DT NN )'")
    return tree

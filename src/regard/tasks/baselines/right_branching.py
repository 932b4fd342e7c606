"""The right-branching tree: every word begins a phrase that holds all words after it, as English mostly does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.data.trees import UNKNOWN_LABEL, Tree
from regard.tasks.baselines.word_tags import WordTags, fit_word_tags


class RightBranching(NamedTuple):
    """The most frequent label of whole trees and of the phrases below, and the most frequent tag of each word."""

    root: str
    phrase: str
    tags: WordTags

    def parse(self, words: Sequence[str]) -> Tree:
        leaves = [Tree(self.tags.tag(word), (word,)) for word in words]
        tree = leaves[-1]
        for place in range(len(leaves) - 2, -1, -1):
            tree = Tree(self.phrase if place else self.root, (leaves[place], tree))
        return tree if len(leaves) > 1 else Tree(self.root, (tree,))


def fit_right_branching(trees: Iterable[Tree]) -> RightBranching:
    roots: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    tagged: list[tuple[list[str], list[str]]] = []
    for tree in trees:
        words, tags = [], []
        for here in tree.walk():
            if isinstance(here, Tree) and here.is_tag:
                words.append(str(here.children[0]))
                tags.append(here.label)
            elif isinstance(here, Tree) and here is not tree:
                phrases[here.label] += 1
        tagged.append((words, tags))
        roots[tree.label] += not tree.is_tag
    return RightBranching(_usual(roots), _usual(phrases), fit_word_tags(tagged))


def _usual(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0] if counts else UNKNOWN_LABEL

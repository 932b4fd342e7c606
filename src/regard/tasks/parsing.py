"""Constituency parsing as sequence to sequence: the tree is always well-formed, whatever the model writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.answers import Answer
from regard.core.batch import Examples
from regard.core.errors import DataError, InputError, RecipeError, enumerate_problems
from regard.core.metrics import share
from regard.core.ports import Ports
from regard.core.probe import Probe
from regard.core.seams.task import Session, Sums
from regard.core.symbols import SPECIAL_SYMBOLS, UNK
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.sources.treebanks import pair_of
from regard.data.trees import Tree, parse, read_back, repair, symbols_of, unescaped
from regard.decoding.engine import TorchEngine
from regard.layers.losses.distillation import Softening
from regard.tasks.baselines.yardsticks import sampled_trees, tree_yardsticks
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.brackets import bracket_scores, paired_brackets
from regard.tasks.metrics.text import exact_match
from regard.tasks.pairs.encoded_pairs import EncodedPair, check_pairs
from regard.tasks.scores import teacher_forced
from regard.tasks.translation import PairBatch, TeacherForcing, Translation, TranslationConfig

LOOKED_AT = 100
"""Pairs of a split that tell whether it holds trees."""
NAMED = 20
NO_TREES = "lines that are not trees over the words of their sentences"


class ParsingConfig(TeacherForcing):
    """From a sentence to its constituency tree."""

    headline = (
        share("bracket_f1", "bracket F1"),
        share("exact_match", "exact match"),
        share("tag_accuracy", "tag accuracy"),
    )

    kind: str = "parsing"

    def build(self, corpus: Corpus, modalities: Modalities, seed: int) -> Parsing:
        check_pairs(corpus, self.kind)
        check_linearised(corpus)
        check_lossless(corpus, modalities.vocabularies)
        settings = TranslationConfig(**self.model_dump(exclude={"kind"}))
        return Parsing(settings.build(corpus, modalities, seed))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A tree over the words that were given, and whether the model's symbols had to be repaired for it."""

    tree: Tree
    repaired: bool
    answer: Answer


class Parsing:
    """Translation of words into the symbols of a linearised tree (Vinyals et al. 2015), and the way back to trees."""

    additive = True
    static_shapes = False

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.vocabularies = translation.vocabularies
        self.corpus = translation.corpus

    # -- what is the same as in any translation ---------------------------------------------------------------

    def ports(self) -> Ports:
        return self.translation.ports()

    def examples(self, split: str, epoch: int) -> Examples:
        return self.translation.examples(split, epoch)

    def check_lengths(self, model: Any, batch_tokens: int) -> None:
        self.translation.check_lengths(model, batch_tokens)

    def collate(self, items: Sequence[EncodedPair]) -> PairBatch:
        return self.translation.collate(items)

    def sums(self, model: nn.Module, batch: PairBatch) -> Sums:
        return self.translation.sums(model, batch)

    def check_taught(self, teacher: Any) -> None:
        self.translation.check_taught(teacher)

    def distilled(self, model: nn.Module, teacher: Any, batch: PairBatch, softening: Softening) -> Sums:
        return self.translation.distilled(model, teacher, batch, softening)

    def engine(self, model: nn.Module, device: torch.device) -> TorchEngine:
        return self.translation.engine(model, device)

    def encode_pairs(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        return self.translation.encode_pairs(pairs)

    def probe_examples(self, session: Session, items: Sequence[EncodedPair]) -> Probe:
        return self.translation.probe_examples(session, items)

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[EncodedPair]:
        return self.translation.random_examples(session, generator, rows, length)

    # -- trees ------------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        """A sentence; the target is a tree, linearised or in brackets with the words."""
        if target:
            (raw,), (target,) = self.as_written([raw], [target])
        return self.translation.probe(self.with_room(session), raw, target)

    def with_room(self, session: Session) -> Session:
        """A tree has more symbols than the usual limit allows, but not more than it learned."""
        if session.options.max_length:
            return session
        most = self.translation.config.max_length + 1
        return session.with_options(session.options.model_copy(update={"max_length": most}))

    def parse(self, session: Session, sentences: Sequence[Sequence[str]]) -> list[list[Parsed]]:
        """The trees of each sentence, best first."""
        sources = [" ".join(words) for words in sentences]
        found = self.translation.predict(self.with_room(session), sources)
        return [[parsed(answer, words) for answer in own] for own, words in zip(found, sentences, strict=True)]

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        """Bracketed trees with the words in them."""
        found = self.parse(session, [words_of(text) for text in inputs])
        return [[one.answer for one in own] for own in found]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        return self.score_pairs(session, self.corpus.splits[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """Predicted trees against references, which are linearised or in brackets with their words."""
        references = trees_of(pairs)
        found = self.parse(session, [tree.words() for tree in references])
        best = [own[0] for own in found]
        trees = [one.tree for one in best]
        same = exact_match([str(tree) for tree in trees], [str(tree) for tree in references])
        linear = [pair_of(tree) for tree in references]
        return {
            **bracket_scores(trees, references).figures(),
            "exact_match": same.rate,
            "exact_match_low": same.low,
            "exact_match_high": same.high,
            "repaired": sum(one.repaired for one in best) / len(best),
            **teacher_forced(self.translation, session, self.translation.pairs.gathered(self.encode_pairs(linear))),
            "sentences": len(best),
            "decoding": session.options.model_dump(),
        }

    def yardsticks(self, corpus: Corpus, split: str) -> Mapping[str, Yardstick]:
        """The right-branching tree with the most frequent labels."""
        training, fitted_on = sampled_trees(corpus.splits["train"], trees_of)
        return tree_yardsticks(training, fitted_on, trees_of(corpus.splits[split]))

    def compare(self, pairs: Sequence[Pair], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two parsers' answers to the same sentences: is the difference more than chance?"""
        trees_a, trees_b = (
            trees_of([replace(pair, target=answer) for pair, answer in zip(pairs, answers, strict=True)])
            for answers in (first, second)
        )
        return paired_brackets(trees_a, trees_b, trees_of(pairs))

    def as_written(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[list[str], list[str]]:
        """Sentences and given trees as the model reads and writes them: words with one space, and symbols."""
        given = [Pair(*both) for both in zip(sources, targets, strict=True)]
        filled = [place for place, pair in enumerate(given) if pair.source.strip() or pair.target.strip()]
        trees, problems = read_trees([given[place] for place in filled])
        if problems:
            remedy = "give a tree over the words of each sentence"
            raise InputError(NO_TREES, problems, remedy).at(filled)
        pairs = [Pair("", "") for _ in given]
        for place, tree in zip(filled, trees, strict=True):
            pairs[place] = pair_of(tree)
        return [pair.source for pair in pairs], [pair.target for pair in pairs]


def words_of(text: str) -> list[str]:
    """Words have spaces between them; Penn's names for brackets are the brackets."""
    return [unescaped(word) for word in text.split()]


def parsed(answer: Answer, words: Sequence[str]) -> Parsed:
    symbols = symbols_of(answer.text)
    tree = repair(symbols, words)
    return Parsed(tree, tree.symbols() != symbols, replace(answer, text=str(tree)))


def trees_of(pairs: Sequence[Pair]) -> list[Tree]:
    """The tree of every pair; all that have none are named at once."""
    trees, problems = read_trees(pairs)
    if problems:
        lines = [f"{pairs[place].origin} line {pairs[place].line}: {problem}" for place, problem in problems.items()]
        more = [f"and {len(lines) - NAMED} others"] if len(lines) > NAMED else []
        raise DataError(enumerate_problems(NO_TREES, lines[:NAMED] + more))
    return trees


def read_trees(pairs: Sequence[Pair]) -> tuple[list[Tree], dict[int, str]]:
    """Trees, and by their places what is wrong with the pairs that have none."""
    trees: list[Tree] = []
    problems: dict[int, str] = {}
    for place, pair in enumerate(pairs):
        try:
            trees.append(tree_of(pair))
        except DataError as error:
            problems[place] = str(error)
    return trees, problems


def tree_of(pair: Pair) -> Tree:
    """In brackets with the very words of the source, else linearised: with words in them the two look alike."""
    words = words_of(pair.source)
    try:
        tree = parse(pair.target)
    except DataError:
        return read_back(pair.target.split(), words)
    return tree if list(tree.words()) == words else read_back(pair.target.split(), words)


def check_linearised(corpus: Corpus) -> None:
    """Looks at the first pairs of every split; those of treebanks are linearised trees by construction."""
    for split, pairs in corpus.splits.items():
        for pair in pairs[:LOOKED_AT]:
            try:
                read_back(pair.target.split(), pair.source.split())
            except DataError as error:
                raise RecipeError(
                    f'task.kind = "parsing" needs sentences with linearised trees, as data.kind = "world-trees" and '
                    f'"trees" give them; {split} line {pair.line}: {error}'
                ) from None


def check_lossless(corpus: Corpus, vocabularies: Vocabularies) -> None:
    """Symbols must come back as they were, case and spaces included; unknown ones may."""
    target = vocabularies.target
    for pair in corpus.splits.get("train", ())[:LOOKED_AT]:
        written = target.decode(target.encode(pair.target))
        if written != pair.target and SPECIAL_SYMBOLS[UNK] not in written:
            raise RecipeError(
                f"this tokenizer writes {written[:60]!r} for {pair.target[:60]!r}: labels would not come back; "
                'choose tokenizer.kind = "whitespace"'
            )

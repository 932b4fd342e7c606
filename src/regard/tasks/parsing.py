"""Constituency parsing as sequence to sequence: a sentence in, its tree out, well-formed whatever the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.core.errors import DataError, RecipeError, enumerate_problems
from regard.core.seams import Answer, Engine, Progress, Sums
from regard.core.symbols import SPECIAL_SYMBOLS, UNK, Sizes
from regard.data.corpus import Corpus, Pair
from regard.data.sources.treebanks import pair_of
from regard.data.trees import Tree, parse, read_back, repair, symbols_of, unescaped
from regard.data.vocabularies import Vocabularies
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Strategy
from regard.tasks.encoded_pairs import EncodedPair
from regard.tasks.metrics.bleu import Comparison
from regard.tasks.metrics.brackets import bracket_scores, paired_brackets
from regard.tasks.metrics.text import exact_match
from regard.tasks.scores import teacher_forced
from regard.tasks.translation import PairBatch, TeacherForcing, Translation, TranslationConfig

LOOKED_AT = 100
"""Pairs of a split that tell whether it holds trees."""
NAMED = 20


class ParsingConfig(TeacherForcing):
    """From a sentence to its constituency tree."""

    kind: str = "parsing"

    def build(self, corpus: Corpus, vocabularies: Vocabularies, seed: int, dropout: float = 0.0) -> Parsing:
        refuse_other_pairs(corpus)
        refuse_other_pieces(corpus, vocabularies)
        settings = TranslationConfig(**self.model_dump(exclude={"kind"}))
        return Parsing(settings.build(corpus, vocabularies, seed, dropout))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A tree over the words that were given, and whether the model's symbols had to be repaired for it."""

    tree: Tree
    repaired: bool
    answer: Answer


class Parsing:
    """Translation of words into the symbols of a linearised tree (Vinyals et al. 2015), and the way back to trees."""

    additive = True

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.vocabularies = translation.vocabularies
        self.corpus = translation.corpus

    # -- what is the same as in any translation ---------------------------------------------------------------

    def sizes(self) -> Sizes:
        return self.translation.sizes()

    def examples(self, split: str, epoch: int) -> Sequence[EncodedPair]:
        return self.translation.examples(split, epoch)

    def weights(self, epoch: int) -> tuple[float, ...]:
        return self.translation.weights(epoch)

    def check_room(self, model: Any, budget: int) -> None:
        self.translation.check_room(model, budget)

    def lengths(self, examples: Sequence[EncodedPair]) -> np.ndarray:
        return self.translation.lengths(examples)

    def weight(self, lengths_NA: np.ndarray) -> int:
        return self.translation.weight(lengths_NA)

    def collate(self, examples: Sequence[EncodedPair], device: torch.device) -> PairBatch:
        return self.translation.collate(examples, device)

    def sums(self, model: nn.Module, batch: PairBatch) -> Sums:
        return self.translation.sums(model, batch)

    def engine(self, model: nn.Module, device: torch.device) -> TorchEngine:
        return self.translation.engine(model, device)

    def encode_pairs(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        return self.translation.encode_pairs(pairs)

    # -- trees ------------------------------------------------------------------------------------------------

    def parse(
        self,
        model: nn.Module,
        sentences: Sequence[Sequence[str]],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> list[list[Parsed]]:
        """The trees of each sentence, best first."""
        if not options.max_length:  # a tree has more symbols than the usual limit allows, but not more than it learned
            options = options.model_copy(update={"max_length": self.translation.config.longest + 1})
        sources = [" ".join(words) for words in sentences]
        found = self.translation.predict(model, sources, options, device, progress, engine)
        return [[parsed(answer, words) for answer in own] for own, words in zip(found, sentences, strict=True)]

    def predict(
        self,
        model: nn.Module,
        inputs: Sequence[str],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> list[list[Answer]]:
        """Bracketed trees with the words in them; a text without words has none."""
        sentences = [words_of(text) for text in inputs]
        filled = [words for words in sentences if words]
        found = iter(self.parse(model, filled, options, device, progress, engine) if filled else ())
        return [[one.answer for one in next(found)] if words else [Answer("", 0.0, 0.0)] for words in sentences]

    def score(
        self,
        model: nn.Module,
        split: str,
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> dict[str, Any]:
        return self.score_pairs(model, self.corpus.splits[split], options, device, progress, engine)

    def score_pairs(
        self,
        model: nn.Module,
        pairs: Sequence[Pair],
        options: Strategy,
        device: torch.device,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> dict[str, Any]:
        """Predicted trees against references, which are linearised or in brackets with their words."""
        references = trees_of(pairs)
        found = self.parse(model, [tree.words() for tree in references], options, device, progress, engine)
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
            **teacher_forced(self.translation, model, self.encode_pairs(linear), device),
            "sentences": len(best),
            "decoding": options.model_dump(),
        }

    def compare(self, pairs: Sequence[Pair], first: Sequence[str], second: Sequence[str]) -> Comparison:
        """Two parsers' answers to the same sentences: is the difference more than chance?"""
        trees_a, trees_b = (
            trees_of([replace(pair, target=answer) for pair, answer in zip(pairs, answers, strict=True)])
            for answers in (first, second)
        )
        return paired_brackets(trees_a, trees_b, trees_of(pairs))

    def spelled(self, sources: Sequence[str], answers: Sequence[str]) -> tuple[list[str], list[str]]:
        """Sentences and given trees as the model reads and writes them: words with one space, and symbols."""
        given = [Pair(source, answer, line) for line, (source, answer) in enumerate(zip(sources, answers), start=1)]
        trees = iter(trees_of([pair for pair in given if pair.source.strip() or pair.target.strip()]))
        pairs = [pair_of(next(trees)) if pair.source.strip() or pair.target.strip() else Pair("", "") for pair in given]
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
    trees: list[Tree] = []
    problems: list[str] = []
    for pair in pairs:
        try:
            trees.append(tree_of(pair))
        except DataError as error:
            problems.append(f"{pair.origin} line {pair.line}: {error}".lstrip())
    if problems:
        more = [f"and {len(problems) - NAMED} others"] if len(problems) > NAMED else []
        title = "lines that are no trees over the words of their sentences"
        raise DataError(enumerate_problems(title, problems[:NAMED] + more))
    return trees


def tree_of(pair: Pair) -> Tree:
    """In brackets with the very words of the source, else linearised: with words in them the two look alike."""
    words = words_of(pair.source)
    try:
        tree = parse(pair.target)
    except DataError:
        return read_back(pair.target.split(), words)
    return tree if list(tree.words()) == words else read_back(pair.target.split(), words)


def refuse_other_pairs(corpus: Corpus) -> None:
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


def refuse_other_pieces(corpus: Corpus, vocabularies: Vocabularies) -> None:
    """Symbols must come back as they were, case and spaces included; unknown ones may."""
    target = vocabularies.target
    for pair in corpus.splits.get("train", ())[:LOOKED_AT]:
        written = target.decode(target.encode(pair.target))
        if written != pair.target and SPECIAL_SYMBOLS[UNK] not in written:
            raise RecipeError(
                f"this tokenizer writes {written[:60]!r} for {pair.target[:60]!r}: labels would not come back; "
                'choose tokenizer.kind = "whitespace"'
            )

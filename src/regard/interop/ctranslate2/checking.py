"""The converted model against ours: log-probabilities of the same tokens, and greedy answers to the same inputs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import torch
from torch import Tensor

from regard.core.errors import RegardError
from regard.core.seams import Hypothesis
from regard.decoding.options import Greedy
from regard.interop.ctranslate2 import conversion as ctranslate2
from regard.interop.ctranslate2.engine import Ctranslate2Engine, engine_of
from regard.interop.probing import EXACT, LENGTH, Check, ProbedModel, largest_difference
from regard.runs.load import Run
from regard.tasks.running.continuation import always


def check_ctranslate2(run: Run, asked: ProbedModel, plain: Tensor) -> Check:
    """The conversion that is kept in the run folder, or else one made for this."""
    name, what = "ctranslate2", "log-probabilities in CTranslate2 against ours"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            folder = ctranslate2.conversion_folder(run, "float32")
            if not folder.is_dir():
                folder = Path(scratch) / "model"
                ctranslate2.convert(run, folder, "float32")
            engine = engine_of(run, "float32", folder)
        except RegardError as error:
            return Check(name, what, 0.0, EXACT, skipped=str(error))
        try:
            if asked.source:
                difference = answer_difference(run, asked, engine)
            else:
                difference = vocabulary_difference(asked, engine, plain)
            ours, theirs = ([one[0].tokens for one in own] for own in greedy_answers(run, asked, engine))
        except (RuntimeError, ValueError, RegardError) as error:  # the library's words for what it cannot read
            return Check(name, f"{what}; {folder}: {error}", float("inf"), EXACT)
    return Check(name, what, difference, EXACT, *first_difference(ours, theirs, run))


def answer_difference(run: Run, asked: ProbedModel, engine: Ctranslate2Engine) -> float:
    """The largest difference between the log-probabilities of given answers."""
    sources, targets = asked.sources(), asked.tokens_BT[:, 1:].tolist()  # without the opening symbol
    both = zip(run.engine.score(sources, targets), engine.score(sources, targets), strict=True)
    return max(largest_difference(torch.tensor(ours) - torch.tensor(theirs)) for ours, theirs in both)


def vocabulary_difference(asked: ProbedModel, engine: Ctranslate2Engine, plain: Tensor) -> float:
    """The largest difference between the log-probabilities of all symbols."""
    return largest_difference(plain.log_softmax(-1) - engine.log_probabilities(asked.tokens_BT))


def greedy_answers(run: Run, asked: ProbedModel, engine: Ctranslate2Engine) -> Iterator[list[list[Hypothesis]]]:
    """Answers of the model's own engine, then those of the other."""
    if asked.source is not None:
        for one in (run.engine, engine):
            yield one.predict(asked.sources(), Greedy(max_length=LENGTH))
        return
    begun = asked.tokens_BT[:, : asked.tokens_BT.shape[1] // 2].tolist()
    for other in (run.continuation.engine(always(len(begun[0]))), engine):
        yield other.predict(begun, Greedy(max_length=len(begun[0])), prompts=begun)


def first_difference(ours: list[tuple[int, ...]], theirs: list[tuple[int, ...]], run: Run) -> tuple[int, str, str]:
    """The first position at which two answers to the same differ, and what stands there."""
    tokenizer = run.vocabularies.target
    places = []
    for mine, other in zip(ours, theirs, strict=True):
        both = list(zip_longest(mine, other, fillvalue=tokenizer.specials.eos))
        places += [(place, *pair) for place, pair in enumerate(both) if pair[0] != pair[1]][:1]
    if not places:
        return -1, "", ""
    place, mine_there, other_there = min(places)
    return place, tokenizer.token(mine_there), tokenizer.token(other_there)

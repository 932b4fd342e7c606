"""A run is scored: on its own test split, or on files that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.core.files import read_json, write_json
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.readers import read_parallel
from regard.decoding.options import Strategy
from regard.runs.load import Progress, Run
from regard.runs.train import load_corpus
from regard.tasks.alignment import best_head, error_rate
from regard.tasks.scores import teacher_forced, text_scores


def evaluate(
    run: Run,
    *,
    source: str | Path = "",
    reference: str | Path = "",
    options: Strategy | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Scores by name; those of the run's own test split are also kept in ``scores.json``.

    Splits beside ``test`` (the small world's compositional one) come with their name before the score's.
    """
    if source or reference:
        pairs = read_parallel(Path(source), Path(reference), "given", Ledger())
        return score_pairs(run, pairs, options, progress)
    corpus = load_corpus(run.recipe)
    splits = [split for split in corpus.splits if split not in ("train", "validation")] or ["validation"]
    scores: dict[str, Any] = {"split": splits[0]}
    head = None
    if "validation" in corpus.gold and hasattr(run.model, "source_attention"):
        gold = corpus.gold["validation"]
        head = best_head(run.task, run.model, corpus.splits["validation"], gold, run.device)
        scores["alignment_head"] = list(head)
    for split in splits:
        found = score_split(run, corpus, split, head, options, progress)
        prefix = "" if split == splits[0] else f"{split}_"
        scores |= {f"{prefix}{name}": value for name, value in found.items()}
    before = read_json(run.folder.scores) if run.folder.scores.exists() else {}
    write_json(run.folder.scores, {**before, **scores})
    return scores


def score_split(
    run: Run,
    corpus: Corpus,
    split: str,
    head: tuple[int, int] | None,
    options: Strategy | None,
    progress: Progress | None,
) -> dict[str, Any]:
    scores = score_pairs(run, corpus.splits[split], options, progress)
    if head is not None and split in corpus.gold:
        pairs, gold = corpus.splits[split], corpus.gold[split]
        scores["alignment_error_rate"] = error_rate(run.task, run.model, head, pairs, gold, run.device)
    return scores


def score_pairs(
    run: Run, pairs: Sequence[Pair], options: Strategy | None, progress: Progress | None
) -> dict[str, Any]:
    """Predictions against references as they stand, and the references under teacher forcing."""
    strategy: Any = options or run.recipe.decoding
    hypotheses = run.predict([pair.source for pair in pairs], strategy, progress)
    tokenize = run.recipe.task.bleu_tokenize  # type: ignore[attr-defined]
    scores = text_scores(hypotheses, [pair.target for pair in pairs], tokenize)
    forced = teacher_forced(run.task, run.model, run.task.encode_pairs(pairs), run.device)
    return {
        **scores.as_dict(),
        "token_accuracy": forced["token_accuracy"],
        "loss": forced["loss"],
        "decoding": strategy.model_dump(),
    }

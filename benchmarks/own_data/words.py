"""How many words of a table a run pronounces as one of the ways that the table lists.

    python benchmarks/own_data/words.py RUN FOLDER/pronunciations/test.tsv
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import regard


def listed(path: Path) -> dict[str, set[str]]:
    """Every word of the table with all its pronunciations."""
    ways: dict[str, set[str]] = defaultdict(set)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            ways[row["word"]].add(row["pronunciation"])
    return ways


def share_of_words_right(run: Path, table: Path) -> float:
    ways = listed(table)
    answers = regard.load(run).predict(list(ways))
    return sum(str(answer) in right for answer, right in zip(answers, ways.values(), strict=True)) / len(ways)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("table", type=Path)
    given = parser.parse_args()
    right = share_of_words_right(given.run, given.table)
    print(f"words right {right:.4f}, word error rate {1 - right:.4f}, {len(listed(given.table)):,} words")


if __name__ == "__main__":
    main()

"""Small files of graphs, made here, in the formats and under the names that recipes want: molecules, a TU folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_molecules(path: Path, count: int, tag: str) -> None:
    """Chains of carbon with an oxygen at their end in every second one; what is said of each is how long it is."""
    blocks = []
    for number in range(count):
        length = 2 + number * 5 % 7
        elements = ["C"] * (length - 1) + ["O" if number % 2 else "C"]
        lines = [f"chain {number}", "", "", f"{length:3d}{length - 1:3d}  0  0  0  0  0  0  0  0999 V2000"]
        lines += [f"    0.0000    0.0000    0.0000 {element:<3} 0  0" for element in elements]
        lines += [f"{place:3d}{place + 1:3d}  1  0" for place in range(1, length)]
        blocks.append("\n".join([*lines, "M  END", f"> <{tag}>", str(length / 2), "", "$$$$", ""]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(blocks))


def write_tu(folder: Path, count: int) -> None:
    """Rings of three to seven nodes, under the folder's own name; their class is whether the number is odd."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(4)
    edges: list[str] = []
    owners: list[str] = []
    labels: list[str] = []
    kinds: list[str] = []
    for number in range(1, count + 1):
        first, nodes = len(owners), 3 + number * 3 % 5
        ring = [(first + place + 1, first + (place + 1) % nodes + 1) for place in range(nodes)]
        edges += [f"{one}, {other}" for pair in ring for one, other in (pair, pair[::-1])]
        owners += [str(number)] * nodes
        kinds += [str(kind) for kind in generator.integers(0, 3, nodes)]
        labels.append("1" if nodes % 2 else "-1")
    parts = {"A": edges, "graph_indicator": owners, "graph_labels": labels, "node_labels": kinds}
    for part, lines in parts.items():
        (folder / f"{folder.name}_{part}.txt").write_text("\n".join(lines) + "\n")


def write_citations(folder: Path, nodes: int) -> None:
    """A table of papers with their words and subject, and one of who cites whom, written as those of Cora are."""
    folder.mkdir(parents=True, exist_ok=True)
    generator, subjects = np.random.default_rng(2), ("art", "law", "war")
    kinds = [subjects[place % 3] for place in range(nodes)]
    rows, cites = [], []
    for place, kind in enumerate(kinds):
        words = (generator.random(9) < 0.1).astype(int)
        words[3 * subjects.index(kind) : 3 * subjects.index(kind) + 2] = 1
        rows.append("\t".join([str(100 + place), *map(str, words), kind]))
        alike = [kinds[other] == kind or generator.random() < 0.1 for other in range(nodes)]
        others = [other for other in range(nodes) if other != place and alike[other]]
        cites += [f"{100 + place}\t{100 + int(other)}" for other in generator.choice(others, 2)]
    (folder / "cora.content").write_text("\n".join(rows) + "\n")
    (folder / "cora.cites").write_text("\n".join(cites) + "\n")

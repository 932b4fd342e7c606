"""Citation networks as text: a line of NAME.content is a paper with words and subject, one of NAME.cites a citation.

That is how Cora, Citeseer and their like were published first (Sen et al. 2008).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.core.errors import DataError, enumerate_problems
from regard.data.modalities.graph.graphs import Edge, Features, Made, Node, make
from regard.data.readers import read_lines

CONTENT, CITES = ".content", ".cites"
LABEL = "label"
WORD = "word"
SHOWN = 10


def is_citation_folder(folder: Path) -> bool:
    return folder.is_dir() and any(path.with_suffix(CITES).is_file() for path in folder.glob(f"*{CONTENT}"))


def read_citations(folder: Path) -> Made:
    """The graph of a folder: numbers "word 1", "word 2" … of each paper, and its subject as the word "label"."""
    content = next(path for path in sorted(folder.glob(f"*{CONTENT}")) if path.with_suffix(CITES).is_file())
    rows = [(line, text.split()) for line, text in enumerate(read_lines(content), start=1) if text.strip()]
    if not rows:
        raise DataError(f"{content} is empty; a paper, its words and its subject are expected in every line")
    width = len(rows[0][1])
    wrong = [f"line {line}: {len(cells)} columns" for line, cells in rows if len(cells) != width or width < 2]
    if wrong:
        title = f"{content}: a name, the same number of columns and a subject are expected; line 1 has {width} columns"
        raise DataError(enumerate_problems(title, wrong[:SHOWN]))
    try:
        words_NF = np.array([cells[1:-1] for _, cells in rows], np.float32).reshape(len(rows), width - 2)
    except ValueError as error:
        raise DataError(f"{content}: between name and subject there are numbers alone; found something else: {error}"
                        ) from error  # fmt: skip
    names = tuple(f"{WORD} {place}" for place in range(1, width - 1))
    made = make([Node(cells[0], {}) for _, cells in rows], read_cites(content.with_suffix(CITES)), content.stem)
    features = Features(words_NF, names, {LABEL: tuple(cells[-1] for _, cells in rows)})
    return made._replace(graph=replace(made.graph, node_features=features))


def read_cites(path: Path) -> list[Edge]:
    """Two names in every line."""
    rows = [(line, text.split()) for line, text in enumerate(read_lines(path), start=1) if text.strip()]
    wrong = [f"line {line}: {' '.join(cells)[:60]}" for line, cells in rows if len(cells) != 2]
    if wrong:
        title = f"{path}: the names of two papers are expected in every line"
        raise DataError(enumerate_problems(title, wrong[:SHOWN]))
    return [Edge(one, other, {}, f"line {line}") for line, (one, other) in rows]

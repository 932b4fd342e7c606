"""``regard search``: finds the lines of a file that are nearest in meaning to a query."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.console import JSON_OPTION, counting, notes, say, write_json

if TYPE_CHECKING:
    from typing import Literal

    from regard.layers.headed import Pooling

EXAMPLES = """\b
Examples:
  regard search runs/minilm notes.txt "how do I reset my password"
  regard search runs/embed-small-world french.txt "the cat sleeps" --top 3
  regard search runs/minilm notes.txt "first question" "second one" --json
"""


def search(
    run: Path = typer.Argument(help="Run folder: an embedding run, or any run whose model reads texts."),
    file: Path = typer.Argument(help="Texts to search, one per line; their vectors are cached beside the file."),
    queries: list[str] = typer.Argument(help="Search queries (after -- if one begins with a dash)."),
    top: int = typer.Option(10, "--top", metavar="K", min=1, help="Number of results per query."),
    pooling: str = typer.Option(
        None, "--pooling", metavar="HOW",
        help="mean, first, last or pooler; default: as the run was trained, else mean.",
    ),
    as_json: bool = JSON_OPTION,
) -> None:
    """Find the lines of a file that are nearest in meaning: rank, cosine, line number, text."""
    from regard.cli.predicting.inputs import check_filled, readable
    from regard.core.files import sha256_of
    from regard.runs.load import load
    from regard.tasks.vectors.searching import Index

    asked = readable(queries)
    check_filled(asked, "query")
    loaded = load(run)
    embedder = loaded.embedder(pooling_named(pooling))
    model = f"{sha256_of(loaded.folder.weights)} {embedder.head.pool.pooling} {embedder.max_length}"
    with counting("embedding") as progress:
        index = Index.of(file, embedder.embed, model, progress)
    if index.cut:
        say(f"{index.cut} lines are longer than {embedder.max_length} tokens; their ends were cut off", to=notes)
    made = embedder.embed(asked)
    if made.cut:
        say(f"{made.cut} queries are longer than {embedder.max_length} tokens; their ends were cut off", to=notes)
    found = [index.search(vector_D, top) for vector_D in made.vectors_ND]
    if as_json:
        results = [{"query": query, "hits": [hit._asdict() for hit in hits]} for query, hits in zip(asked, found)]
        write_json({"file": str(file), "lines": len(index.texts), "lines_cut": index.cut, "results": results})
        return
    for number, hits in enumerate(found, start=1):
        for hit in hits:
            fields = [str(number)] if len(found) > 1 else []
            sys.stdout.write("\t".join([*fields, str(hit.rank), f"{hit.score:.4f}", str(hit.line), hit.text]) + "\n")


def pooling_named(pooling: str | None) -> Pooling | Literal[""]:
    from typing import get_args

    from regard.core.errors import OptionError
    from regard.layers.headed import Pooling

    for known in get_args(Pooling):
        if pooling == known:
            return known
    if pooling is not None:
        raise OptionError(f"--pooling {pooling!r} is not known; choose mean, first, last or pooler")
    return ""


search.__doc__ = f"{search.__doc__}\n\n{EXAMPLES}"

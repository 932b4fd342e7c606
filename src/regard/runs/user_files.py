"""Files of the user, read in the same way as the run's own data, to be scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny

from regard.core.config import Config, override, parse
from regard.core.errors import OptionError
from regard.data import DATA, DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.readers import find_file, missing_files
from regard.data.sources.entries import is_pattern
from regard.runs.recipe import Recipe, keys_below

GIVEN = "given"
"""The name of the split."""


class DataTable(Config):
    """The part of a recipe that says what is read."""

    data: Annotated[SerializeAsAny[DataPart], DATA] = Field(default_factory=DATA.make)


def user_corpus(recipe: Recipe, files: Sequence[str | Path], settings: Iterable[str] = ()) -> Corpus[Any]:
    """The examples of files, in the split ``given``: read as the recipe's data are, or as settings (``data.…``) say."""
    return user_data(recipe, files, list(settings)).load_test(GIVEN, Ledger())


def user_data(recipe: Recipe, files: Sequence[str | Path], settings: Sequence[str]) -> DataPart:
    names = [str(file) for file in files]
    missing = [path for path in map(Path, names) if not (is_pattern(path) or find_file(path.expanduser()).exists())]
    if missing:
        raise missing_files(missing)
    changed = keys_below("data", settings)
    if len(changed) < len(settings) or {"train", "validation", "test"} & {key.partition(".")[0] for key in changed}:
        raise OptionError(
            "files to score are read with other settings than the run's by --set data.KEY=VALUE, as in "
            f"data.label=mood; found {', '.join(settings)}"
        )
    made = recipe.data.table_for(names)
    table = override({"data": made}, settings, DataTable)["data"]
    if "kind" not in table:
        raise OptionError(
            f"the run's data kind {recipe.data.kind!r} reads no files; say how these are to be read, as in "
            "--set data.kind=pairs"
        )
    data = parse(DataTable, {"data": {**table, "test": names}}, "the files to score").data
    return data.located(Path.cwd(), ["test"])

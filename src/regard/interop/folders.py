"""Output folders of exports: written completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from regard.core.errors import OptionError, RunError
from regard.core.files import sync_folder
from regard.layers.headed import Headed
from regard.runs.load import Run


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A hidden neighbour to fill; it takes its place when everything is written, and vanishes if anything fails."""
    check_empty(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        yield part
        if path.exists():
            path.rmdir()  # empty, as was seen above
        os.replace(part, path)
        sync_folder(path.parent)
    except (OSError, SafetensorError) as error:  # the latter is the library's word for a full disk
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{path} could not be written: {reason}; free some space, or choose another --out") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_no_head(run: Run) -> None:
    """Heads of tasks cannot be exported yet."""
    if isinstance(run.model, Headed):
        parent = run.recipe.start.run
        instead = f"the run that it was started from: {parent}" if parent else "a language or text-to-text model"
        raise OptionError(
            f"{run.folder.path}: a run with a head for {run.recipe.task.kind} cannot be exported; export {instead}"
        )


def check_empty(path: Path) -> None:
    """A folder that holds anything is left alone."""
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir())
        if inside:
            raise RunError(f"{path} is not empty ({', '.join(inside[:5])}…); choose another --out")
    elif path.exists():
        raise RunError(f"{path} is a file; name a folder with --out")

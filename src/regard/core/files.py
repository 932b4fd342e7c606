"""Atomic files: written completely or not at all; checksums; JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import RunError


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Lets ``write`` fill a neighbour of ``path``, makes it durable, then puts it in place in one move.

    A kill at any moment leaves the old file or the new one. A full disk leaves the old one and says so.
    """
    neighbour = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(neighbour)
        with neighbour.open("r+b") as handle:  # to flush a file Windows must be allowed to write it
            os.fsync(handle.fileno())
        os.replace(neighbour, path)
    except OSError as error:
        _remove(neighbour)
        raise RunError(
            f"{path} could not be written: {error.strerror or error}; what was there before is untouched. "
            "Free some space or choose another folder, then continue with --resume"
        ) from error
    except BaseException:
        _remove(neighbour)
        raise
    sync_folder(path.parent)


def _remove(neighbour: Path) -> None:
    """What was half written. A file system that cannot be written says so here once more: the first error is told."""
    with contextlib.suppress(OSError):
        neighbour.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes a rename inside the folder survive a power cut (where the system knows how)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda target: _write_text(target, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(json_safe(value), indent=2, ensure_ascii=False) + "\n")


def json_safe(value: Any) -> Any:
    """The same with null for what JSON cannot say: infinity, and what is not a number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: json_safe(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(inner) for inner in value]
    return value


def parse_json(text: str) -> Any:
    """What a text of JSON says; whatever is wrong with it is a JSONDecodeError, also where it is nested without end or
    has a number of thousands of digits."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("lists or objects are nested too deeply", text, 0) from None
    except ValueError:
        raise json.JSONDecodeError("a number has too many digits", text, 0) from None


def read_json(path: Path) -> Any:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not valid JSON: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_object(path: Path) -> dict[str, Any]:
    """JSON that must be an object."""
    held = read_json(path)
    if not isinstance(held, dict):
        found = type(held).__name__
        raise RunError(f"{path} holds no JSON object, as it should, but a {found}; restore the right file")
    return held


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise unreadable(path, error) from error
    return digest.hexdigest()


def unreadable(path: Path, error: OSError) -> RunError:
    return RunError(f"{path} cannot be read: {error.strerror or error}")

"""Runs ``regard`` in this process, as a terminal would: arguments and standard input in, exit code and text out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from regard.cli.main import main

REGARD = Path(sys.executable).parent / "regard"

TINY = (
    "training.steps=60", "training.batch_tokens=1024", "training.validate_every=30", "model.width=32", "model.heads=2",
    "model.encoder_layers=1", "model.decoder_layers=2", "model.feed_forward.width=32", "data.train_size=2000",
    "data.validation_size=43", "data.test_size=37", "data.compositional_size=17",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What the user gets to see."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        assert self.code == 0, self.err
        return self.out.removesuffix("\n").split("\n")

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be exactly one JSON object and the end of its line."""
        assert self.code == 0, self.err
        assert self.out.endswith("}\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out, parse_constant=_refuse)

    @property
    def error(self) -> str:
        """The message of a command that failed as it should: no traceback, nothing on standard output."""
        assert self.code == 1, f"exit code {self.code}\n{self.out}\n{self.err}"
        assert "Traceback" not in self.err
        assert self.out == ""
        _, found, message = self.err.partition("error: ")
        assert found
        return message.strip()


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def regard(*arguments: object, stdin: bytes | str = b"") -> Result:
    """``regard ARGUMENTS`` in this process: importing torch anew for every command would take most of the time."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given))),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
    return Result(code, out.getvalue(), err.getvalue())


def settings(*more: str) -> list[str]:
    """The tiny sizes and what a test adds to them, as ``--set`` options."""
    return [word for setting in (*TINY, *more) for word in ("--set", setting)]


def apart(*arguments: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``regard ARGUMENTS`` as a process of its own."""
    words = [str(word) for word in (REGARD, *arguments)]
    return subprocess.run(words, input=stdin, capture_output=True, env={**os.environ, **environment})


def small_run(recipe: str, out: Path, *, test: int, compositional: int) -> Path:
    """A run that saw next to nothing of the small world, with so many sentences to be scored on."""
    settings = (
        "data.train_size=150", "data.validation_size=5", f"data.test_size={test}",
        f"data.compositional_size={compositional}", "model.width=16", "training.steps=3", "training.threads=1",
    )  # fmt: skip
    trained = regard("train", recipe, "--out", out, "--json", *(word for one in settings for word in ("--set", one)))
    assert trained.json
    return out

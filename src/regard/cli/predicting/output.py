"""Where answers go: lines of text or JSON as they come, or one JSON object at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from regard.cli.console import discard_output, escape_markup, notes, say, write_json
from regard.cli.predicting.answering import Answered
from regard.cli.predicting.rendering import Rendering
from regard.core.errors import DataError
from regard.core.files import json_safe

ONE_OF = {"inputs": "input", "outputs": "output", "scores": "score", "alignments": "alignment"}
"""What the lists of the JSON object are called where there is one object for each input."""


class Output(Protocol):
    """Takes answers in order; what it has written is whole and flushed."""

    def write(self, answered: Sequence[Answered]) -> None: ...

    def close(self) -> None: ...


class TextLines:
    """One line for each input, as the type of its answers is shown."""

    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering

    def write(self, answered: Sequence[Answered]) -> None:
        write_now("".join(self.rendering.shown(one) for one in answered))

    def close(self) -> None:
        pass


class JsonLines:
    """One JSON object for each input, on a line of its own, with the input's number."""

    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering

    def write(self, answered: Sequence[Answered]) -> None:
        write_now("".join(f"{self.line(one)}\n" for one in answered))

    def line(self, one: Answered) -> str:
        found = {ONE_OF.get(name, name): value for name, value in self.rendering.record(one).items()}
        return json.dumps(json_safe({"line": one.number, **found}), ensure_ascii=False)

    def close(self) -> None:
        pass


class WithFigure:
    """Another output, and a figure of all answers when they are there: ``draw`` writes it to ``file``."""

    def __init__(self, output: Output, draw: Callable[[Sequence[Answered], Path], None], file: Path) -> None:
        self.output, self.draw, self.file = output, draw, file
        self.seen: list[Answered] = []

    def write(self, answered: Sequence[Answered]) -> None:
        self.output.write(answered)
        self.seen += answered

    def close(self) -> None:
        self.output.close()
        if any(one.answers for one in self.seen):
            self.draw(self.seen, self.file)
            say(escape_markup(f"figure: {self.file}"), to=notes)


class JsonObject:
    """One object with a list for everything that is known of the inputs; it is written when all are answered."""

    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering
        self.lists: dict[str, list[Any]] = {name: [] for name in rendering.names}

    def write(self, answered: Sequence[Answered]) -> None:
        for one in answered:
            for name, value in self.rendering.record(one).items():
                self.lists[name].append(value)

    def close(self) -> None:
        write_json(self.lists)


def write_now(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise DataError(
            f"standard output cannot be written: {error.strerror}; free some space or choose another place; the "
            "last line may be incomplete"
        ) from None

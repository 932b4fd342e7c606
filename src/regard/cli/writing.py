"""A language model at the terminal: a prompt that is written on token by token, or a conversation."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.console import notes, say, write_json
from regard.core.errors import DataError

if TYPE_CHECKING:
    from regard.core.answers import Answer
    from regard.runs.load import Run


@dataclass(frozen=True)
class FewShot:
    """Examples of what is wanted, shown before a prompt in its own form: the model is to go on in kind."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, file: Path) -> FewShot:
        from regard.data.readers import read_lines

        lines = [(number, line.split("\t")) for number, line in enumerate(read_lines(file), start=1) if line.strip()]
        wrong = [f"line {number} has {len(columns)}" for number, columns in lines if len(columns) != 2]
        if wrong or not lines:
            found = ", ".join(wrong[:10]) or "the file is empty"
            raise DataError(f"{file}: every line holds an input and its answer with a tab between them, but {found}")
        return cls(tuple((columns[0], columns[1]) for _, columns in lines))

    def with_examples(self, prompt: str) -> str:
        """The prompt as the model reads it: as it stands, or as one more example whose answer is missing."""
        if not self.pairs:
            return prompt
        shown = "".join(f"Input: {given}\nAnswer: {answer}\n\n" for given, answer in self.pairs)
        return f"{shown}Input: {prompt}\nAnswer:"

    @property
    def stop(self) -> tuple[str, ...]:
        """An answer to an example is over where the next one would begin."""
        return ("\n\n", "\nInput:") if self.pairs else ()


@dataclass(frozen=True)
class OutputStyle:
    """How continuations are shown and where they end."""

    stop: tuple[str, ...] = ()
    echo: bool = False
    keep_end: bool = False
    shots: FewShot = field(default_factory=FewShot)


def continue_prompt(run: Run, prompt: str, options: Any, manner: OutputStyle, *, as_json: bool) -> None:
    """The continuation of one prompt, as it is written; with several answers, or as JSON, when it is there."""
    many = options.answers > 1
    if not as_json and not many and options.kind != "beam":
        if manner.echo:
            _show(prompt)
        _continued(run, prompt, options, manner, stream=_show)
        _show("\n")
        return
    answers = _continued(run, prompt, options, manner)
    texts = [(prompt if manner.echo else "") + answer.text for answer in answers]
    if as_json:
        scores = [answer.log_probability for answer in answers]
        write_json({"inputs": [prompt], "prompt": prompt, "outputs": texts, "scores": scores})
        return
    for text in texts:
        _show(text + "\n")


def interactive_session(run: Run, options: Any, manner: OutputStyle) -> None:
    """Prompt after prompt from the terminal until the input ends; a new seed each time, so that nothing is stuck."""
    if sys.stdin.isatty():
        say("type a prompt and press Enter; Ctrl-D ends, Ctrl-C stops an answer", to=notes, style="dim")
    turn = 0
    while True:
        if sys.stdin.isatty():
            notes.print("[bold]›[/bold] ", end="")
        line = sys.stdin.readline()
        if not line:
            return
        seeded = options.reseeded(turn)
        turn += 1
        try:
            continue_prompt(run, line.rstrip("\n"), seeded, manner, as_json=False)
        except KeyboardInterrupt:
            _show("\n")


def _continued(run: Run, prompt: str, options: Any, manner: OutputStyle, stream: Any = None) -> list[Answer]:
    return run.continuation.predict(
        [manner.shots.with_examples(prompt)],
        options,
        stop=(*manner.stop, *manner.shots.stop),
        keep_end=manner.keep_end,
        stream=stream,
    )[0]


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()

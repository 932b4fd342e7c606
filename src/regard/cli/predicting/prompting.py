"""A language model at the terminal: continues a prompt token by token, or holds an interactive session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.console import notes, say, write_json
from regard.core.errors import DataError, InputError

if TYPE_CHECKING:
    from regard.core.answers import Answer
    from regard.core.seams.task import Progress
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

    @property
    def stops(self) -> tuple[str, ...]:
        return (*self.stop, *self.shots.stop)

    def continuations(
        self, run: Run, texts: Sequence[str], options: Any, progress: Progress | None = None, first: int = 0
    ) -> list[list[Answer]]:
        """How each text goes on; an empty one does not. ``first`` is how many texts came before these."""
        from regard.runs.asking import answer_nonempty

        def find(prompts: list[str], places: list[int]) -> list[list[Answer]]:
            found = run.continuation.predict(
                [self.shots.with_examples(prompt) for prompt in prompts], options, stop=self.stops,
                keep_end=self.keep_end, progress=progress, numbers=[first + place for place in places],
            )  # fmt: skip
            if not self.echo:
                return found
            return [
                [replace(answer, text=prompt + answer.text) for answer in own]
                for prompt, own in zip(prompts, found, strict=True)
            ]

        return answer_nonempty(texts, find)


def continue_prompt(run: Run, prompt: str, options: Any, style: OutputStyle, *, as_json: bool) -> None:
    """The continuation of one prompt, as it is written; with several answers, or as JSON, when it is there."""
    from regard.decoding.options import Beam

    many = options.answers > 1
    if not as_json and not many and not isinstance(options, Beam):
        if style.echo:
            _show(prompt)
        _continued(run, prompt, options, style, stream=_show)
        _show("\n")
        return
    answers = _continued(run, prompt, options, style)
    texts = [(prompt if style.echo else "") + answer.text for answer in answers]
    if as_json:
        scores = [answer.log_probability for answer in answers]
        write_json({"inputs": [prompt], "prompt": prompt, "outputs": texts, "scores": scores})
        return
    for text in texts:
        _show(text + "\n")


def interactive_session(run: Run, options: Any, style: OutputStyle) -> None:
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
        seeded = options.with_seed_offset(turn)
        turn += 1
        try:
            continue_prompt(run, line.rstrip("\n"), seeded, style, as_json=False)
        except KeyboardInterrupt:
            _show("\n")


def _continued(run: Run, prompt: str, options: Any, style: OutputStyle, stream: Any = None) -> list[Answer]:
    prompts = [style.shots.with_examples(prompt)]
    try:
        found = run.continuation.predict(prompts, options, stop=style.stops, keep_end=style.keep_end, stream=stream)
    except InputError as error:
        raise DataError(error.named(lambda place: "the prompt")) from None
    return found[0]


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()

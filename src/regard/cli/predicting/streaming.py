"""Reads, answers and writes inputs chunk by chunk, in order; after an interruption says how to continue."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from regard.cli.console import counting, discard_output, escape_markup, notes, say
from regard.cli.predicting.answering import Answered, Answering
from regard.cli.predicting.inputs import Chunk, Inputs, chunks
from regard.cli.predicting.interrupting import interruptible, resume_command
from regard.cli.predicting.output import Output
from regard.core.errors import DataError, InputError, InputWarning, RegardError


def answer_all(
    answering: Answering,
    inputs: Inputs,
    references: Inputs | None,
    output: Output,
    *,
    skip: int,
    words: Sequence[str],
) -> None:
    """All of them, however many there are. ``words`` are those of the command line, for the one that goes on."""
    done = skip
    with interruptible() as interruption:
        try:
            for chunk in chunks(inputs, references, skip=skip, extra=answering.extra_characters):
                answered = answer(answering, chunk, inputs)
                with interruption.until_written():
                    output.write(answered)
                    done = chunk.first + len(answered)
            output.close()
        except BrokenPipeError:  # whoever read the answers has enough of them
            discard_output()
        except KeyboardInterrupt:
            if done > skip:
                output.close()
            say(f"[bold]stopped:[/bold] {escape_markup(stopped_message(inputs, done, skip, words))}", to=notes)
            raise typer.Exit(130) from None
        except RegardError:
            if done > skip:
                output.close()
                say(escape_markup(stopped_message(inputs, done, skip, words)), to=notes)
            raise


def answer(answering: Answering, chunk: Chunk, inputs: Inputs) -> list[Answered]:
    """The answers to a chunk; what is wrong with its inputs, or was left out of them, is told by their numbers."""

    def tell(done: int, total: int) -> None:
        progress(chunk.first + done * len(chunk.texts) // max(total, 1), inputs.total or None)

    try:
        with counting("answering") as progress, warnings_as_notes(chunk, inputs):
            return answering(chunk, tell)
    except InputError as error:
        where = f"{inputs.file}: " if inputs.file else ""
        raise DataError(where + error.named(lambda place: inputs.name(chunk.first + place))) from None


@contextmanager
def warnings_as_notes(chunk: Chunk, inputs: Inputs) -> Iterator[None]:
    """Warnings about inputs count them; which of all inputs they counted stands before."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        yield
    first, last = inputs.name(chunk.first), chunk.first + len(chunk.texts)
    for one in caught:
        if issubclass(one.category, InputWarning):
            where = f"{first} to {last}: " if last > chunk.first + 1 else f"{first}: "
            say(f"[yellow]note:[/yellow] {escape_markup(where + str(one.message))}", to=notes)
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)


def stopped_message(inputs: Inputs, done: int, skip: int, words: Sequence[str]) -> str:
    if done == skip or not inputs.file:
        return "nothing was answered yet" if done == skip else f"{done:,} texts are answered"
    again = f", with {inputs.file} from its first line again" if inputs.file == "standard input" else ""
    return f"{done:,} lines are answered and written; to continue{again}:\n{resume_command(words, done)}"

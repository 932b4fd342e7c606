"""``regard predict``: texts in, answers out, order kept; or a prompt, and how it goes on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.console import JSON_OPTION, counting, flag, read_lines, write_json
from regard.cli.engine import ENGINE, ENGINE_DTYPE, with_engine
from regard.cli.printing import check_no_decoding, chooses, print_choices, spread
from regard.cli.strategy import BEAM, GREEDY, choose, said
from regard.cli.writing import FewShot, OutputStyle, continue_prompt, interactive_session
from regard.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from regard.runs.load import Answer, Run

LINE_ENDS = str.maketrans("\r\n", "  ")

EXAMPLES = """\b
Examples:
  regard predict runs/first "the cat sat on the mat"
  regard predict runs/first --file in.txt --beam 5 > out.txt
  echo "the dog sleeps" | regard predict runs/first --temperature 0.8 --seed 7
  regard predict runs/first --file in.txt --reference given.txt
  regard predict runs/first --file in.txt --engine ctranslate2 --engine-dtype int8
  regard predict runs/shakespeare --prompt "ROMEO:" --max-tokens 300 --temperature 0.8 --seed 7
  regard predict runs/shakespeare --interactive
  regard predict runs/mood "the happy cat sleeps"
  regard predict runs/questions "who saw the dog" --context story.txt
"""


def predict(
    run: Path = typer.Argument(help="Run folder."),
    texts: list[str] = typer.Argument(
        None, help="Inputs: texts, or paths of pictures (after -- if one begins with a dash); default: standard input."
    ),
    file: Path = typer.Option(None, "--file", metavar="FILE", help="Read inputs from a file, one per line."),
    beam: int = typer.Option(0, "--beam", metavar="N", min=0, help=BEAM, show_default=False),
    greedy: bool = flag("--greedy", GREEDY),
    temperature: float = typer.Option(
        None, "--temperature", metavar="T", min=0.0, help="Sample with this temperature; higher is more random."
    ),
    top_k: int = typer.Option(
        None, "--top-k", metavar="K", min=0, help="Sample from the K most probable tokens (0: all)."
    ),
    top_p: float = typer.Option(
        None, "--top-p", metavar="P", min=0.0, max=1.0,
        help="Sample from the smallest set of tokens with total probability P."
    ),
    min_p: float = typer.Option(
        None, "--min-p", metavar="P", min=0.0, max=1.0,
        help="Sample from tokens at least P times as probable as the best.",
    ),
    repetition_penalty: float = typer.Option(
        None, "--repetition-penalty", metavar="X", min=0.0,
        help="Above 1: tokens that were already used become less probable."
    ),
    seed: int = typer.Option(
        None, "--seed", metavar="N", min=0, help="Sampling seed; the same seed gives the same answers."
    ),
    n_best: int = typer.Option(
        1, "--n-best", metavar="N", min=1,
        help="Print the N best answers per input, prefixed with input number and rank."
    ),
    scores: bool = flag("--scores", "Print the log-probability before each answer."),
    alignment: bool = flag("--alignment", "Print word alignments (source-target, counted from 0) after each answer."),
    reference: Path = typer.Option(
        None, "--reference", metavar="FILE", help="Score these answers, one per line, instead of decoding."
    ),
    prompt: str = typer.Option(None, "--prompt", metavar="TEXT", help="Prompt for a language model to continue."),
    max_tokens: int = typer.Option(
        0, "--max-tokens", metavar="N", min=0, help="Maximum number of tokens per answer.", show_default=False
    ),
    stop: list[str] = typer.Option(
        [], "--stop", metavar="TEXT", help="Stop before this string; repeatable."
    ),
    echo: bool = flag("--echo", "Print the prompt before its continuation."),
    interactive: bool = flag("--interactive", "Start an interactive session."),
    shots: Path = typer.Option(
        None, "--shots", metavar="FILE",
        help="Few-shot examples put before every prompt, one per line: input TAB answer."
    ),
    keep_end: bool = flag("--keep-end", "Keep only the end of a prompt that is longer than the context."),
    context: Path = typer.Option(
        None, "--context", metavar="FILE",
        help="Context for all questions; without it, question and context are separated by a tab."
    ),
    engine: str = ENGINE,
    engine_dtype: str = ENGINE_DTYPE,
    as_json: bool = JSON_OPTION,
) -> None:
    """Answer inputs with a trained run, one line per input; or continue a prompt with a language model."""
    if texts and file is not None:
        raise OptionError("give texts on the command line or --file, not both")
    chosen = {"beam": beam, "greedy": greedy, "temperature": temperature, "top_k": top_k, "top_p": top_p,
              "min_p": min_p, "repetition_penalty": repetition_penalty, "seed": seed, "max_tokens": max_tokens,
              "n_best": n_best}  # fmt: skip
    of_texts = {"scores": scores, "alignment": alignment, "reference": reference, "context": context}
    if (prompt is not None or interactive) and said(of_texts):
        named = ", ".join(said(of_texts))
        raise OptionError(f"--prompt and --interactive take nothing that belongs to texts; leave out {named}")
    if reference is not None and said(chosen):
        raise OptionError(
            f"--reference scores given answers and decodes nothing; leave out the way of decoding: "
            f"{', '.join(said(chosen))}"
        )
    if reference is not None and engine != "torch":
        raise OptionError("--reference is scored by the model itself; leave out --engine")
    from regard.runs.load import load

    loaded = with_engine(load(run), engine, engine_dtype)
    if chooses(loaded):
        written = {"scores": scores, "reference": reference, "alignment": alignment}
        check_no_decoding(loaded, said({**chosen, "n_best": 1, **written}))
    options = None if reference is not None else choose(loaded.recipe.decoding, **chosen)
    manner = OutputStyle(tuple(stop), echo, keep_end, FewShot.read(shots) if shots is not None else FewShot())
    if interactive:
        if texts or file is not None or prompt is not None or as_json:
            raise OptionError("--interactive asks for its prompts itself; leave out texts, --file, --prompt and --json")
        interactive_session(loaded, options, manner)
        return
    if prompt is not None:
        if texts or file is not None:
            raise OptionError("give --prompt, or texts, or --file; one of the three")
        continue_prompt(loaded, readable([prompt])[0], options, manner, as_json=as_json)
        return
    if manner != OutputStyle():
        raise OptionError("--stop, --echo, --shots and --keep-end belong to --prompt and --interactive")
    inputs = readable(texts) if texts else read_lines(file)
    if context is not None:
        inputs = in_context(loaded, inputs, context)
    if chooses(loaded):
        with counting("reading") as progress:
            print_choices(loaded, inputs, n_best, options, progress, as_json=as_json)
        return
    if reference is not None:
        answers = score_given(loaded, inputs, read_lines(reference))
        scores = True
    else:
        with counting("answering") as progress:
            answers = spread(inputs, lambda filled: loaded.answers(filled, options, progress))
    links = align(loaded, inputs, [found[0].text if found else "" for found in answers]) if alignment else None
    if as_json:
        write_json(as_object(inputs, answers, links, n_best, scores))
    else:
        write_lines(answers, links, n_best, scores)


def in_context(run: Run, questions: list[str], context: Path) -> list[str]:
    """Every question with the text of a file behind it."""
    from regard.core.capabilities import AnswersQuestions

    if not isinstance(run.task, AnswersQuestions):
        raise OptionError(f"--context belongs to runs that answer questions; this one is for {run.recipe.task.kind}")
    text = " ".join(read_lines(context)).replace("\t", " ")
    return [f"{question}\t{text}" if question.strip() else "" for question in questions]


def readable(texts: list[str]) -> list[str]:
    """Texts of the command line, refused where the terminal sent bytes that are not UTF-8."""
    for number, text in enumerate(texts, start=1):
        if any("\udc80" <= character <= "\udcff" for character in text):  # how Python keeps such bytes
            raise DataError(f"text {number} is not valid UTF-8; convert it, or set the terminal to UTF-8")
    return list(texts)


def align(run: Run, sources: list[str], targets: list[str]) -> list[list[tuple[int, int]]]:
    """Word links (source, target) by the head that evaluation chose, else by the layer before the last."""
    import numpy as np

    from regard.tasks.metrics.alignment import links_from_weights

    usable = [index for index, pair in enumerate(zip(sources, targets)) if all(text.strip() for text in pair)]
    found = run.alignment([sources[i] for i in usable], [targets[i] for i in usable])
    links: list[list[tuple[int, int]]] = [[] for _ in sources]
    for index, weights in zip(usable, found, strict=True):
        head = run.alignment_head
        if head is None:
            layers = sorted({layer for layer, _ in weights.by_head})
            chosen = layers[-2] if len(layers) > 1 else layers[-1]
            matrix = np.mean([value for (layer, _), value in weights.by_head.items() if layer == chosen], axis=0)
        else:
            matrix = weights.by_head[head]
        links[index] = sorted(links_from_weights(matrix))
    return links


def as_object(
    inputs: list[str], answers: list[list[Answer]], links: Any, n_best: int, scores: bool
) -> dict[str, Any]:
    many = n_best > 1
    outputs: list[Any] = [[one.text for one in own] if many else (own[0].text if own else "") for own in answers]
    made: dict[str, Any] = {"inputs": inputs, "outputs": outputs}
    if scores:
        made["scores"] = [
            [one.log_probability for one in own] if many else (own[0].log_probability if own else 0.0)
            for own in answers
        ]
    if links is not None:
        made["alignments"] = links
    return made


def write_lines(answers: list[list[Answer]], links: Any, n_best: int, scores: bool) -> None:
    """One line for each input; with --n-best, input number and rank come first; fields are parted by tabs.

    A model of bytes or characters may write the end of a line: it becomes a space, or lines would shift.
    """
    for number, own in enumerate(answers):
        if not own:
            sys.stdout.write("\n")
        for rank, one in enumerate(own):
            fields = [str(number + 1), str(rank + 1)] if n_best > 1 else []
            if scores:
                fields.append(f"{one.log_probability:.4f}")
            fields.append(one.text.translate(LINE_ENDS))
            if links is not None and rank == 0:
                fields.append(" ".join(f"{source}-{target}" for source, target in links[number]))
            sys.stdout.write("\t".join(fields) + "\n")


def score_given(run: Run, inputs: list[str], references: list[str]) -> list[list[Answer]]:
    """The given answers with their log-probabilities; a pair of two empty lines has none."""
    from regard.runs.load import Answer

    totals = [sum(pieces) for pieces in run.score(inputs, references)]
    return [
        [Answer(reference, total, total)] if source.strip() or reference.strip() else []
        for source, reference, total in zip(inputs, references, totals, strict=True)
    ]


predict.__doc__ = f"{predict.__doc__}\n\n{EXAMPLES}"

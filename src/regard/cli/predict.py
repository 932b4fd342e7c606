"""``regard predict``: answers inputs in order, or continues a prompt."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.console import JSON_OPTION, flag
from regard.cli.options.applicable import check_applicable, generates, prediction_options
from regard.cli.options.engine import ENGINE, ENGINE_DTYPE, with_engine
from regard.cli.options.strategy import BEAM, DECODING_OPTIONS, GREEDY, choose_strategy
from regard.cli.predicting.combinations import check_combination
from regard.cli.predicting.forecasts import check_figure, draw_forecasts
from regard.cli.predicting.inputs import Inputs, from_arguments, from_file, from_standard_input, readable
from regard.cli.predicting.pictures import beginnings, check_picture, draw_side_by_side
from regard.cli.predicting.prompting import FewShot, OutputStyle, continue_prompt, interactive_session

if TYPE_CHECKING:
    from regard.cli.predicting.output import Output
    from regard.decoding.options import Strategy
    from regard.runs.load import Run

EXAMPLES = """\b
Examples:
  regard predict runs/first "the cat sat on the mat"
  regard predict runs/first --file in.txt --beam 5 > out.txt
  regard predict runs/first --file in.txt --beam 5 --skip 4032 >> out.txt
  regard predict runs/first --file in.txt.gz --scores --jsonl > out.jsonl
  echo "the dog sleeps" | regard predict runs/first --temperature 0.8 --seed 7
  regard predict runs/first --file in.txt --reference given.txt
  regard predict runs/first --file in.txt --engine ctranslate2 --engine-dtype int8
  regard predict runs/shakespeare --prompt "ROMEO:" --max-tokens 300 --seed 7
  regard predict runs/shakespeare --interactive
  regard predict runs/mood "the happy cat sleeps"
  regard predict runs/load load.csv --figure tomorrow.svg
  regard predict runs/digits-pixels half.png --figure whole.png
  regard predict runs/questions "who saw the dog" --context story.txt
"""


def predict(
    invocation: typer.Context,
    run: Path = typer.Argument(help="Run folder."),
    texts: list[str] = typer.Argument(
        None,
        help="Inputs: texts, paths of pictures or series (after -- if one begins with a dash); default: standard input",
    ),
    file: Path = typer.Option(
        None, "--file", metavar="FILE", help="Read inputs from a file of any size, one per line; also .gz, .bz2, .xz."
    ),
    skip: int = typer.Option(
        None, "--skip", metavar="N", min=0, help="Leave out the first N lines, which an earlier command has answered."
    ),
    beam: int = typer.Option(None, "--beam", metavar="N", min=1, help=BEAM, show_default=False),
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
        None, "--n-best", metavar="N", min=1,
        help="Print the N best answers per input, prefixed with input number and rank."
    ),
    scores: bool = flag("--scores", "Print the log-probability before each answer."),
    alignment: bool = flag("--alignment", "Print word alignments (source-target, counted from 0) after each answer."),
    reference: Path = typer.Option(
        None, "--reference", metavar="FILE", help="Score these answers, one per line, instead of decoding."
    ),
    prompt: str = typer.Option(None, "--prompt", metavar="TEXT", help="Prompt for a language model to continue."),
    max_tokens: int = typer.Option(
        None, "--max-tokens", metavar="N", min=1, help="Maximum number of tokens per answer."
    ),
    stop: list[str] = typer.Option([], "--stop", metavar="TEXT", help="Stop before this string; repeatable."),
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
    figure: Path = typer.Option(
        None, "--figure", metavar="FILE",
        help="Also draw forecasts with their interval (.svg, .png or .json), or pictures that were continued (.png)."
    ),
    engine: str = ENGINE,
    engine_dtype: str = ENGINE_DTYPE,
    as_json: bool = JSON_OPTION,
    as_jsonl: bool = flag("--jsonl", "Print one JSON object per input, as soon as it is answered."),
) -> None:
    """Answer inputs with a trained run, one line per input; or continue a prompt with a language model."""
    given: dict[str, Any] = {**invocation.params, "json": as_json, "jsonl": as_jsonl}
    check_combination(texts, given)
    from regard.runs.load import load

    loaded = load(run)
    if figure is not None:
        (check_figure if loaded.recipe.data.grey is None else check_picture)(figure)
    check_applicable(loaded, prediction_options(loaded), given)
    loaded = with_engine(loaded, engine, engine_dtype)
    options = strategy_for(loaded, given)
    style = OutputStyle(tuple(stop), echo, keep_end, FewShot.read(shots) if shots is not None else FewShot())
    if interactive:
        interactive_session(loaded, options, style)
    elif prompt is not None:
        continue_prompt(loaded, readable([prompt])[0], options, style, as_json=as_json)
    else:
        words = members(loaded, texts) if texts else []
        inputs = from_arguments(words) if words else from_file(file) if file is not None else from_standard_input()
        answer_inputs(loaded, options, style, inputs, given, invocation.find_root().obj or ["predict"])


def members(run: Run, words: list[str]) -> list[str]:
    """Words of the command line; a file that holds several inputs stands for each of them."""
    from regard.runs.asking import members_of

    grey = run.recipe.data.grey
    if grey is not None:
        return beginnings(grey, words)
    return [one for word in words for one in members_of(run.task, run.modalities.input, word)]


def strategy_for(run: Run, given: dict[str, Any]) -> Strategy:
    """One answer for each input, unless somebody wants several; the rest as the options or the recipe say."""
    from regard.decoding.options import Beam

    number = given["n_best"] or 1
    if not generates(run):
        return Beam(size=number, n_best=number)
    options = {name: given[name] for name in (*DECODING_OPTIONS, "max_tokens")}
    return choose_strategy(run.recipe.decoding, **options, n_best=number)


def answer_inputs(
    run: Run, options: Strategy, style: OutputStyle, inputs: Inputs, given: dict[str, Any], words: list[str]
) -> None:
    from regard.cli.predicting.answering import Answering, read_context
    from regard.cli.predicting.streaming import answer_all

    context = "" if given["context"] is None else read_context(given["context"])
    references = None if given["reference"] is None else from_file(given["reference"])
    answering = Answering(run, options, style, context, given["alignment"])
    answer_all(answering, inputs, references, output_for(run, given), skip=given["skip"] or 0, words=words)


def output_for(run: Run, given: dict[str, Any]) -> Output:
    from regard.cli.predicting.output import JsonLines, JsonObject, TextLines, WithFigure
    from regard.cli.predicting.rendering import rendering_of

    rendering = rendering_of(
        run.task, given["n_best"] or 1, scores=given["scores"] or given["reference"] is not None,
        alignment=given["alignment"],
    )  # fmt: skip
    kind = JsonObject if given["json"] else JsonLines if given["jsonl"] else TextLines
    output: Output = kind(rendering)
    if given["figure"] is None:
        return output
    grey = run.recipe.data.grey
    draw = draw_forecasts if grey is None else partial(draw_side_by_side, grey)
    return WithFigure(output, draw, given["figure"])


predict.__doc__ = f"{predict.__doc__}\n\n{EXAMPLES}"

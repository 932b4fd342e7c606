"""Decoding options of the command line become a strategy; combinations that conflict are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.decoding.options import Strategy


BEAM = "Beam size; without decoding options, the recipe's own are used."
GREEDY = "Take the most probable token at every step."
DECODING_OPTIONS = ("beam", "greedy", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")
"""Options that say how an answer is chosen token by token."""


def given_options(options: Mapping[str, Any]) -> list[str]:
    """The options that were given, as they are typed."""
    return [
        f"--{name.replace('_', '-')}"
        for name, value in options.items()
        if value is not None and value is not False and value != []
    ]


def choose_strategy(
    default: Any,
    *,
    beam: int | None = None,
    greedy: bool = False,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    repetition_penalty: float | None = None,
    seed: int | None = None,
    n_best: int | None = None,
    max_tokens: int | None = None,
) -> Strategy:
    """The strategy that the options name, or the recipe's own where they say nothing."""
    number = n_best or 0
    found = _named(default, beam or 0, greedy, temperature, top_k, top_p, min_p, repetition_penalty, seed, number)
    return found.model_copy(update={"max_length": max_tokens}) if max_tokens else found


def _named(
    default: Any, beam: int, greedy: bool, temperature: float | None, top_k: int | None, top_p: float | None,
    min_p: float | None, repetition_penalty: float | None, seed: int | None, n_best: int,
) -> Strategy:  # fmt: skip
    from regard.core.config import parse
    from regard.decoding.options import Beam, Greedy, Sampling

    if temperature == 0:
        raise OptionError("--temperature 0 is deterministic; use --greedy, or a temperature above 0")
    sampled = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p,
               "repetition_penalty": repetition_penalty}  # fmt: skip
    sampling = bool(given_options(sampled))
    ways = {"--beam": beam, "--greedy": greedy, "--temperature/--top-k/--top-p/--min-p": sampling}
    named = [name for name, wanted in ways.items() if wanted]
    if len(named) > 1:
        raise OptionError(f"{' and '.join(named)} do not go together; choose one way of decoding")
    own_way = not named and isinstance(default, Sampling)
    if seed is not None and not sampling and not own_way:
        way = named[0] if named else f"this run's own decoding ({default.kind})"
        raise OptionError(f"--seed belongs to sampling, and {way} is deterministic; add --temperature T")
    answers = {"n_best": n_best} if n_best else {}
    where = "decoding options"
    if greedy:
        if n_best > 1:
            raise OptionError("--greedy returns one answer; use --beam N or --temperature T with --n-best")
        return parse(Greedy, _kept(default, Greedy), where)
    if sampling:
        given = {name: value for name, value in {**sampled, "seed": seed}.items() if value is not None}
        return parse(Sampling, {**_kept(default, Sampling), **given, **answers}, where)
    if beam:
        if n_best > beam:
            raise OptionError(f"--beam {beam} keeps {beam} answers and --n-best wants {n_best}; give --beam {n_best}")
        return parse(Beam, {**_kept(default, Beam), "size": beam, "n_best": max(n_best, 1)}, where)
    if n_best > 1 and not isinstance(default, Beam | Sampling):
        raise OptionError(
            f"this run's own decoding is {default.kind}, which returns one answer; "
            f"use --beam {n_best} or --temperature 1 with --n-best"
        )
    drawn = {} if seed is None else {"seed": seed}
    if n_best > 1:
        size = {"size": max(default.size, n_best)} if isinstance(default, Beam) else {}
        return parse(type(default), {**default.model_dump(), **size, **answers, **drawn}, where)
    alone = answers if isinstance(default, Beam | Sampling) else {}  # the recipe may keep several; asked for is one
    return default.model_copy(update={**drawn, **alone})


def _kept(default: Strategy, wanted: type[Strategy]) -> dict[str, Any]:
    """What the recipe says and the options do not: all of its own way of decoding, of another the limit alone."""
    held = default.model_dump()
    return held if isinstance(default, wanted) else {"max_length": held["max_length"]}

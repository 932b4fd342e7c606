"""How an answer was chosen: the candidates at every step, and the tree of the beam search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from regard.core.probe import UNKNOWN, Probe
from regard.core.seams import Hypothesis
from regard.core.seams.capabilities import Continues, Translates
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Beam
from regard.decoding.trace import Trace
from regard.inspection.look.packing import three
from regard.inspection.recording import Record
from regard.runs.load import Run
from regard.tasks.running.continuation import always

CANDIDATES = 8
BEAM = 4
WRITTEN_ON = 10  # tokens that a language model is let write
STEPS = 40  # of a beam search that are drawn


def steps(seen: Record) -> list[dict[str, Any]]:
    """At every position that is asked about: the most probable choices, and how the expected one fares."""
    asked = seen.probe
    if not asked.asked:
        return []
    chances_TW = seen.logits_TW.softmax(-1).cpu()
    best_T = chances_TW.topk(min(CANDIDATES, chances_TW.shape[-1]), dim=-1)
    found = []
    for number, place in enumerate(asked.asked):
        row = zip(best_T.indices[place].tolist(), best_T.values[place].tolist())
        one: dict[str, Any] = {"at": place, "candidates": [[asked.choice(id), three(chance)] for id, chance in row]}
        if asked.names:
            one["name"] = asked.names[number]
        expected = asked.expected[place]
        if expected != UNKNOWN:
            chance = chances_TW[place, expected]
            rank = 1 + int((chances_TW[place] > chance).sum())
            one |= {"chosen": asked.choice(expected), "probability": three(float(chance)), "rank": rank}
        found.append(one)
    return found


def classes(seen: Record) -> list[list[Any]]:
    """What is said of the whole input: its classes, or the answers that were found in it; most probable first."""
    return [[one.text or "(no answer)", three(one.probability)] for one in seen.probe.answers(seen.logits_TW)]


def beam_tree(run: Run, asked: Probe) -> dict[str, Any] | None:
    """The search for an answer to the source, or for how the text goes on; None where nothing is written."""
    given = run.recipe.decoding
    options = given if isinstance(given, Beam) else Beam(size=BEAM)
    if asked.search is not None and asked.search.trace is not None:  # it found the answer that the page is about
        return _drawn(run, asked.search.answers, asked.search.trace, options)
    searched = _searched(run, asked, options.model_copy(update={"n_best": options.size}))
    return None if searched is None else _drawn(run, *searched, options)


def _searched(run: Run, asked: Probe, options: Beam) -> tuple[Sequence[Hypothesis], Trace] | None:
    if asked.source is not None and isinstance(run.task, Translates):
        source = asked.source.values[0].tolist()
        return run.engine.explain(source[:-1], options)
    if not isinstance(run.task, Continues):
        return None
    context, ids = run.continuation.context, asked.inputs.values[0].tolist()
    room = min(WRITTEN_ON, context - len(ids)) if context else WRITTEN_ON
    engine = run.continuation.engine(always(room)) if room > 0 else None
    if not isinstance(engine, TorchEngine):
        return None
    return engine.explain(ids, options.model_copy(update={"max_length": room}), prompt=ids)


def _drawn(run: Run, answers: Sequence[Hypothesis], trace: Trace, options: Beam) -> dict[str, Any]:
    token, tokenizer = run.vocabularies.target.token, run.vocabularies.target
    return {
        "size": options.size,
        "penalty": options.length_penalty,
        "answers": [
            {"text": tokenizer.decode(list(one.tokens)), "tokens": [token(id) for id in one.tokens],
             "score": three(one.score), "finished": one.finished}
            for one in answers
        ],
        "steps": [
            [
                {"parent": one.parent, "token": token(one.token), "place": one.place, "finished": one.finished,
                 "chance": three(math.exp(one.step_log_probability)), "score": three(one.score)}
                for one in step.candidates
            ]
            for step in trace.of(0)[:STEPS]
        ],
        "left_out": max(len(trace.of(0)) - STEPS, 0),
    }  # fmt: skip

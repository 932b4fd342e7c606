"""What is written beside exported graphs: tokenizers, and JSON that says how the graphs are called."""

from __future__ import annotations

from typing import Any

import regard
from regard.core.seams import max_length_of, max_lengths_of
from regard.core.seams.capabilities import Continues, HasLabels, Translates
from regard.core.seams.modality import Preprocesses
from regard.core.symbols import Specials
from regard.data.modalities.text.vocabularies import JOINT, SOURCE, TARGET
from regard.decoding.sentences import Symbols
from regard.interop.huggingface.enclosing import enclosed
from regard.interop.huggingface.vocabulary import closed
from regard.interop.onnx.graphs import Graph
from regard.layers.headed import body_of
from regard.runs.load import Run

OPSET = 20  # the first with GELU as one operation; runtimes since 2024 know it


def tokenizers_of(run: Run) -> dict[str, Any]:
    """By file. An encoder's closes each text itself; that of a model which only reads puts all symbols around it."""
    if isinstance(run.modalities.input, Preprocesses):
        return {}
    both = run.vocabularies
    if isinstance(run.task, Continues):
        return {JOINT: both.target.raw}
    if isinstance(run.task, Translates):
        return {JOINT: closed(both.source)} if both.joint else {SOURCE: closed(both.source), TARGET: both.target.raw}
    return {JOINT: enclosed(both.source)}


def signature(graph: Graph) -> dict[str, Any]:
    def listed(named: Any) -> dict[str, Any]:
        return {name: {"type": values.type, "shape": values.shape} for name, values in named.items()}

    return {"inputs": listed(graph.inputs), "outputs": listed(graph.outputs)}


def about(run: Run) -> dict[str, Any]:
    """What a caller must know beside the graphs' inputs and outputs."""
    writes = isinstance(run.task, Continues | Translates)
    return {
        **(about_writing(run) if writes else about_reading(run)),
        "opset": OPSET,
        "regard": regard.__version__,
        "model": run.recipe.model.settled().model_dump(),
    }


def about_writing(run: Run) -> dict[str, Any]:
    """What a decoding loop must know: where texts begin and end, what is never chosen, how long they may be."""
    both = run.vocabularies
    model: Any = run.model
    specials = both.target.specials
    if isinstance(run.task, Continues):
        never = [id for id in specials.known() if id != specials.eos]
        start, longest = specials.opening, {"target": model.max_length}
        files = {"target": JOINT}
    else:
        symbols = Symbols.of(specials)
        never, start = list(symbols.forbidden), specials.sos
        longest = dict(zip(("source", "target"), max_lengths_of(model)))
        files = {"source": JOINT, "target": JOINT} if both.joint else {"source": SOURCE, "target": TARGET}
    return {
        "tokenizers": files,
        "symbols": {side: named(getattr(both, side).specials) for side in files},
        "start": or_none(start),
        "end": or_none(specials.eos),
        "never": never,
        "longest": longest,
    }


def about_reading(run: Run) -> dict[str, Any]:
    """How an input is prepared, and what the numbers that come out stand for."""
    task = run.recipe.task.model_dump()
    said = {"task": task, "labels": list(run.task.labels) if isinstance(run.task, HasLabels) else []}
    if isinstance(run.modalities.input, Preprocesses):
        return {**said, "input": run.modalities.input.preprocessing()}
    specials = run.vocabularies.source.specials
    symbols = {**named(specials), "mask": or_none(specials.mask)}
    longest = {"source": max_length_of(body_of(run.model))}
    return {**said, "tokenizers": {"source": JOINT}, "symbols": {"source": symbols}, "longest": longest}


def named(specials: Specials) -> dict[str, int | None]:
    return {name: or_none(specials.named()[name]) for name in ("pad", "sos", "eos", "unk")}


def or_none(id: int) -> int | None:
    """JSON's word for a symbol that there is not."""
    return id if id >= 0 else None

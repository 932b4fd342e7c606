"""Exports a run as ONNX graphs with dynamic batch and length, tokenizers, and a JSON file that describes them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import nn

import regard
from regard.core.errors import OptionError, RunError
from regard.core.files import write_json, write_text
from regard.core.seams import Mechanism, max_lengths_of
from regard.core.seams.capabilities import Continues
from regard.core.symbols import Specials
from regard.data.modalities.text.vocabularies import JOINT, SOURCE, TARGET
from regard.decoding.sentences import Symbols
from regard.interop.folders import check_no_head, new_folder
from regard.interop.huggingface.vocabulary import closed
from regard.interop.onnx import graphs as onnx_graphs
from regard.interop.onnx import recurrent as onnx_recurrent
from regard.interop.onnx.graphs import Graph
from regard.interop.onnx.running import ABOUT, logits
from regard.runs.load import Run

GRAPHS: dict[str, Callable[[Any, int], list[Graph]]] = {
    "fixed-context": onnx_recurrent.fixed_context,
    "bahdanau": onnx_recurrent.bahdanau,
    "luong": onnx_recurrent.luong,
    "convolution": onnx_graphs.convolutional,
    "transformer": onnx_graphs.translator,
    "recurrent": onnx_recurrent.recurrent_writer,
    "gpt": onnx_graphs.writer,
    "llama": onnx_graphs.writer,
}
"""From a model of the kind, and the number of its symbols."""
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
OPSET = 20  # the first with GELU as one operation; runtimes since 2024 know it
ONE_FILE = 1 << 30  # bytes of weights; with more, they stand in a file beside the graph, since one ends at 2 GiB
EXACT = 1e-4
ROW = 11  # tokens of a trial


def write_onnx(run: Run, out: Path) -> list[str]:
    """The new folder ``out``, if onnxruntime gives our logits for shapes that were not traced; returns its graphs."""
    with new_folder(out) as part:
        files = fill(run, part)
        if not (found := difference(run, part)) <= EXACT:
            raise RunError(f"{out} was not written: onnxruntime's logits are off by {found:.1e}, {EXACT} is tolerated")
    return files


def fill(run: Run, folder: Path) -> list[str]:
    """All files, unchecked, into a folder that exists; returns the graphs."""
    check_no_head(run)
    graphs = graphs_of(run)
    for graph in graphs:
        write_graph(graph, folder / graph.file)
    for name, pieces in tokenizers_of(run).items():
        write_text(folder / name, pieces.to_str(pretty=True))
    write_json(folder / ABOUT, {"graphs": {graph.file: signature(graph) for graph in graphs}, **about(run)})
    return [graph.file for graph in graphs]


def difference(run: Run, folder: Path) -> float:
    """The largest between the logits of an exported folder and ours, for three rows and sources of all lengths."""
    model: Any = run.model
    both, generator = run.vocabularies, torch.Generator().manual_seed(1)
    written = isinstance(run.task, Continues)
    longest = (model.max_length or ROW, model.max_length or ROW) if written else max_lengths_of(model)
    source_length, length = (min(ROW, most or ROW) for most in longest)
    tokens_BT = torch.randint(4, both.target.size, (3, length), generator=generator)
    source = None
    if not written:
        source_BS = torch.randint(4, both.source.size, (3, source_length), generator=generator)
        source = source_BS, torch.tensor([source_length, (source_length + 1) // 2, 1])
    with torch.inference_mode():
        ours_BTW = model.head(model(tokens_BT) if source is None else model(*source, tokens_BT))
    return float((logits(folder, tokens_BT, source) - ours_BTW).abs().nan_to_num(nan=float("inf")).max())


def graphs_of(run: Run) -> list[Graph]:
    """Of a model whose family can be exported, where the packages are installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise OptionError(f"{', '.join(missing)} is not installed: pip install \"regard[onnx]\"")
    kind = run.recipe.model.kind
    if kind not in GRAPHS:
        known = ", ".join(map(repr, GRAPHS))
        raise OptionError(f"{run.folder.path}: model.kind = {kind!r} cannot be exported to ONNX; supported: {known}")
    check_keys_are_kept(run.model)
    return GRAPHS[kind](run.model.cpu().float().eval(), run.vocabularies.target.size)


def check_keys_are_kept(model: nn.Module) -> None:
    """A graph carries every key and value from call to call; what attention remembers otherwise it has no words for."""
    others = {type(one).__name__ for one in model.modules() if isinstance(one, Mechanism) and not one.keeps_keys}
    if others:
        raise OptionError(
            f"a model whose attention keeps a memory of its own ({', '.join(sorted(others))}) cannot be exported to "
            'ONNX; what can is model.attention.kind = "softmax" and others that keep every key and value'
        )


def write_graph(graph: Graph, path: Path) -> None:
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    held = sum(tensor.numel() * 4 for tensor in graph.module.parameters())
    with torch.no_grad(), quiet():
        try:
            program = torch.onnx.export(
                graph.module.eval(),
                tuple(values.example() for values in graph.inputs.values()),
                dynamo=True,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=tuple(values.dynamic() for values in graph.inputs.values()),
                opset_version=OPSET,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as error:
            raise OptionError(f"{graph.file} cannot be exported; torch says: {reason(error)}") from error
        assert program is not None
        ClearMetadataAndDocStringPass()(program.model)  # the places of our sources on this machine
        program.save(path, external_data=held > ONE_FILE)


def reason(error: BaseException) -> str:
    """The first line of what went wrong at first; the exporter wraps it in advice for those who report its bugs."""
    while error.__cause__ is not None:
        error = error.__cause__
    return next(iter(str(error).splitlines()), type(error).__name__)


@contextmanager
def quiet() -> Iterator[None]:
    """The exporter speaks of packages that nobody needs here, of axes that share a name, of how it failed."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def tokenizers_of(run: Run) -> dict[str, Any]:
    """By file; an encoder's closes each text itself."""
    both = run.vocabularies
    if isinstance(run.task, Continues):
        return {JOINT: both.target.raw}
    return {JOINT: closed(both.source)} if both.joint else {SOURCE: closed(both.source), TARGET: both.target.raw}


def signature(graph: Graph) -> dict[str, Any]:
    def listed(named: Any) -> dict[str, Any]:
        return {name: {"type": values.type, "shape": values.shape} for name, values in named.items()}

    return {"inputs": listed(graph.inputs), "outputs": listed(graph.outputs)}


def about(run: Run) -> dict[str, Any]:
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
        "opset": OPSET,
        "regard": regard.__version__,
        "model": run.recipe.model.settled().model_dump(),
    }



def named(specials: Specials) -> dict[str, int | None]:
    return {name: or_none(specials.named()[name]) for name in ("pad", "sos", "eos", "unk")}


def or_none(id: int) -> int | None:
    """JSON's word for a symbol that there is not."""
    return id if id >= 0 else None

"""Exports a run as ONNX graphs with dynamic batch and length, tokenizers, and a JSON file that describes them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.attention.latent import LatentAttention
from regard.core.errors import OptionError, RunError
from regard.core.files import write_json, write_text
from regard.core.seams import Mechanism, max_lengths_of
from regard.core.seams.capabilities import Continues, Fills
from regard.interop.folders import new_folder
from regard.interop.onnx import graphs as onnx_graphs
from regard.interop.onnx import recurrent as onnx_recurrent
from regard.interop.onnx.description import OPSET, about, signature, tokenizers_of
from regard.interop.onnx.graphs import Graph
from regard.interop.onnx.readers import READERS
from regard.interop.onnx.running import ABOUT, logits, read
from regard.interop.probing import ProbedModel, largest_difference
from regard.layers.headed import Headed
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
    graphs = graphs_of(run)
    for graph in graphs:
        write_graph(graph, folder / graph.file)
    for name, pieces in tokenizers_of(run).items():
        write_text(folder / name, pieces.to_str(pretty=True))
    write_json(folder / ABOUT, {"graphs": {graph.file: signature(graph) for graph in graphs}, **about(run)})
    return [graph.file for graph in graphs]


def reads_only(run: Run) -> bool:
    """Whether it is one graph, which is called once: no answer is written token by token."""
    return isinstance(run.model, Headed) or isinstance(run.task, Fills)


def difference(run: Run, folder: Path) -> float:
    """The largest between the logits of an exported folder and ours, for three rows and sources of all lengths."""
    if reads_only(run):
        asked = ProbedModel.of(run, seed=1)
        with torch.inference_mode():
            return largest_difference(asked.logits() - asked.probe.visible(read(folder, asked.probe.inputs)))
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
    return largest_difference(logits(folder, tokens_BT, source) - ours_BTW)


def graphs_of(run: Run) -> list[Graph]:
    """Of a model whose family can be exported, where the packages are installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise OptionError(f"{', '.join(missing)} is not installed: pip install \"regard[onnx]\"")
    kind, model = run.recipe.model.kind, run.model.cpu().float().eval()
    known: Collection[str] = READERS if reads_only(run) else GRAPHS
    if kind not in known:
        task = f" with task.kind = {run.recipe.task.kind!r}" if reads_only(run) else ""
        raise OptionError(
            f"{run.folder.path}: model.kind = {kind!r}{task} cannot be exported to ONNX; supported: "
            f"{', '.join(map(repr, known))}"
        )
    if reads_only(run):
        return READERS[kind](model, run.task.ports())
    check_keys_are_kept(run.model)
    check_keys_are_whole(run.model)
    return GRAPHS[kind](model, run.vocabularies.target.size)


def check_keys_are_kept(model: nn.Module) -> None:
    """A graph carries every key and value from call to call; what attention remembers otherwise it has no words for."""
    others = {type(one).__name__ for one in model.modules() if isinstance(one, Mechanism) and not one.keeps_keys}
    if others:
        raise OptionError(
            f"a model whose attention keeps a memory of its own ({', '.join(sorted(others))}) cannot be exported to "
            'ONNX; what can is model.attention.kind = "softmax" and others that keep every key and value'
        )


def check_keys_are_whole(model: nn.Module) -> None:
    """Nor has it words for what keys are made of."""
    if any(isinstance(one, LatentAttention) for one in model.modules()):
        raise OptionError(
            'a model that writes with latent heads (model.projection.kind = "latent") remembers latents, not keys and '
            'values, and cannot be exported to ONNX; what can is model.projection.kind = "multi-head"'
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

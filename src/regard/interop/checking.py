"""Runs one checkpoint in different ways and checks that every pair of answers agrees."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.core.errors import OptionError, RegardError
from regard.core.files import read_json
from regard.interop.ctranslate2.checking import check_ctranslate2
from regard.interop.exporting import family_of_run, to_huggingface
from regard.interop.onnx import export as onnx_export
from regard.interop.onnx import running as onnx_running
from regard.interop.probing import EXACT, NARROW, Check, ProbedModel, compared, spread
from regard.runs.load import Run
from regard.training import checkpoints


def check(run: Run, seed: int = 1) -> list[Check]:
    """All checks of a run, on random inputs."""
    asked, called = ProbedModel.of(run, seed), run.modalities.input.name
    with torch.inference_mode():
        plain = asked.logits()
        found = [check_weights(run)]
        for name, what, other, tolerance in (
            ("cache", "token by token against all at once", asked.stepwise, EXACT),
            ("batch", f"each {called} alone against all together", asked.alone, EXACT),
            ("reference", "the formula against what runs", asked.by_formula, EXACT),
            ("fused", "the fused kernel against what runs", asked.fused, EXACT),
            ("bfloat16", "bfloat16 against float32", asked.narrow, NARROW * spread(plain)),
        ):
            if name == "cache" and asked.probe.start is None:
                why = f"the model reads a {called} as a whole and never steps through it"
                found.append(Check(name, what, 0.0, tolerance, skipped=why))
                continue
            found.append(compared(name, what, plain, other(), tolerance, asked.probe))
    elsewhere = (check_huggingface, check_onnx, check_ctranslate2)
    return [*found, *(look(run, asked, plain) for look in elsewhere)]


def check_weights(run: Run) -> Check:
    """The weights are those that training wrote down, and all of them are numbers."""
    weights = checkpoints.weights_of(run.model)
    broken = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    what = "the weights against the hash that training wrote down"
    if broken:
        return Check("weights", f"{what}; not all numbers in {', '.join(broken[:5])}", float("inf"), 0.0)
    if not run.folder.summary.exists():
        return Check("weights", what, 0.0, 0.0, skipped="the run has no summary.json")
    same = checkpoints.weights_hash(weights) == read_json(run.folder.summary)["weights_sha256"]
    return Check("weights", what, 0.0 if same else float("inf"), 0.0, unit="")


def check_huggingface(run: Run, asked: ProbedModel, plain: Tensor) -> Check:
    """What transformers makes of our export, where the model has a counterpart there."""
    name, what = "huggingface", "the exported model in transformers against ours"

    def skip(why: str) -> Check:
        return Check(name, what, 0.0, EXACT, skipped=why)

    try:
        import transformers
    except ImportError:
        return skip("transformers is not installed: pip install transformers")
    with tempfile.TemporaryDirectory() as folder:
        try:
            exported = to_huggingface(run, Path(folder) / "model")
        except RegardError as error:
            return skip(str(error))
        quietly(transformers)
        theirs = getattr(transformers, exported.loader).from_pretrained(Path(folder) / "model").eval()
        with torch.inference_mode():
            answered = family_of_run(run).logits(theirs(**asked.asked_of_transformers()))
            said = asked.probe.visible(answered[:, None] if answered.dim() == 2 else answered)
        return compared(name, what, plain, said, EXACT, asked.probe)


def check_onnx(run: Run, asked: ProbedModel, plain: Tensor) -> Check:
    """What onnxruntime makes of our export; where it writes, a second half of tokens has the first as its past."""
    name, what = "onnx", "the exported model in onnxruntime against ours"
    with tempfile.TemporaryDirectory() as folder:
        try:
            onnx_export.fill(run, Path(folder))
        except OptionError as error:
            return Check(name, what, 0.0, EXACT, skipped=str(error))
        if onnx_export.reads_only(run):
            theirs = asked.probe.visible(onnx_running.read(Path(folder), asked.probe.inputs))
        else:
            theirs = onnx_running.logits(Path(folder), asked.tokens_BT, asked.source)
    return compared(name, what, plain, theirs, EXACT, asked.probe)


def quietly(transformers: Any) -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

"""Converts a run to a CTranslate2 folder, at a path of the user or cached inside the run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from regard.core.config import nearest
from regard.core.errors import OptionError, RunError
from regard.core.packages import optional
from regard.interop.ctranslate2.specification import check_expressible, specification
from regard.interop.folders import check_no_head, new_folder
from regard.runs.load import Run
from regard.training import checkpoints

DTYPES = ("float32", "int8")
FOLDER = "ctranslate2"
HASH_LENGTH = 16
MODEL = "model.bin"


def library() -> Any:
    """The package, or how to get it."""
    return optional("ctranslate2", "ctranslate2 is not installed: pip install 'regard[ctranslate2]'")


def check_heads(dtype: str) -> None:
    if dtype not in DTYPES:
        raise OptionError(
            f"CTranslate2 weights of {dtype!r} are not made here{nearest(dtype, DTYPES)}; known: {', '.join(DTYPES)}"
        )


def convert(run: Run, out: Path, dtype: str = "float32") -> Any:
    """Writes the new folder ``out`` with model, vocabularies and our tokenizers; returns the specification.

    In int8 matrices are rounded row by row, norms and biases stay as they are.
    """
    library()
    check_heads(dtype)
    check_no_head(run)
    spec = specification(run)
    spec.validate()
    spec.optimize(quantization=dtype)
    if dtype == "int8":
        leave_headroom(spec)
    with new_folder(out) as part:
        spec.save(str(part))
        run.vocabularies.save(part)
    return spec


def leave_headroom(spec: Any) -> None:
    """Weights from −64 to 64 instead of −127 to 127, their scale halved.

    Processors without VNNI add two products of an unsigned and a signed byte in 16 bits, which 2 · 255 · 127 overflows
    and is cut off there; half the range costs a bit of each weight and keeps the sums.
    """
    from ctranslate2.specs import model_spec

    def halve(layer: Any, name: str, value: Any) -> None:
        if name.endswith("weight_scale") and not isinstance(value, str):
            layer.weight.array = np.rint(layer.weight.array / 2).astype(np.int8)
            layer.weight_scale.array = layer.weight_scale.array / 2

    model_spec.visit_spec(spec, halve)


def conversion_folder(run: Run, dtype: str) -> Path:
    """Where the conversion of these very weights is kept."""
    digest = checkpoints.weights_hash(checkpoints.weights_of(run.model))
    return run.folder.path / FOLDER / f"{dtype}-{digest[:HASH_LENGTH]}"


def cached_conversion(run: Run, dtype: str = "float32") -> Path:
    """The run's conversion, made on first use, and anew when the weights have changed."""
    library()
    check_heads(dtype)
    check_expressible(run)
    folder = conversion_folder(run, dtype)
    if (folder / MODEL).is_file():
        return folder
    try:
        convert(run, folder, dtype)
    except RunError:
        if not (folder / MODEL).is_file():  # else somebody else was faster
            raise
    for older in folder.parent.glob(f"{dtype}-*"):
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)
    return folder

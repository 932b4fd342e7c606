"""The options --engine and --engine-dtype: torch or CTranslate2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.runs.load import Run

ENGINES = ("torch", "ctranslate2")
ENGINE = typer.Option(
    "torch", "--engine", metavar="NAME", help="Inference engine: torch or ctranslate2 (converted on first use)."
)
ENGINE_DTYPE = typer.Option(
    None, "--engine-dtype", metavar="TYPE",
    help="Weight type for ctranslate2: float32 (default, same answers) or int8 (faster, nearly the same).",
)  # fmt: skip


def with_engine(run: Run, engine: str, dtype: str | None) -> Run:
    """The run, with the engine that was asked for."""
    if engine not in ENGINES:
        from regard.core.config import nearest

        raise OptionError(f"--engine {engine} is not known{nearest(engine, ENGINES)}; known: {', '.join(ENGINES)}")
    if engine == "torch":
        if dtype is not None:
            raise OptionError("--engine-dtype belongs to --engine ctranslate2; leave it out, or name that engine")
        return run
    from regard.interop.ctranslate2.engine import engine_of

    return run.with_engine(engine_of(run, "float32" if dtype is None else dtype))

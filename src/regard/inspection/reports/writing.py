"""What a language model has learned: samples, what context is worth, what its heads attend to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from regard.core.files import write_json, write_text
from regard.core.taps import attention_points, record
from regard.decoding.options import Sampling
from regard.runs.integrity import scored_corpus
from regard.runs.load import Run
from regard.runs.train import build_task, load_corpus
from regard.tasks.language_modelling import LanguageModelling

TEMPERATURES = (0.5, 0.8, 1.1)
SAMPLE_TOKENS = 400
WINDOWS = 256  # whose losses are averaged at each position
READ_FOR_HEADS = 8
SHOWN = 48  # tokens of a head's picture
EVEN = 0.95
CLEAR = 0.4  # a share of the weight from which on it names the head


@dataclass(frozen=True)
class HeadFacts:
    """One head over several windows: means over all queries; ``weights_TS`` of one window's beginning."""

    name: str
    head: int
    entropy: float  # bits
    evenness: float  # of the most that it could be; 1: every token read alike
    distance: float  # tokens back
    same: float  # share of the weight on the query's own token, the one before, and the first of all
    previous: float
    first: float
    weights_TS: tuple[tuple[float, ...], ...]

    @property
    def sentence(self) -> str:
        """What it does, in two or three words."""
        shares = {"reads the token before": self.previous, "reads itself": self.same, "rests on the first": self.first}
        clear = max(shares, key=shares.__getitem__)
        if shares[clear] >= CLEAR:
            return clear
        if self.evenness > EVEN:
            return "spreads evenly"
        return "reads nearby" if self.distance < 8 else "reads far back"


@dataclass(frozen=True)
class Analysis:
    """All that the page shows; ``curve`` are training losses by step, ``losses`` validation losses by position."""

    curve: tuple[tuple[int, float], ...]
    validation_curve: tuple[tuple[int, float], ...]
    samples: Mapping[float, str]
    losses: tuple[float, ...]
    heads: tuple[HeadFacts, ...]
    tokens: tuple[str, ...]  # that the pictures are about

    @property
    def sentence(self) -> str:
        """What context is worth."""
        if len(self.losses) < 8:
            return ""
        eighth = len(self.losses) // 8
        early, late = np.mean(self.losses[:eighth]), np.mean(self.losses[-eighth:])
        return (
            f"With up to {eighth} tokens to go by, the loss is {early:.3f}; with {len(self.losses) - eighth} and more, "
            f"{late:.3f}."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence}


def analyse(run: Run) -> Analysis:
    """Looks at a finished run; its validation text must still be where the recipe says."""
    task = build_task(run.recipe, scored_corpus(run.folder, load_corpus(run.recipe)), run.modalities)
    assert isinstance(task, LanguageModelling)
    whole = (window for window in task.examples("validation", 0) if len(window.tokens) == task.config.max_length + 1)
    rows = [np.asarray(window.tokens, np.int64) for window in islice(whole, WINDOWS)]
    curves = _curves(run.folder.metrics)
    samples = {
        temperature: run.continuation.predict(
            [task.config.prompt], Sampling(temperature=temperature, max_length=SAMPLE_TOKENS), keep_end=True
        )[0][0].text
        for temperature in TEMPERATURES
    }
    if not rows:
        return Analysis(*curves, samples, (), (), ())
    tokens_BT = torch.from_numpy(np.stack(rows)).to(run.device)
    shown = tuple(run.vocabularies.target.token(int(id)) for id in tokens_BT[0, :SHOWN])
    return Analysis(*curves, samples, position_losses(run.model, tokens_BT), head_facts(run.model, tokens_BT), shown)


def _curves(metrics: Path) -> tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]:
    lines = [json.loads(text) for text in metrics.read_text(encoding="utf-8").splitlines()] if metrics.exists() else []
    found = {
        split: tuple((line["step"], line["loss"]) for line in lines if line.get("split") == split)
        for split in ("train", "validation")
    }
    return found["train"], found["validation"]


@torch.inference_mode()
def position_losses(model: Any, tokens_BT: Tensor) -> tuple[float, ...]:
    """The mean loss of what follows 1, 2, … tokens of context, which begins with the window."""
    total_T = torch.zeros(tokens_BT.shape[1] - 1, dtype=torch.float64)
    for part_BT in tokens_BT.split(16):
        logits_BTW = model.head(model(part_BT[:, :-1])).float()
        losses_BT = functional.cross_entropy(logits_BTW.transpose(1, 2), part_BT[:, 1:], reduction="none")
        total_T += losses_BT.sum(0).cpu().double()
    return tuple((total_T / len(tokens_BT)).tolist())


@torch.inference_mode()
def head_facts(model: Any, tokens_BT: Tensor) -> tuple[HeadFacts, ...]:
    """Every head of every layer; nothing where the model has no attention."""
    if not attention_points(model):
        return ()
    with record(model, "*") as seen:
        model(tokens_BT[:READ_FOR_HEADS, :-1])
    return tuple(
        _facts(name, head, weights_BTS)
        for name, attention in seen.items()
        for head, weights_BTS in enumerate(attention.weights.float().cpu().unbind(1))
    )


def _facts(name: str, head: int, weights_BTS: Tensor) -> HeadFacts:
    positions = weights_BTS.shape[1]
    back_TS = (torch.arange(positions)[:, None] - torch.arange(positions)).clamp(min=0)
    later = slice(1, None)  # the first query has nothing to choose from
    entropy_BT = -(weights_BTS * weights_BTS.clamp(min=1e-12).log2()).sum(-1)
    return HeadFacts(
        name=name,
        head=head,
        entropy=float(entropy_BT[:, later].mean()),
        evenness=float(entropy_BT[:, later].mean() / torch.arange(2, positions + 1).log2().mean()),
        distance=float((weights_BTS * back_TS).sum(-1)[:, later].mean()),
        same=float(weights_BTS.diagonal(dim1=1, dim2=2)[:, later].mean()),
        previous=float(weights_BTS.diagonal(offset=-1, dim1=1, dim2=2).mean()),
        first=float(weights_BTS[:, later, 0].mean()),
        weights_TS=tuple(map(tuple, weights_BTS[0, :SHOWN, :SHOWN].tolist())),
    )


def write_analysis(run: Run, page: Callable[[Run, Analysis], str]) -> Path:
    """``analysis.html`` and ``analysis.json`` in the run folder; returns the page."""
    analysis = analyse(run)
    write_json(run.folder.path / "analysis.json", analysis.as_dict())
    written = run.folder.path / "analysis.html"
    write_text(written, page(run, analysis))
    return written


def layers(heads: Sequence[HeadFacts]) -> dict[str, list[HeadFacts]]:
    """Heads by the layer that owns them."""
    found: dict[str, list[HeadFacts]] = {}
    for one in heads:
        found.setdefault(one.name, []).append(one)
    return found

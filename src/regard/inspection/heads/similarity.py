"""Which heads read alike: the Jensen–Shannon divergence between two heads, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from regard.core.probe import Probe
from regard.core.seams.task import Progress
from regard.core.taps import record
from regard.inspection.figures.alignments import three_digits
from regard.inspection.heads.names import HeadAt, Kind, every_head, kind_of
from regard.inspection.probes import probes
from regard.runs.load import Run


@dataclass(frozen=True)
class HeadSimilarity:
    """Heads with the same axes; ``divergence[i][j]`` in bits, from 0 (the same weights) to 1 (never a common key)."""

    kind: Kind
    heads: tuple[HeadAt, ...]
    divergence: tuple[tuple[float, ...], ...]

    @property
    def nearest(self) -> tuple[HeadAt, HeadAt, float] | None:
        """The two that differ least; None where there is one head only."""
        pairs = [(i, j) for i in range(len(self.heads)) for j in range(i)]
        if not pairs:
            return None
        i, j = min(pairs, key=lambda pair: self.divergence[pair[0]][pair[1]])
        return self.heads[j], self.heads[i], self.divergence[i][j]

    @property
    def sentence(self) -> str:
        if self.nearest is None:
            return f"There is one head only that reads this way ({self.kind})."
        (one, head), (other, number), bits = self.nearest
        return (
            f"Of {len(self.heads)} heads ({self.kind}), head {head} of {one} and head {number} of {other} read most "
            f"alike: {three_digits(bits)} bits apart on average, where 0 is the same and 1 nothing in common."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence}


@torch.inference_mode()
def head_similarity(
    run: Run, texts: Sequence[str | Probe], targets: Sequence[str] = (), *, pattern: str = "*",
    progress: Progress | None = None,
) -> list[HeadSimilarity]:  # fmt: skip
    """One matrix for each kind of attention that matches."""
    model: Any = run.model.eval()
    heads: dict[Kind, list[HeadAt]] = {}
    for place in every_head(model, pattern):
        heads.setdefault(kind_of(model, place[0]), []).append(place)
    sums = {kind: torch.zeros(len(own), len(own), dtype=torch.float64) for kind, own in heads.items()}
    rows = dict.fromkeys(heads, 0)
    asked = probes(run, texts, targets)
    for number, one in enumerate(asked, start=1):
        with record(model, pattern) as seen:
            one.run(model)
        for kind in heads:
            own = [seen[name].weights[0].cpu().double() for name in seen if kind_of(model, name) == kind]
            divergence_NNT = divergences(torch.cat(own))
            sums[kind] += divergence_NNT.sum(-1)
            rows[kind] += divergence_NNT.shape[-1]
        if progress is not None:
            progress(number, len(asked))
    return [
        HeadSimilarity(kind, tuple(own), tuple(map(tuple, (sums[kind] / rows[kind]).tolist())))
        for kind, own in heads.items()
    ]


def divergences(weights_NTS: Tensor) -> Tensor:
    """JS(p, q) = H((p + q)/2) − (H(p) + H(q))/2 in bits, between all N heads, by row: divergence_NNT."""
    shares_NTS = weights_NTS / weights_NTS.sum(-1, keepdim=True).clamp(min=1e-30)
    own_NT = entropy(shares_NTS)
    found = [
        entropy((one_TS + shares_NTS) / 2) - (own_T + own_NT) / 2 for one_TS, own_T in zip(shares_NTS, own_NT)
    ]
    return torch.stack(found).clamp(min=0.0)


def entropy(shares_TS: Tensor) -> Tensor:
    """Bits, by row."""
    return -(shares_TS * shares_TS.clamp(min=1e-30).log2()).sum(-1)

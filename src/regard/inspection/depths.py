"""The answer read off at every depth: what a model would say if a layer were its last.

States that were made for the next layer are shown to the final norm and the output head (the "logit lens",
nostalgebraist 2020). What comes out early is a hint of what is settled where, no more: a layer may hold what it knows
in a form that only later layers read.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import OptionError
from regard.core.taps import passing
from regard.inspection.alignment_figure import three_digits
from regard.inspection.asking import question
from regard.runs.load import Run

BEFORE = "embedding"
"""The depth before the first layer."""


@dataclass(frozen=True)
class Depths:
    """At each depth (first axis) and each position (second): the best token, its probability, and how the final answer
    fares there, by its probability and its rank (1: it leads).
    """

    names: tuple[str, ...]
    tokens: tuple[str, ...]  # that are read at the positions
    final: tuple[str, ...]  # answers at the last depth
    best: tuple[tuple[str, ...], ...]
    probability: tuple[tuple[float, ...], ...]
    final_probability: tuple[tuple[float, ...], ...]
    final_rank: tuple[tuple[int, ...], ...]

    def settled(self, position: int) -> int:
        """The first depth from which on the final answer leads."""
        leads = [ranks[position] == 1 for ranks in self.final_rank]
        return next(depth for depth in range(len(leads)) if all(leads[depth:]))

    def sentence(self, position: int) -> str:
        depth, last = self.settled(position), len(self.names) - 1
        early = self.final_probability[0][position]
        where = "only at the last depth" if depth == last else f"from {self.names[depth]} on (depth {depth} of {last})"
        return (
            f"After {self.tokens[position]!r} the answer {self.final[position]!r} leads {where}; its probability goes "
            f"from {three_digits(early)} to {three_digits(self.final_probability[-1][position])}."
        )

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sentences": [self.sentence(position) for position in range(len(self.tokens))]}


def levels(model: nn.Module) -> list[str]:
    """The modules whose outputs are the states on their way to the answer, in order."""
    pattern = str(getattr(model, "depth_path", ""))
    if not pattern:
        raise OptionError(
            f"{type(model).__name__} reads its answers off once, from all it has found: there are no depths; "
            "name the run of a model whose layers follow one another (transformer, gpt, llama, bert, convolution, "
            "recurrent)"
        )
    names = (name for name, _ in model.named_modules())
    return [name for name in names if fnmatchcase(name, pattern) and name.count(".") == pattern.count(".")]


@torch.inference_mode()
def states_by_depth(model: nn.Module, inputs: tuple[Tensor, ...]) -> dict[str, Tensor]:
    """states_BTD by depth; of layers that work on all positions at once, also what goes into the first."""
    names = levels(model)
    entering: list[Any] = []
    first = model.get_submodule(names[0])
    handle = first.register_forward_pre_hook(lambda module, inputs: entering.append(inputs[0]))
    try:
        with passing(model, *names) as seen:
            model.eval()(*inputs)
    finally:
        handle.remove()
    found = {} if entering[0].dim() < 3 else {BEFORE: torch.cat(entering, dim=1)}
    return found | {name: joined(seen[name]) for name in names}


def joined(calls: list[Any]) -> Tensor:
    """What a module gave, over all its calls; of several things the first; steps stand one after another."""
    parts = [one if isinstance(one, Tensor) else one[0] for one in calls]
    return torch.cat([part.unsqueeze(1) if part.dim() == 2 else part for part in parts], dim=-2)


@torch.inference_mode()
def depths(run: Run, text: str, target: str = "") -> Depths:
    """What the model would answer after each layer, at every position that is asked about."""
    model: Any = run.model
    asked = question(run, text, target)
    found = states_by_depth(model, asked.inputs())
    rows = list(asked.asked)
    logits_LNW = torch.stack([model.answer_at(states_BTD)[0, rows].float() for states_BTD in found.values()])
    chances_LNW = logits_LNW.softmax(-1)
    best_LN, final_N = chances_LNW.max(-1), logits_LNW[-1].argmax(-1)
    final_LN = logits_LNW.gather(-1, final_N.expand(len(found), -1)[..., None])
    token = run.vocabularies.target.token
    return Depths(
        names=tuple(found),
        tokens=tuple(asked.tokens[row] for row in rows),
        final=tuple(map(token, final_N.tolist())),
        best=tuple(tuple(map(token, row)) for row in best_LN.indices.tolist()),
        probability=tuple(map(tuple, best_LN.values.tolist())),
        final_probability=tuple(
            map(tuple, chances_LNW.gather(-1, final_N.expand(len(found), -1)[..., None])[..., 0].tolist())
        ),
        final_rank=tuple(map(tuple, (1 + (logits_LNW > final_LN).sum(-1)).tolist())),
    )

"""Optimisers by kind: Adam as published, AdamW, and Muon for matrices with AdamW for the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import cast

import torch
from pydantic import Field
from torch import nn

from regard.training import OptimizerPart


class AdamConfig(OptimizerPart):
    """Adam with the paper's betas (Vaswani et al. 2017, section 5.3)."""

    kind: str = "adam"
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)

    def build(self, model: nn.Module, rate: float) -> Optimizers:
        return Optimizers([self.over(torch.optim.Adam, model.parameters(), rate)])

    def over(
        self, optimizer: type[torch.optim.Adam], parameters: Iterable[nn.Parameter], rate: float
    ) -> torch.optim.Optimizer:
        return optimizer(
            [p for p in parameters if p.requires_grad],
            lr=rate,
            betas=(self.beta1, self.beta2),
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            fused=True,
        )


class AdamWConfig(AdamConfig):
    """Adam with weight decay apart from the gradient (Loshchilov & Hutter 2019)."""

    kind: str = "adamw"
    weight_decay: float = Field(0.01, ge=0)

    def build(self, model: nn.Module, rate: float) -> Optimizers:
        return Optimizers([self.over(torch.optim.AdamW, model.parameters(), rate)])


class Optimizers:
    """One or more optimisers over one model that step, rest and are saved together."""

    def __init__(self, members: list[torch.optim.Optimizer]) -> None:
        self.members = members
        self.rates = [[group["lr"] for group in member.param_groups] for member in members]

    def set_learning_rate_shares(self, shares: Mapping[nn.Parameter, float]) -> None:
        """From now on each parameter moves with its own share of the learning rate."""
        for member in self.members:
            groups = []
            for group in member.param_groups:
                parted: dict[float, list[nn.Parameter]] = defaultdict(list)
                for parameter in group["params"]:
                    parted[shares.get(parameter, 1.0)].append(parameter)
                groups += [{**group, "params": own, "lr": group["lr"] * share} for share, own in parted.items()]
            member.param_groups[:] = groups
        self.rates = [[group["lr"] for group in member.param_groups] for member in self.members]

    def scale(self, factor: float) -> None:
        """Sets every learning rate to its own base times the schedule's factor."""
        for member, rates in zip(self.members, self.rates, strict=True):
            for group, rate in zip(member.param_groups, rates, strict=True):
                group["lr"] = rate * factor

    def step(self) -> None:
        for member in self.members:
            member.step()

    def zero_grad(self) -> None:
        for member in self.members:
            member.zero_grad(set_to_none=True)

    def tensors(self, names: dict[nn.Parameter, str]) -> dict[str, torch.Tensor]:
        """All state, as flat named tensors: ``parameter-name//key``."""
        return {
            f"{names[cast(nn.Parameter, parameter)]}//{key}": torch.as_tensor(value)
            for member in self.members
            for parameter, state in member.state.items()
            for key, value in state.items()
        }

    def restore(self, tensors: dict[str, torch.Tensor], names: dict[nn.Parameter, str]) -> None:
        by_name: dict[str, dict[str, torch.Tensor]] = {}
        for flat, tensor in tensors.items():
            name, _, key = flat.partition("//")
            by_name.setdefault(name, {})[key] = tensor
        for member in self.members:
            for group in member.param_groups:
                for parameter in group["params"]:
                    if names[parameter] in by_name:
                        state = by_name[names[parameter]]
                        member.state[parameter] = {key: value.to(parameter.device) for key, value in state.items()}

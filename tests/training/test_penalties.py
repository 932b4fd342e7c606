"""What a body adds to the loss is learned from, alike however a step is divided; so is what a layer hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.inputs import Inputs, States
from regard.core.penalties import add_penalty, collected_penalties
from regard.core.ports import INPUT, Ports, tokens_at
from regard.core.seams.anatomy import Anatomy
from regard.models import ModelPart
from regard.runs.folder import RunFolder
from regard.runs.recipe import Recipe
from regard.runs.train import prepare
from regard.training.loop import Loop
from regard.training.machine import Ranks
from tests.laws.families import DecoderOnly, DecoderOnlyConfig
from tests.training.tiny import LANGUAGE_MODEL, TREE, Remembering, make_loop

WIDTH = 5
MOODS: dict[str, Any] = {
    "data": {"kind": "world-moods", "train_size": 60, "validation_size": 20, "test_size": 0, "compositional_size": 0},
    "tokenizer": {"kind": "word", "min_frequency": 1},
    "model": {"kind": f"{__name__}:TamedConfig", "width": WIDTH},
    "task": {"kind": "classification", "dropout": 0.0, "pooling": "mean"},
    "training": {"steps": 30, "batch_tokens": 120, "learning_rate": 5e-2, "validate_every": 30, "threads": 1,
                 "optimizer": {"kind": "adamw"}, "schedule": {"kind": "constant"}},
}


class TamedConfig(ModelPart):
    """A body that wants its states small; ``hint`` says how much."""

    kind: str = f"{__name__}:TamedConfig"
    width: int = WIDTH
    dropout: float = 0.0
    hint: float = 3.0

    def build(self, ports: Ports) -> Tamed:
        return Tamed(self, tokens_at(ports, INPUT, self.kind).size)


class Tamed(nn.Module):
    anatomy = Anatomy(reading=("embedding",))
    causal, max_length = False, 0

    def __init__(self, config: TamedConfig, size: int) -> None:
        super().__init__()
        self.width, self.hint = config.width, config.hint
        self.embedding = nn.Embedding(size, config.width)

    def represent(self, inputs: Inputs) -> States:
        x_BND = self.embedding(inputs.values)
        real_BN = torch.arange(x_BND.shape[1]) < inputs.real_lengths_B[:, None]
        penalty = self.hint * x_BND[real_BN].square().sum() if self.hint else None
        return States(x_BND, inputs.lengths_B, penalty)


class WishingConfig(DecoderOnlyConfig):
    kind: str = f"{__name__}:WishingConfig"

    def build(self, ports: Ports) -> Any:
        made = super().build(ports)
        made.norm.register_forward_hook(hint)
        return made


def hint(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    add_penalty(output.square().sum())


def loop_of(folder: Path, *settings: str) -> tuple[Loop, Remembering]:
    seen = Remembering()
    return prepare(Recipe.of(MOODS, settings), RunFolder(folder), Ranks(), [seen]), seen


def gradients(loop: Loop, items: list[Any]) -> tuple[float, list[Tensor]]:
    loss, _ = loop.gradients(loop.parts(items))
    return loss, [parameter.grad.clone() for parameter in loop.model.parameters() if parameter.grad is not None]


def test_the_gradient_is_that_of_the_mean_loss_and_the_mean_penalty(tmp_path: Path) -> None:
    loop, _ = loop_of(tmp_path)
    items = loop.task.examples("train", 0).at(range(7))
    batch = loop.task.collate(items)
    model: Any = loop.model
    loss = loop.task.sums(model, batch).sums["loss"] / len(items)
    lengths_B = batch.inputs.real_lengths_B.tolist()
    assert len(set(lengths_B)) > 1, "padding is the harder case"
    read = [batch.inputs.values[row, :length] for row, length in enumerate(lengths_B)]
    penalty = 3.0 * torch.cat([model.body.embedding(tokens) for tokens in read]).square().sum() / sum(lengths_B)
    expected = torch.autograd.grad(loss + penalty, list(model.parameters()))
    found, grads = gradients(loop, items)
    assert found == pytest.approx(float((loss + penalty).detach()), rel=1e-6)
    for one, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_dividing_a_step_changes_nothing(tmp_path: Path) -> None:
    whole, _ = loop_of(tmp_path / "1")
    parted, _ = loop_of(tmp_path / "3", "training.accumulate=3")
    items = whole.task.examples("train", 0).at(range(7))
    assert len({len(part.labels_B) for part in parted.parts(items)}) > 1, "unequal parts are the harder case"
    (one, ours), (other, theirs) = gradients(whole, items), gradients(parted, items)
    assert one == pytest.approx(other, rel=1e-6)
    for grad, twin in zip(ours, theirs, strict=True):
        torch.testing.assert_close(grad, twin, atol=1e-6, rtol=1e-5)


def test_it_matters_and_validations_tell_it_apart(tmp_path: Path) -> None:
    norms = {}
    for wished in (0.0, 3.0):
        loop, seen = loop_of(tmp_path / str(wished), f"model.hint={wished}")
        loop.run()
        norms[wished] = float(loop.model.get_parameter("body.embedding.weight").detach().norm())
        figures = seen.of("validated")[-1][1]
        assert ("penalty" in figures) == (wished > 0)
        assert figures["loss"] < 5, "the loss itself is told without it"
    assert norms[3.0] < 0.8 * norms[0.0]


def test_a_layer_of_a_model_that_writes_hands_it_over(tmp_path: Path) -> None:
    settings = [*LANGUAGE_MODEL[1:], f"model={{kind='{__name__}:WishingConfig', width=8}}"]
    loop, _ = make_loop(tmp_path / "with", *settings)
    plain, _ = make_loop(tmp_path / "without", *LANGUAGE_MODEL, "model.width=8")
    assert isinstance(loop.model, DecoderOnly)
    items = next(loop.items())
    with_penalty, without = (one.gradients(one.parts(items))[0] for one in (loop, plain))
    sums = loop.sums(loop.task.collate(items))
    assert with_penalty - without == pytest.approx(sums.mean("penalty"), rel=1e-4)
    assert TREE["model"]["width"] != 8, "the models are those that are named here"


def test_outside_of_training_nobody_listens() -> None:
    add_penalty(torch.ones(()))
    with collected_penalties() as outer:
        add_penalty(torch.ones(()))
        with collected_penalties() as inner:
            add_penalty(None)
        add_penalty(torch.ones(()))
    assert (len(outer), inner) == (2, [])

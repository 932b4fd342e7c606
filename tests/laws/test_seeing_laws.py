"""What is seen of a model is what happened in it, for every model that has attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention import softmax
from regard.attention.masks import Mask
from regard.attention.mechanism import MatrixMechanism
from regard.core.errors import NoMatrix, OptionError
from regard.core.symbols import SOS
from regard.core.taps import arguments, attention_points, record, record_attention_outputs
from tests.laws.subjects import ATTENTIVE, ENCODERS, Subject, collate, parallel

SOURCES = [(5, 9, 4), (7, 4, 12, 8, 10, 6, 11), (6, 11)]
TARGET_BT = torch.tensor([[SOS, 7, 8, 4, 10, 5], [SOS, 12, 6, 6, 9, 11], [SOS, 4, 4, 11, 8, 7]])
TOKENS_BS = torch.tensor([[1, 5, 9, 4, 2, 0], [1, 7, 12, 8, 10, 2], [1, 11, 2, 0, 0, 0]])
LENGTHS_B = torch.tensor([5, 6, 3])

every_attentive = pytest.mark.parametrize("subject", [*ATTENTIVE, *ENCODERS], ids=lambda subject: subject.name)


@pytest.fixture(autouse=True)
def _without_gradients() -> Any:
    with torch.no_grad():
        yield


def ask(subject: Subject, model: Any) -> Tensor:
    if subject in ENCODERS:
        return model.head(model(TOKENS_BS, LENGTHS_B))
    return parallel(model, collate(model, SOURCES), TARGET_BT)


def with_matrix(model: nn.Module) -> dict[str, Any]:
    return {name: mechanism for name, mechanism in attention_points(model).items() if mechanism.has_matrix}


@every_attentive
def test_recorded_weights_are_those_that_the_kernel_used(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over values of which each has a place of its own, the kernel's answer is its row of weights."""
    monkeypatch.setattr(softmax, "PLAIN_UP_TO_SCORES", 0)  # the fused kernel, also for these short texts
    model = subject.build()
    points = with_matrix(model)
    used: dict[str, list[Tensor]] = {name: [] for name in points}
    answered: dict[str, list[Tensor]] = {name: [] for name in used}

    def watch(name: str, mechanism: nn.Module) -> Any:
        def hook(module: nn.Module, inputs: Any, named: Any, out: Tensor) -> None:
            asked = arguments(inputs, named)
            eye = torch.eye(asked["k"].shape[-2]).expand(*asked["v"].shape[:2], -1, -1)
            used[name].append(mechanism.forward(asked["q"], asked["k"], eye, asked["mask"], asked.get("bias")))
            answered[name].append(out - seen[name].mechanism.weights(*seen[name].calls[-1]) @ asked["v"])

        return mechanism.register_forward_hook(hook, with_kwargs=True)

    with record(model, "*") as seen:
        for name, mechanism in points.items():
            watch(name, mechanism)
        ask(subject, model)
    for name in points:
        assert (seen[name].weights - torch.cat(used[name], dim=-2)).abs().max() < 1e-6
        assert all(difference.abs().max() < 1e-5 for difference in answered[name])


@every_attentive
def test_some_heads_and_rows_are_seen_as_among_all(subject: Subject) -> None:
    """And nothing else is held in memory."""
    model = subject.build()
    with record(model, "*") as whole:
        ask(subject, model)
    for name, mechanism in with_matrix(model).items():
        everything = whole[name]
        heads = [everything.weights.shape[1] - 1]
        with record(model, name, heads, rows=[4, 1, 2]) as seen:
            ask(subject, model)
        part = seen[name]
        assert torch.equal(part.weights.bool(), everything.weights[:, heads][:, :, [1, 2, 4]].bool())
        assert (part.weights - everything.weights[:, heads][:, :, [1, 2, 4]]).abs().max() < 1e-6
        if mechanism.cacheable:
            assert sum(q.shape[-2] for q, *_ in part.calls) == 3
        for q, k, _, bias in part.calls:
            assert q.untyped_storage().nbytes() == q.nbytes
            if everything.weights.shape[1] > 1:
                assert k.untyped_storage().nbytes() == k.nbytes
                assert k.shape[1] == 1
                assert bias is None or bias.untyped_storage().nbytes() == bias.nbytes


class Averaging(MatrixMechanism):
    """Reads the mean of all values, without a matrix; or with one, but only for whole sequences."""

    def __init__(self, *, has_matrix: bool, cacheable: bool) -> None:
        super().__init__()
        self.has_matrix, self.cacheable = has_matrix, cacheable

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        return v.mean(-2, keepdim=True).expand(-1, -1, q.shape[-2], -1)

    def weights(self, q: Tensor, k: Tensor, mask: Mask, bias: Tensor | None = None) -> Tensor:
        assert q.shape == k.shape
        return torch.softmax(q @ k.transpose(-1, -2), dim=-1)


def with_mechanism(mechanism: nn.Module) -> Any:
    model: Any = next(one for one in ATTENTIVE if one.name == "gpt").build()
    model.stack.layers[1].attention.mechanism = mechanism
    return model


def test_a_mechanism_without_a_matrix_says_so_and_shows_its_answers() -> None:
    model = with_mechanism(Averaging(has_matrix=False, cacheable=True))
    with record(model, "*") as seen, record_attention_outputs(model, "*.1.*") as answered:
        model(TARGET_BT)
    assert seen["stack.layers.0.attention"].weights.shape == (3, 3, 6, 6)
    with pytest.raises(NoMatrix, match=r"stack\.layers\.1\.attention: Averaging never forms attention weights"):
        _ = seen["stack.layers.1.attention"].weights
    assert not seen["stack.layers.1.attention"].calls
    assert [out.shape for out in answered["stack.layers.1.attention"]] == [(3, 3, 6, 4)]


def test_rows_of_a_mechanism_that_takes_only_whole_sequences() -> None:
    model = with_mechanism(Averaging(has_matrix=True, cacheable=False))
    with record(model, "*.1.*") as whole, record(model, "*.1.*", rows=[5, 0], heads=[2, 0]) as some:
        model(TARGET_BT)
    expected = whole["stack.layers.1.attention"].weights[:, [2, 0]][:, :, [0, 5]]
    assert torch.equal(some["stack.layers.1.attention"].weights, expected)


def test_heads_and_rows_that_are_not_there_are_named() -> None:
    model: Any = ATTENTIVE[0].build()
    told = r"decoder\.layers\.0\.cross has 3 heads, counted from 0; there is no head 3"
    with pytest.raises(OptionError, match=told), record(model, "decoder.layers.0.cross", heads=[1, 3]):
        ask(ATTENTIVE[0], model)
    with record(model, "decoder.layers.0.cross", rows=[2, 6, 9]) as seen:
        ask(ATTENTIVE[0], model)
    with pytest.raises(OptionError, match="from row 0 to row 5; there is no row 6, 9"):
        _ = seen["decoder.layers.0.cross"].weights
    told = r"rows are counted from 0, and at least one is needed; found \[-1\]"
    with pytest.raises(OptionError, match=told), record(model, "*", rows=[-1]):
        pass

"""The recurrent families and the convolution against their formulas: what flows where, and what does not."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.ports import text_ports
from regard.core.taps import record
from regard.models.bahdanau import BahdanauConfig
from regard.models.convolution import ConvolutionConfig
from regard.models.fixed_context import FixedContextConfig
from regard.models.luong import LuongConfig
from regard.runs.recipe import Recipe

PORTS = text_ports(17, 19)
SMALL: dict[str, Any] = {"width": 6, "dropout": 0.0, "embedding": {"kind": "learned", "width": 5}}
LENGTHS_B = torch.tensor([4, 7, 2])


def batch() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    source_BS = torch.randint(4, 17, (3, 7), generator=generator)
    return source_BS, LENGTHS_B, torch.randint(4, 19, (3, 5), generator=generator)


def built(config: type, **settings: Any) -> Any:
    torch.manual_seed(5)
    model = parse(config, {**SMALL, **settings}).build(PORTS)
    for weight in model.parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight)
    return model.eval()


def embedded(table: Any, tokens: Tensor) -> Tensor:
    return table.weight[tokens] * table.weight.shape[1] ** 0.5


def test_bahdanau_step_by_step_by_its_formulas() -> None:
    model = built(BahdanauConfig, cell={"kind": "gru"})
    source_BS, lengths_B, target_BT = batch()
    found = model(source_BS, lengths_B, target_BT)
    w, u, v = model.attention.project_query, model.attention.project_key, model.attention.mechanism.score.v_C
    theirs = nn.GRUCell(5 + 12, 6)
    with torch.no_grad():
        for name, tensor in zip(
            ("weight_ih", "weight_hh", "bias_ih", "bias_hh"),
            (model.cell.input.weight, model.cell.past.weight, model.cell.input.bias, model.cell.past.bias),
            strict=True,
        ):
            getattr(theirs, name).copy_(tensor)
    for row in range(3):
        length = int(lengths_B[row])
        own_1S = source_BS[row : row + 1, :length]
        h_SC, finals = model.encoder(embedded(model.source_embedding, own_1S), lengths_B[row : row + 1])
        s = torch.tanh(model.bridge.linear(finals[-1][0]))
        for t in range(5):
            scores_S = torch.tanh(w(s) + u(h_SC[0])) @ v
            c = scores_S.softmax(0) @ h_SC[0]
            y = embedded(model.target_embedding, target_BT[row, t])
            s = theirs(torch.cat((y, c))[None], s)
            deep = model.readout.linear(torch.cat((s[0], c, y)))
            torch.testing.assert_close(found[row, t], deep.view(-1, 2).amax(-1))


def test_a_fixed_context_is_all_that_the_decoder_sees() -> None:
    """Whatever the source was: with the same c the states are the same; the whole source goes through one vector."""
    for context in ("start", "every-step"):
        model = built(FixedContextConfig, context=context)
        source_BS, lengths_B, target_BT = batch()
        state = model.start((source_BS, lengths_B))
        assert state.context_BD.shape == (3, 6)
        first = state.context_BD[:1].expand(3, -1)
        same = type(state)(first, model.bridge(first))
        found = model.read(target_BT[:1].expand(3, -1), same)
        torch.testing.assert_close(found[1:], found[:1].expand(2, -1, -1))


def test_a_context_at_every_step_reaches_every_step() -> None:
    """With a start of zeros only the repeated context tells the source apart."""
    for context, reaches in (("every-step", True), ("start", False)):
        model = built(FixedContextConfig, context=context)
        source_BS, lengths_B, target_BT = batch()
        state = model.start((source_BS, lengths_B))
        state.states = [tuple(torch.zeros_like(part) for part in one) for one in state.states]
        found = model.read(target_BT[:1].expand(3, -1), state)
        assert bool((found[0] - found[1]).abs().max() > 1e-4) is reaches


def test_luong_feeds_the_attentional_state_back_or_not() -> None:
    """A change of what attention found at the first step reaches later states only through input feeding."""
    for feeding, reaches in (("input", True), ("none", False)):
        model = built(LuongConfig, feeding=feeding)
        source_BS, lengths_B, target_BT = batch()
        seen: list[Tensor] = []
        handle = model.decoder.register_forward_hook(lambda m, i, out, seen=seen: seen.append(out[0]))
        model(source_BS, lengths_B, target_BT)
        before = torch.cat(seen, dim=1)
        seen.clear()
        tap = model.attention.register_forward_hook(lambda m, i, out: out + 1.0)
        model(source_BS, lengths_B, target_BT)
        tap.remove()
        handle.remove()
        after = torch.cat(seen, dim=1)
        torch.testing.assert_close(after[:, 0], before[:, 0])
        assert bool((after[:, 1:] - before[:, 1:]).abs().max() > 1e-4) is reaches


def test_luong_s_attentional_state_by_its_formula() -> None:
    model = built(LuongConfig, feeding="none", attention={"kind": "general"})
    source_BS, lengths_B, target_BT = batch()
    found = model(source_BS, lengths_B, target_BT)
    state = model.start((source_BS, lengths_B))
    h_BTD, _ = model.decoder(embedded(model.target_embedding, target_BT), state.states)
    memory_BSC = state.memory.v_BGSV[:, 0]
    scores_BTS = torch.einsum("btd,dc,bsc->bts", h_BTD, model.attention.project_key.weight, memory_BSC)
    beyond_BS = torch.arange(7) >= lengths_B[:, None]
    context_BTC = scores_BTS.masked_fill(beyond_BS[:, None], -torch.inf).softmax(-1) @ memory_BSC
    expected = torch.tanh(model.readout.linear(torch.cat((context_BTC, h_BTD), dim=-1)))
    torch.testing.assert_close(found, expected)


def test_a_monotonic_decoder_looks_around_its_own_position() -> None:
    model = built(LuongConfig, attention={"kind": "general", "reach": {"kind": "monotonic", "window": 1}})
    source_BS, lengths_B, target_BT = batch()
    with record(model, model.anatomy.source_attention) as seen:
        model(source_BS, lengths_B, target_BT)
    weights_TS = seen["attention"].weights[1, 0]
    distance_TS = (torch.arange(5)[:, None] - torch.arange(7)).abs()
    assert ((weights_TS > 0) == (distance_TS <= 1)).all()


@pytest.mark.parametrize("kernel, reach", [(2, 2), (3, 4), (4, 6)])
def test_a_causal_stack_sees_as_far_as_its_kernels_reach(kernel: int, reach: int) -> None:
    """Two layers of k neighbours see 2(k − 1) positions back and not one more."""
    model = built(ConvolutionConfig, width=8, kernel=kernel, encoder_layers=1, decoder_layers=2)
    source_BS, lengths_B, _ = batch()
    target_BT = torch.randint(4, 19, (3, 12), generator=torch.Generator().manual_seed(3))
    before = model(source_BS, lengths_B, target_BT)
    target_BT[:, 2] = (target_BT[:, 2] - 4 + 7) % 15 + 4
    changed_T = (model(source_BS, lengths_B, target_BT) - before).abs().amax((0, 2)) > 1e-6
    assert changed_T.nonzero().flatten().tolist() == list(range(2, 2 + reach + 1))


def test_what_does_not_fit_is_refused_in_words() -> None:
    with pytest.raises(RecipeError, match=r"model.tied = .all. makes.*\'one-hot\'; set model.tied = .none."):
        parse(LuongConfig, {"embedding": {"kind": "one-hot"}}).build(PORTS)
    with pytest.raises(RecipeError, match="unknown position kind 'rotary'"):
        parse(Recipe, {"model": {"kind": "convolution", "position": {"kind": "rotary"}}})
    with pytest.raises(RecipeError, match=r"unknown cell kind 'gur' .did you mean 'gru'"):
        parse(Recipe, {"model": {"kind": "bahdanau", "cell": {"kind": "gur"}}})


def test_what_is_usual_differs_by_family() -> None:
    assert parse(LuongConfig, {"attention": {"reach": {"kind": "monotonic"}}}).attention.kind == "general"
    assert LuongConfig().cell.kind == "lstm"
    assert BahdanauConfig().attention.kind == "additive"

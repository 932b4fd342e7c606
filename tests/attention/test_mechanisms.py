"""Laws for every mechanism: the matrix is the truth, masked keys have no influence, fast kernels equal the formula."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard.attention import MECHANISMS, AttentionContext, formulas, softmax
from regard.attention.kernels import fused_attention, short_attention
from regard.attention.masks import CAUSAL, EVERYTHING, Mask
from regard.attention.softmax import ScaledDot, Softmax, SoftmaxConfig
from regard.core.config import parse
from regard.core.errors import RecipeError
from regard.core.seams import Mechanism
from tests.attention.asking import check_hidden

BATCH, HEADS, LENGTH, KEY_WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11
CONTEXT = AttentionContext(KEY_WIDTH, KEY_WIDTH, HEADS, max_length=LENGTH)
Kernel = Callable[[Tensor, Tensor, Tensor, Mask, Tensor | None], Tensor]


HELD_ELSEWHERE = ("linear", "performer", "linformer", "dilated", "reformer")  # to their own laws, in mechanisms/


def every_mechanism() -> dict[str, Callable[[], nn.Module]]:
    made: dict[str, Callable[[], nn.Module]] = {
        kind: lambda kind=kind: MECHANISMS.resolve(kind)(kind=kind).build(CONTEXT)
        for kind in MECHANISMS.kinds()
        if kind not in HELD_ELSEWHERE
    }
    for score in ("scaled-dot", "dot", "bilinear", "additive"):
        for temperature in (1.0, 0.5, 0.0):
            config = SoftmaxConfig(score=score, temperature=temperature)
            made[f"{score} at {temperature}"] = lambda config=config: config.build(CONTEXT)
    return made


MAKERS = every_mechanism()
EVERY_SECOND_TS = torch.arange(LENGTH)[:, None] % 2 == torch.arange(LENGTH) % 2
MASKS = {
    "everything": EVERYTHING,
    "causal": CAUSAL,
    "padding": Mask(lengths_B=torch.tensor([3, 5])),
    "causal and padding": CAUSAL & Mask(lengths_B=torch.tensor([4, 2])),
    "window": Mask(window=2),
    "segments": Mask(
        query_segments_BT=torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]]),
        key_segments_BS=torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 2, 2]]),
    ),
    "dense": Mask(dense_BHTS=EVERY_SECOND_TS[None, None]),
    "an empty sentence": Mask(lengths_B=torch.tensor([0, 4])),
    "rows of different ages": CAUSAL.at(torch.tensor([[0, 1, 2, 2, 2], [1, 2, 3, 4, 4]])),
    "windows of different ages": Mask(window=2).at(torch.tensor([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])),
}


@pytest.fixture(params=list(MAKERS))
def mechanism(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(11)
    return MAKERS[request.param]()


@pytest.fixture(params=list(MASKS))
def mask(request: pytest.FixtureRequest) -> Mask:
    return MASKS[request.param]


def asked(queries: int = LENGTH, keys: int = LENGTH, seed: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(BATCH, HEADS, queries, KEY_WIDTH, generator=generator, requires_grad=True),
        torch.randn(BATCH, HEADS, keys, KEY_WIDTH, generator=generator, requires_grad=True),
        torch.randn(BATCH, HEADS, keys, VALUE_WIDTH, generator=generator, requires_grad=True),
    )


def allowed(mask: Mask, queries: int = LENGTH, keys: int = LENGTH) -> Tensor:
    may_look = mask.dense(queries, keys)
    shape = (BATCH, HEADS, queries, keys)
    return torch.ones(shape, dtype=torch.bool) if may_look is None else may_look.expand(shape)


def test_a_mechanism_fills_the_seam(mechanism: nn.Module) -> None:
    assert isinstance(mechanism, Mechanism)


def test_forward_is_weights_times_values_and_rows_sum_to_one(mechanism: nn.Module, mask: Mask) -> None:
    q, k, v = asked()
    bias_HTS = torch.randn(HEADS, LENGTH, LENGTH)
    for bias in (None, bias_HTS):
        weights_BHTS = mechanism.weights(q, k, mask, bias)
        assert torch.allclose(mechanism(q, k, v, mask, bias), weights_BHTS @ v, atol=1e-5)
        may_look = allowed(mask)
        assert bool((weights_BHTS >= 0).all())
        assert bool((weights_BHTS[~may_look] == 0).all())
        assert torch.allclose(weights_BHTS.sum(-1), may_look.any(-1).float(), atol=1e-5)


def test_a_bias_moves_weight_to_where_it_points(mechanism: nn.Module) -> None:
    q, k, _ = asked()
    bias_HTS = torch.zeros(HEADS, LENGTH, LENGTH)
    bias_HTS[1, 2, 3] = 1e3
    weights_BHTS = mechanism.weights(q, k, EVERYTHING, bias_HTS)
    assert weights_BHTS[:, 1, 2, 3].tolist() == pytest.approx([1.0] * BATCH)
    assert torch.allclose(weights_BHTS[:, 0], mechanism.weights(q, k, EVERYTHING)[:, 0])


def test_a_masked_position_has_no_influence(mechanism: nn.Module, mask: Mask) -> None:
    q, k, v = asked()
    check_hidden(mechanism, (q, k, v), mask, allowed(mask), 1e4)


def test_the_gradient_of_a_masked_position_is_zero_and_all_are_finite(mechanism: nn.Module, mask: Mask) -> None:
    q, k, v = asked()
    out, may_look = mechanism(q, k, v, mask), allowed(mask)
    for s in range(LENGTH):
        gradients = torch.autograd.grad(
            out[~may_look[..., s]].square().sum(), (q, k, v), retain_graph=True, allow_unused=True
        )
        for gradient in gradients:
            assert gradient is None or bool(gradient.isfinite().all())
        for gradient in gradients[1:]:
            assert gradient is None or bool((gradient[:, :, s] == 0).all())


def test_the_future_never_alters_the_past(mechanism: nn.Module) -> None:
    q, k, v = asked()
    before = mechanism(q, k, v, CAUSAL)
    for t in range(LENGTH - 1):
        other_q, other_k, other_v = (x.detach().clone() for x in (q, k, v))
        for changed in (other_q, other_k, other_v):
            changed[:, :, t + 1 :] += 1e3
        assert torch.equal(mechanism(other_q, other_k, other_v, CAUSAL)[:, :, : t + 1], before[:, :, : t + 1])


def test_queries_that_come_later_read_what_they_read_in_the_full_pass(mechanism: nn.Module) -> None:
    q, k, v = asked()
    full = mechanism(q, k, v, CAUSAL)
    for offset in range(LENGTH):
        late = mechanism(q[:, :, offset:], k, v, CAUSAL.at(offset))
        assert torch.allclose(late, full[:, :, offset:], atol=1e-6)


def test_rows_of_different_ages_read_what_each_reads_alone(mechanism: nn.Module) -> None:
    q, k, v = asked(queries=2)
    places_BT = torch.tensor([[1, 2], [3, 4]])
    together = mechanism(q, k, v, CAUSAL.at(places_BT))
    for row, offset in enumerate((1, 3)):
        one = slice(row, row + 1)
        seen = offset + 2  # what lies behind a row's own positions is not there when it is alone
        alone = mechanism(q[one], k[one, :, :seen], v[one, :, :seen], CAUSAL.at(offset))
        assert torch.allclose(together[one], alone, atol=1e-6)


def test_kinds_give_the_published_kernel_and_refuse_a_negative_temperature() -> None:
    assert isinstance(SoftmaxConfig().build(CONTEXT), ScaledDot)
    assert isinstance(SoftmaxConfig(temperature=0.5).build(CONTEXT), Softmax)
    with pytest.raises(RecipeError, match=r"temperature: Input should be greater than or equal to 0, found -1\.0"):
        parse(SoftmaxConfig, {"temperature": -1.0})


# From here on: the two fast kernels against the formula.

KERNELS: dict[str, Kernel] = {"short": short_attention, "fused": fused_attention}
SIDE = math.isqrt(softmax.PLAIN_UP_TO_SCORES)
BELOW, ABOVE = (SIDE - 3, SIDE - 1), (SIDE + 1, SIDE + 3)  # around the switch, wherever measurements put it
LONG = (2 * SIDE + 1, 2 * SIDE + 3)  # under a triangle in blocks, in narrow numbers too


def reference(q: Tensor, k: Tensor, v: Tensor, mask: Mask, bias: Tensor | None) -> Tensor:
    scores = formulas.scaled_dot_scores(q, k)
    scores = scores if bias is None else scores + bias
    return formulas.normalise(scores, mask.dense(q.shape[-2], k.shape[-2])) @ v


def kernel_masks(queries: int, keys: int) -> dict[str, Mask]:
    padding = Mask(lengths_B=torch.tensor([keys - 2, 1]))
    return {
        "everything": EVERYTHING,
        "causal": CAUSAL,
        "padding": padding,
        "causal and padding": CAUSAL & padding,
        "cached": CAUSAL.at(keys - queries),
        "cached and padding": (CAUSAL & padding).at(keys - queries),
        "window": Mask(window=3).at(keys - queries),
        "an empty sentence": Mask(lengths_B=torch.tensor([0, keys])),
        "of different ages": CAUSAL.at(torch.arange(queries) + torch.tensor([[0], [keys - queries]])),
    }


def same_with_gradients(kernel: Kernel, queries: int, keys: int, mask: Mask, bias: str) -> None:
    found_inputs, expected_inputs = asked(queries, keys), asked(queries, keys)
    torch.manual_seed(3)
    found_bias, expected_bias = None, None
    if bias:
        found_bias = torch.randn(HEADS, queries, keys, requires_grad=bias == "learned")
        expected_bias = found_bias.detach().clone().requires_grad_(bias == "learned")
    found = kernel(*found_inputs, mask, found_bias)
    expected = reference(*expected_inputs, mask, expected_bias)
    assert torch.allclose(found, expected, atol=1e-5)
    pull = torch.randn_like(expected)
    wanted, theirs = [*found_inputs], [*expected_inputs]
    if found_bias is not None and expected_bias is not None and bias == "learned":
        wanted, theirs = [*wanted, found_bias], [*theirs, expected_bias]
    for one, other in zip(torch.autograd.grad(found, wanted, pull), torch.autograd.grad(expected, theirs, pull)):
        assert torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("bias", ["", "fixed", "learned"])
@pytest.mark.parametrize("name", list(kernel_masks(3, 5)))
@pytest.mark.parametrize("lengths", [(3, 5), (1, 5), BELOW, ABOVE])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_kernels_equal_the_formula(kernel: str, lengths: tuple[int, int], name: str, bias: str) -> None:
    same_with_gradients(KERNELS[kernel], *lengths, kernel_masks(*lengths)[name], bias)


@pytest.mark.parametrize("name", list(kernel_masks(3, 5)))
@pytest.mark.parametrize("lengths", [(3, 5), BELOW, LONG])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_kernels_in_narrow_numbers_stay_close_to_the_formula(
    kernel: str, lengths: tuple[int, int], name: str
) -> None:
    inputs, mask = asked(*lengths), kernel_masks(*lengths)[name]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = KERNELS[kernel](*inputs, mask, None)
    assert found.dtype == torch.bfloat16
    expected = reference(*inputs, mask, None)
    assert torch.allclose(found.float(), expected, atol=0.03)
    pull = torch.randn_like(expected)
    gradients = zip(torch.autograd.grad(found.float(), inputs, pull), torch.autograd.grad(expected, inputs, pull))
    for one, other in gradients:
        assert one.dtype == torch.float32
        assert torch.allclose(one, other, atol=0.02 * float(other.abs().max()))


@pytest.mark.parametrize("kernel", list(KERNELS))
@pytest.mark.parametrize("name", list(kernel_masks(3, 5)))
def test_kernels_equal_the_formula_where_keys_and_values_are_equally_wide(kernel: str, name: str) -> None:
    # Only then does torch choose its flash kernel, which has rules of its own for empty rows.
    q, k, _ = asked(*ABOVE)
    mask = kernel_masks(*ABOVE)[name]
    found, expected = KERNELS[kernel](q, k, k, mask, None), reference(q, k, k, mask, None)
    assert torch.allclose(found, expected, atol=1e-5)
    for one, other in zip(torch.autograd.grad(found.sum(), (q, k)), torch.autograd.grad(expected.sum(), (q, k))):
        assert torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "lengths", "kernel"),
    [
        ("padding", BELOW, "short"),
        ("padding", ABOVE, "fused"),
        ("causal and padding", ABOVE, "short"),
        ("causal and padding", (4 * SIDE + 1, 4 * SIDE + 3), "fused"),
    ],
)
def test_the_switch_changes_the_kernel_and_nothing_else(
    name: str, lengths: tuple[int, int], kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    for own, run in KERNELS.items():
        def spy(*inputs: Tensor, own: str = own, run: Kernel = run) -> Tensor:
            called.append(own)
            return run(*inputs)

        monkeypatch.setattr(softmax, f"{own}_attention", spy)
    q, k, v = asked(*lengths)
    mask = kernel_masks(*lengths)[name]
    assert torch.allclose(ScaledDot()(q, k, v, mask), reference(q, k, v, mask, None), atol=1e-5)
    assert called == [kernel]


UNSEEING = {
    "dense": Mask(dense_BHTS=(torch.arange(5)[:, None] != 1).expand(5, 7)),
    "no length": Mask(lengths_B=torch.tensor([0, 7])),
    "foreign segment": Mask(query_segments_BT=torch.tensor([[0, 9, 0, 0, 0]] * 2), key_segments_BS=torch.zeros(2, 7)),
    "window beyond the length": Mask(window=2, lengths_B=torch.tensor([2, 7])),
    "window beyond the keys": Mask(window=2).at(5),
}


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("name", list(UNSEEING))
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_a_query_that_may_look_at_nothing_reads_zero_with_finite_gradients(
    kernel: str, wide: bool, name: str, biased: bool
) -> None:
    q, k, v = asked(5, 7)
    v = v if wide else k
    bias = torch.randn(HEADS, 5, 7, requires_grad=True) if biased else None
    out = KERNELS[kernel](q, k, v, UNSEEING[name], bias)
    unseeing = ~allowed(UNSEEING[name], 5, 7).any(-1)
    assert bool(unseeing.any())
    assert not bool(unseeing.all())
    assert bool((out[unseeing] == 0).all())
    assert bool((out[~unseeing] != 0).any(-1).all())
    for gradient in torch.autograd.grad(out.square().sum(), (q, k, v, bias) if bias is not None else (q, k, v)):
        assert bool(gradient.isfinite().all())

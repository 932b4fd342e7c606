"""Cells and encoders against torch's own with the same weights, and against formulas by hand."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.layers import CELLS
from regard.layers.recurrent.cells import Cell, gru_step, lstm_step, rnn_step
from regard.layers.recurrent.stacks import Bridge, RecurrentEncoder, RecurrentStack

INPUT, WIDTH, ROWS, LENGTH = 5, 7, 4, 6
LENGTHS_B = torch.tensor([3, 6, 1, 5])
THEIRS: dict[str, type[nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
every_kind = pytest.mark.parametrize("kind", CELLS.kinds())


def new_cell(kind: str, input_width: int = INPUT, width: int = WIDTH) -> Cell:
    cell = CELLS.resolve(kind)().build(input_width, width)  # type: ignore[attr-defined]
    nn.init.normal_(cell.input.bias)  # what starts at zero would hide a mistake
    nn.init.normal_(cell.past.bias)
    return cell


def copy_into(theirs: nn.RNNBase, cell: Cell, suffix: str) -> None:
    with torch.no_grad():
        for name, tensor in (
            ("weight_ih", cell.input.weight), ("weight_hh", cell.past.weight),
            ("bias_ih", cell.input.bias), ("bias_hh", cell.past.bias),
        ):  # fmt: skip
            getattr(theirs, f"{name}_{suffix}").copy_(tensor)


def final_states(found: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)


@every_kind
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_equals_torch_on_packed_and_on_each_row_alone(kind: str, layers: int, bidirectional: bool) -> None:
    torch.manual_seed(3)
    encoder = RecurrentEncoder(
        lambda i, d: new_cell(kind, i, d), INPUT, WIDTH, layers, bidirectional=bidirectional, dropout=0.0
    )
    theirs = THEIRS[kind](INPUT, WIDTH, layers, batch_first=True, bidirectional=bidirectional)
    for number, directions in enumerate(encoder.layers):
        for direction, suffix in zip(directions, (f"l{number}", f"l{number}_reverse")):  # type: ignore[arg-type]
            copy_into(theirs, direction.cell, suffix)
    x_BSI = torch.randn(ROWS, LENGTH, INPUT)
    memory_BSC, finals = encoder(x_BSI, LENGTHS_B)

    packed = pack_padded_sequence(x_BSI, LENGTHS_B, batch_first=True, enforce_sorted=False)
    outputs, after = theirs(packed)
    expected_BSC, _ = pad_packed_sequence(outputs, batch_first=True, total_length=LENGTH)
    torch.testing.assert_close(memory_BSC, expected_BSC)
    directions = 2 if bidirectional else 1
    for part, theirs_part in zip(zip(*finals, strict=True), final_states(after), strict=True):
        for number, found_BC in enumerate(part):
            own = theirs_part[number * directions : (number + 1) * directions]
            torch.testing.assert_close(found_BC, torch.cat(tuple(own), dim=-1))
    for row, length in enumerate(LENGTHS_B.tolist()):
        alone, _ = encoder(x_BSI[row : row + 1, :length], LENGTHS_B[row : row + 1])
        torch.testing.assert_close(memory_BSC[row : row + 1, :length], alone)
        assert not memory_BSC[row, length:].any(), "beyond the end there is nothing to read"


@every_kind
def test_gradients_are_torch_s(kind: str) -> None:
    torch.manual_seed(5)
    cell = new_cell(kind)
    theirs = THEIRS[kind](INPUT, WIDTH, batch_first=True)
    copy_into(theirs, cell, "l0")
    encoder = RecurrentEncoder(lambda i, d: cell, INPUT, WIDTH, 1, bidirectional=False, dropout=0.0)
    x_BSI = torch.randn(ROWS, LENGTH, INPUT)
    encoder(x_BSI, torch.full((ROWS,), LENGTH))[0].square().sum().backward()
    theirs(x_BSI)[0].square().sum().backward()
    torch.testing.assert_close(cell.past.weight.grad, theirs.weight_hh_l0.grad)
    torch.testing.assert_close(cell.input.weight.grad, theirs.weight_ih_l0.grad)


@every_kind
def test_a_stack_goes_on_where_it_stopped(kind: str) -> None:
    torch.manual_seed(7)
    stack = RecurrentStack(lambda i, d: new_cell(kind, i, d), INPUT, WIDTH, 2, dropout=0.0)
    x_RTI = torch.randn(ROWS, LENGTH, INPUT)
    start = [cell.start(ROWS, x_RTI) for cell in stack.cells]  # type: ignore[operator]
    whole, _ = stack(x_RTI, start)
    first, between = stack(x_RTI[:, :2], start)
    second, _ = stack(x_RTI[:, 2:], between)
    torch.testing.assert_close(torch.cat((first, second), dim=1), whole)


def test_the_formulas_by_hand() -> None:
    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    x, h, c = 0.5, -0.25, 0.75
    (found,) = rnn_step(torch.tensor([[x]]), torch.tensor([[h]]), (torch.tensor([[9.0]]),))
    assert found.item() == pytest.approx(math.tanh(x + h))

    x_gates, past_gates = [0.1, -0.2, 0.3], [0.4, 0.5, -0.6]
    r, z = sigmoid(0.5), sigmoid(0.3)
    n = math.tanh(0.3 + r * -0.6)
    (found,) = gru_step(torch.tensor([x_gates]), torch.tensor([past_gates]), (torch.tensor([[h]]),))
    assert found.item() == pytest.approx((1 - z) * n + z * h)

    x_gates, past_gates = [0.1, -0.2, 0.3, 0.7], [0.4, 0.5, -0.6, 0.2]
    i, f, g, o = sigmoid(0.5), sigmoid(0.3), math.tanh(-0.3), sigmoid(0.9)
    state = (torch.tensor([[h]]), torch.tensor([[c]]))
    found_h, found_c = lstm_step(torch.tensor([x_gates]), torch.tensor([past_gates]), state)
    assert found_c.item() == pytest.approx(f * c + i * g)
    assert found_h.item() == pytest.approx(o * math.tanh(f * c + i * g))


def test_a_forget_gate_starts_open() -> None:
    cell = CELLS.resolve("lstm")().build(INPUT, WIDTH)  # type: ignore[attr-defined]
    i, f, g, o = cell.input.bias.chunk(4)
    assert f.tolist() == [1.0] * WIDTH
    assert not torch.cat((i, g, o)).any()


def test_the_bridge_gives_every_layer_and_part_its_own_start() -> None:
    torch.manual_seed(11)
    states = Bridge(3, WIDTH, layers=2, parts=2)(torch.randn(ROWS, 3))
    assert [len(state) for state in states] == [2, 2]
    flat = [part for state in states for part in state]
    assert all(part.shape == (ROWS, WIDTH) and part.abs().max() < 1 for part in flat)
    assert len({tuple(part.flatten().tolist()) for part in flat}) == 4

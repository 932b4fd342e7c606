"""What a layer costs in theory and when timed: recurrence, convolution and self-attention over n and d.

Table 1 of Vaswani et al. 2017 counts the largest term of each. Self-attention is said to be the cheapest while the
sequence is shorter than the representation is wide, n < d; where that happens on this machine is measured.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.masks import EVERYTHING
from regard.attention.softmax import ScaledDot
from regard.inspection.figures.lines import Series, line_figure
from regard.layers.convolution import GatedConvolution
from regard.layers.recurrent.cells import GruConfig
from regard.layers.recurrent.stacks import Forwards

KERNEL = 3
HEADS = 4
LENGTHS = (32, 64, 128, 256, 512, 1024)
WIDTHS = (16, 32, 64, 128, 256, 512)
REPEATS = 9
Run = Callable[[Tensor], Tensor]
"""One layer: x_BND becomes something as large."""
Shape = Callable[[int], tuple[int, int]]
"""From the size that varies to n and d."""
Passes = Literal["forward", "both"]
Built = TypeVar("Built", bound=nn.Module)


@dataclass(frozen=True)
class Classic:
    """A row of the table: work in a layer, steps that must wait for one another, longest path between two positions."""

    complexity: str
    sequential: str
    path: str


TABLE = {
    "self-attention": Classic("O(n²·d)", "O(1)", "O(1)"),
    "recurrent": Classic("O(n·d²)", "O(n)", "O(n)"),
    # The path is that of dilated kernels; kernels side by side, as in this house, need O(n / k) layers (section 4).
    "convolution": Classic("O(k·n·d²)", "O(1)", "O(log_k n)"),
    "restricted self-attention": Classic("O(r·n·d)", "O(1)", "O(n / r)"),
}


def recurrent_operations(n: int, d: int, gates: int = 3) -> int:
    """4·g·n·d²: for each of g gates a product with the input and one with the past; a multiply-add is two operations.

    The gates' own arithmetic, of order n·d, is left out here and below, as flop counters do.
    """
    return 4 * gates * n * d * d


def convolution_operations(n: int, d: int, kernel: int = KERNEL) -> int:
    """4·k·n·d²: a window of k·d numbers becomes 2·d, one half of which gates the other."""
    return 4 * kernel * n * d * d


def attention_operations(n: int, d: int) -> int:
    """8·n·d² for queries, keys, values and output, which the table leaves out, and 4·n²·d to score and to read.

    Hence self-attention costs as much as a GRU's 12·n·d² at n = d exactly, as an LSTM's at n = 2·d, and never less
    than a plain RNN's.
    """
    return 8 * n * d * d + 4 * n * n * d


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "recurrent": recurrent_operations,
    "convolution": convolution_operations,
    "self-attention": attention_operations,
}


def recurrent_layer(d: int) -> Run:
    layer = Forwards(seeded(lambda: GruConfig().build(d, d)))

    def run(x_BND: Tensor) -> Tensor:
        lengths_B = torch.full((x_BND.shape[0],), x_BND.shape[1])
        return layer(pack_padded_sequence(x_BND, lengths_B, batch_first=True))[0]

    return run


def convolution_layer(d: int) -> Run:
    return seeded(lambda: GatedConvolution(d, KERNEL))


def attention_layer(d: int) -> Run:
    layer = seeded(lambda: SelfAttention(HeadShape(d, HEADS), ScaledDot()))
    return lambda x_BND: layer(x_BND, EVERYTHING)


LAYERS: dict[str, Callable[[int], Run]] = {
    "recurrent": recurrent_layer,
    "convolution": convolution_layer,
    "self-attention": attention_layer,
}


def seeded(build: Callable[[], Built]) -> Built:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build()


def fit_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """p of values ≈ c · sizes^p, by least squares on their logarithms; not a number with fewer than two sizes."""
    if len(set(sizes)) < 2:
        return math.nan
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(y) for y in values]).slope


def crossing(sizes: Sequence[float], ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The size from which on ours costs more than theirs, on straight lines between logarithms.

    None if ours is not dearer at the end, or was dearer from the start: then it lies outside the range.
    """
    excess = [math.log(one / other) for one, other in zip(ours, theirs)]
    not_slower = [i for i, value in enumerate(excess) if value <= 0]
    if not not_slower or not_slower[-1] == len(excess) - 1:
        return None
    i = not_slower[-1]
    share = excess[i] / (excess[i] - excess[i + 1])
    return math.exp(math.log(sizes[i]) * (1 - share) + math.log(sizes[i + 1]) * share)


@dataclass(frozen=True)
class CostCurve:
    """Median seconds of one kind of layer over sizes; fewer sizes than asked for where the time ran out."""

    kind: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        return fit_exponent(self.sizes, self.seconds)

    @property
    def upper_exponent(self) -> float:
        """Over the larger half of the sizes: with small ones the calls cost more than the arithmetic."""
        half = len(self.sizes) // 2 if len(self.sizes) > 3 else 0
        return fit_exponent(self.sizes[half:], self.seconds[half:])

    def as_dict(self) -> dict[str, Any]:
        fits = {"exponent": self.exponent, "upper_exponent": self.upper_exponent}
        return asdict(self) | {name: fit if math.isfinite(fit) else None for name, fit in fits.items()}


@dataclass(frozen=True)
class Costs:
    """Seconds over lengths n at one width, and over widths d at one length."""

    width: int
    length: int
    over_lengths: tuple[CostCurve, ...]
    over_widths: tuple[CostCurve, ...]

    def curve(self, kind: str) -> CostCurve:
        return next(curve for curve in self.over_lengths if curve.kind == kind)

    @property
    def crossing(self) -> float | None:
        """The n from which on self-attention is dearer than the recurrent layer; the operations cross at n = d."""
        ours, theirs = self.curve("self-attention"), self.curve("recurrent")
        common = min(len(ours.sizes), len(theirs.sizes))
        return crossing(ours.sizes[:common], ours.seconds[:common], theirs.seconds[:common])

    @property
    def sentence(self) -> str:
        fitted = [curve for curve in self.over_lengths if math.isfinite(curve.upper_exponent)]
        fits = ", ".join(f"{curve.kind} as n^{curve.upper_exponent:.2f}" for curve in fitted)
        grows = f"Over the longer half of the lengths, time grows for {fits}. " if fitted else ""
        return grows + self._crossing_in_words()

    def _crossing_in_words(self) -> str:
        theory = f"by their operations they would meet at n = d = {self.width}"
        if self.crossing is not None:
            return f"Self-attention becomes slower than the recurrent layer at n ≈ {self.crossing:.0f}; {theory}."
        ours, theirs = self.curve("self-attention"), self.curve("recurrent")
        longest = min(len(ours.sizes), len(theirs.sizes)) - 1
        if longest < 0:
            return "The time ran out before self-attention and the recurrent layer could be compared."
        slower = "slower" if ours.seconds[longest] > theirs.seconds[longest] else "faster"
        times = max(ours.seconds[longest] / theirs.seconds[longest], theirs.seconds[longest] / ours.seconds[longest])
        return (
            f"They do not cross within n = {ours.sizes[0]} to {ours.sizes[longest]}, where self-attention is still "
            f"{times:.1f} times {slower} than the recurrent layer; {theory}."
        )

    def table(self) -> list[list[str]]:
        """The classic table, and beside it how time grew here; the first row names the columns."""
        rows = [["layer", "work", "steps in a row", "longest path", "time here, by n", "time here, by d"]]
        for over_n, over_d in zip(self.over_lengths, self.over_widths, strict=True):
            classic = TABLE[over_n.kind]
            rows.append([over_n.kind, classic.complexity, classic.sequential, classic.path,
                         _power("n", over_n.upper_exponent), _power("d", over_d.upper_exponent)])  # fmt: skip
        return rows

    def as_dict(self) -> dict[str, Any]:
        return {
            "width": self.width,
            "length": self.length,
            "over_lengths": [curve.as_dict() for curve in self.over_lengths],
            "over_widths": [curve.as_dict() for curve in self.over_widths],
            "crossing": self.crossing,
            "sentence": self.sentence,
        }


def median_time(call: Callable[[], object], seconds: float, repeats: int = REPEATS) -> tuple[float, float]:
    """The median of repeated calls after one to warm up, and all the time that it took; stops when time is up."""
    start = perf_counter()
    call()
    times: list[float] = []
    while not times or (len(times) < repeats and perf_counter() - start < seconds):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return statistics.median(times), perf_counter() - start


def measured(
    kind: str, sizes: Sequence[int], calls: Callable[[int], Callable[[], object]], seconds: float
) -> CostCurve:
    """Times from the smallest size up, as far as the seconds go."""
    medians: list[float] = []
    for number, size in enumerate(sizes):
        # No term grows faster than the square; two calls is the least that a size takes.
        if medians and 2 * medians[-1] * (size / sizes[number - 1]) ** 2 > seconds:
            break
        median, spent = median_time(calls(size), seconds / (len(sizes) - number))
        medians.append(median)
        seconds -= spent
    return CostCurve(kind, tuple(sizes[: len(medians)]), tuple(medians))


def layer_call(kind: str, shape: Shape, rows: int, passes: Passes, size: int) -> Callable[[], object]:
    """One pass over random numbers, or one there and back."""
    n, d = shape(size)
    run = LAYERS[kind](d)
    x_BND = torch.randn(rows, n, d, generator=torch.Generator().manual_seed(0)).requires_grad_()
    if passes == "both":
        return lambda: run(x_BND).sum().backward()
    return torch.no_grad()(lambda: run(x_BND))


def measure_costs(
    lengths: Sequence[int] = LENGTHS,
    widths: Sequence[int] = WIDTHS,
    *,
    width: int = 64,
    length: int = 128,
    rows: int = 4,
    passes: Passes = "both",
    seconds: float = 30.0,
) -> Costs:
    """One layer of each kind over lengths at one width and over widths at one length, in about the given time."""
    share = seconds / (2 * len(LAYERS))

    def curves(sizes: Sequence[int], shape: Shape) -> tuple[CostCurve, ...]:
        return tuple(measured(kind, sizes, partial(layer_call, kind, shape, rows, passes), share) for kind in LAYERS)

    return Costs(width, length, curves(lengths, lambda n: (n, width)), curves(widths, lambda d: (length, d)))


def _power(size: str, exponent: float) -> str:
    return f"{size}^{exponent:.2f}" if math.isfinite(exponent) else "–"


def costs_figure(curves: Sequence[CostCurve], size: str) -> str:
    """Seconds over sizes, both axes logarithmic, so that a power is a straight line."""
    series = [Series(curve.kind, list(zip(curve.sizes, curve.seconds))) for curve in curves]
    title = f"Seconds of one layer against {size}"
    return line_figure(
        series, x_label=size, y_label="seconds", title_for_screen_readers=title, log_x=True, log_y=True
    )

"""Measures how much of a gradient is left after a distance, after many steps of a cell, and after many layers.

The past reaches a recurrent network through every step between, h_T ← h_{T−1} ← … ← h_t, and the gradient is a product
of as many Jacobians (Bengio et al. 1994; Pascanu et al. 2013, eq. 5); it reaches self-attention in one step.
States are caught by forward hooks on named modules: the models know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.core.errors import OptionError
from regard.core.ports import INPUT, OUTPUT, Ports, text_ports, tokens_at
from regard.core.seams.anatomy import anatomy_of
from regard.core.symbols import EOS, SPECIAL_SYMBOLS
from regard.inspection.figures.alignments import three_digits
from regard.inspection.figures.lines import Series, line_figure
from regard.layers.embeddings import LearnedConfig
from regard.layers.feed_forward import FeedForwardConfig
from regard.layers.recurrent.cells import Cell, GruConfig, LstmConfig, RnnConfig
from regard.models.fixed_context import FixedContextConfig
from regard.models.transformer import TransformerConfig

FLAT = 3.0  # norms are told as "stays" while the largest is below so many times the smallest
PORTS: Ports = text_ports(100, 100, shared=True)
Source = tuple[Tensor, Tensor]
"""source_BS and its lengths_B."""


@dataclass(frozen=True)
class Norms:
    """Norms measured at 1, 2, … steps of something, what the steps are, and what the norm is of."""

    norms: tuple[float, ...]
    steps: str
    what: str

    @property
    def left(self) -> list[tuple[int, float]]:
        """The steps at which anything is left, and how much."""
        return [(step, norm) for step, norm in enumerate(self.norms, 1) if norm > 0]

    @property
    def spread(self) -> float:
        """The largest norm by the smallest; infinite where one is 0."""
        return max(self.norms) / min(self.norms) if min(self.norms) > 0 else math.inf

    @property
    def factor(self) -> float:
        """By how much the norm changes a step, on average from the first to the last that is not 0."""
        (first, start), (last, end) = (self.left[0], self.left[-1]) if self.left else ((0, 1.0), (0, 1.0))
        return (end / start) ** (1 / (last - first)) if last > first else math.nan

    @property
    def sentence(self) -> str:
        if not self.left:
            return f"{self.what} is 0 at every {self.steps} from 1 to {len(self.norms)}."
        (first, start), (last, end) = self.left[0], self.left[-1]
        low, high = min(norm for _, norm in self.left), max(norm for _, norm in self.left)
        if max(start / end, end / start) < FLAT:
            found = (
                f"{'stays' if high / low < FLAT else 'varies'} between {three_digits(low)} and {three_digits(high)} "
                f"from {self.steps} {first} to {last}, within a factor of {three_digits(high / low)}"
            )
        else:
            found = (
                f"{'falls' if end < start else 'grows'} from {three_digits(start)} at {self.steps} {first} to "
                f"{three_digits(end)} at {self.steps} {last}: {abs(math.log10(end / start)):.1f} orders of magnitude, "
                f"on average by a factor of {three_digits(self.factor)} each time"
            )
        return f"{self.what} {found}{'' if last == len(self.norms) else '; beyond it is 0'}."

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which knows no infinity: what is not a finite number is null."""
        found = asdict(self) | {"spread": self.spread, "factor": self.factor, "sentence": self.sentence}
        unwritable = {name for name, value in found.items() if isinstance(value, float) and not math.isfinite(value)}
        return found | dict.fromkeys(unwritable)

    def series(self, name: str) -> Series:
        return Series(name, list(enumerate(self.norms, 1)))


@dataclass(frozen=True)
class GradientFlow(Norms):
    """‖∂loss_T/∂h_t‖ at the distances T − t = 1, 2, …; ``own`` is the norm at T itself."""

    point: str = ""
    own: float = math.nan


@dataclass(frozen=True)
class DepthGradients:
    """Layer by layer: ‖∂loss/∂(its output)‖, and ‖∂loss/∂W₂‖ of its feed-forward network."""

    outputs: Norms
    weights: Norms

    @property
    def sentence(self) -> str:
        return f"{self.outputs.sentence} {self.weights.sentence}"

    def as_dict(self) -> dict[str, Any]:
        return {"outputs": self.outputs.as_dict(), "weights": self.weights.as_dict()}


@contextmanager
def captured_states(model: nn.Module, pattern: str) -> Iterator[list[tuple[Tensor, ...]]]:
    """The states that leave the first module whose name matches, call by call, each as its own place in the graph.

    A memory cell's c is also read by its own h. Passing on a copy of each makes them two, so that the gradient is
    that of (h, c) as the next step sees them.
    """
    states: list[tuple[Tensor, ...]] = []

    def hook(module: nn.Module, inputs: Any, output: Any) -> Any:
        parts = output if isinstance(output, tuple) else (output,)
        count = len(parts) if parts[0].dim() == 2 else 1  # all positions at once: what comes after is not a state
        copies = tuple(as_separate_node(part) for part in parts[:count])
        states.append(copies)
        return (*copies, *parts[count:]) if isinstance(output, tuple) else copies[0]

    handle = model.get_submodule(first_match(model, pattern)).register_forward_hook(hook)
    try:
        yield states
    finally:
        handle.remove()


def as_separate_node(state: Tensor) -> Tensor:
    """The same numbers at a place of their own; also where nothing before them is learned."""
    return state.view_as(state) if state.requires_grad else state.detach().requires_grad_()


def first_match(model: nn.Module, pattern: str) -> str:
    """The lowest module that the pattern names: the one that stands first in the model."""
    names = [name for name, _ in model.named_modules() if name]
    for name in names:
        if fnmatchcase(name, pattern):
            return name
    raise OptionError(f"no module of this model is called {pattern!r}; available: {', '.join(names)}")


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def path_of(model: nn.Module) -> str:
    """The name of the module along whose outputs the past of the target travels."""
    path = anatomy_of(model).state_path
    if not path:
        raise OptionError(f"{type(model).__name__} does not say where its past travels; give its anatomy a state_path")
    return path


def random_batch(ports: Ports, length: int, rows: int, seed: int) -> tuple[Source, Tensor]:
    """A source of ``length`` tokens, and a target that is read for ``length`` positions before its last token.

    The target begins with any word: a start symbol that all rows share would be one draw beside averages over many.
    """
    generator = torch.Generator().manual_seed(seed)
    first = len(SPECIAL_SYMBOLS)
    source_size, target_size = (tokens_at(ports, side, "any").size for side in (INPUT, OUTPUT))
    source_BS = torch.randint(first, source_size, (rows, length), generator=generator)
    target_BT = torch.randint(first, target_size, (rows, length + 1), generator=generator)
    source_BS[:, -1] = EOS
    return (source_BS, torch.full((rows,), length)), target_BT


def gradient_flow(model: nn.Module, source: Source, target_BT: Tensor, points: str = "") -> GradientFlow:
    """The mean over rows of ‖∂loss_T/∂h_t‖, loss_T the cross-entropy of the last token of the target alone.

    ``points`` names the module whose outputs are the h_t: one call for each step, or all positions in one call.
    """
    point = first_match(model, points or path_of(model))
    with without_dropout(model), torch.enable_grad(), captured_states(model, point) as states:
        logits_BW = cast(Any, model).head(model(*source, target_BT[:, :-1])[:, -1])
        # A sum, so that each row's gradient is that of its own loss.
        loss = functional.cross_entropy(logits_BW, target_BT[:, -1], reduction="sum")
        every = [part for call in states for part in call]
        # The last c is read by nobody, and some h_t may not reach loss_T at all: their gradient is 0.
        gradients = iter(torch.autograd.grad(loss, every, allow_unused=True, materialize_grads=True))
    norms_BT = torch.cat([row_norms([next(gradients) for _ in call]) for call in states], dim=1)
    own, *past = norms_BT.double().mean(0).flip(0).tolist()
    return GradientFlow(tuple(past), "distance", f"The gradient at {point}", point, own)


def row_norms(gradients: Sequence[Tensor]) -> Tensor:
    """norms_BT of one call: over the parts of a state jointly, or for each of the positions."""
    norms = torch.cat(tuple(gradients), dim=-1).norm(dim=-1)
    return norms if norms.dim() == 2 else norms[:, None]


def at_initialisation(
    ports: Ports = PORTS, *, width: int = 64, length: int = 51, rows: int = 64, seed: int = 0
) -> dict[str, GradientFlow]:
    """Untrained models over the same random tokens: three cells with one fixed context, and a Transformer.

    The Transformer's h_t leaves its first decoder layer, so one attention lies between h_t and loss_T. One layer
    lower, two lie between, and the gradient grows a little towards the start of the sentence: what comes early is
    seen by more positions, and in smaller averages.
    """
    embedding = LearnedConfig(width=width)
    configs: dict[str, Any] = {
        name: FixedContextConfig(cell=cell, embedding=embedding, width=width)
        for name, cell in (("RNN", RnnConfig()), ("GRU", GruConfig()), ("LSTM", LstmConfig()))
    }
    network = FeedForwardConfig(width=4 * width)
    configs["Transformer"] = TransformerConfig(
        norm="pre", width=width, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=network
    )
    source, target_BT = random_batch(ports, length, rows, seed)
    return {name: gradient_flow(built(config, ports, seed), source, target_BT) for name, config in configs.items()}


def built(config: Any, ports: Ports, seed: int) -> nn.Module:
    """A model with its first weights, without touching anybody's random numbers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return config.build(ports)


def jacobian_product(cell: Cell, steps: int, seed: int = 0, *, scale: float = 1.0, settle: int = 20) -> Norms:
    """‖∂h_{t+k}/∂h_t‖₂ for k = 1 … steps: the largest singular value of the product of the steps' Jacobians.

    The inputs are normal numbers times ``scale``; the first ``settle`` steps only bring the state to where it usually
    is. A memory cell's state is (h, c) jointly. The product is kept in 64 bits, where it lasts for 10⁻³⁰⁸.
    """
    weight = cell.input.weight
    generator = torch.Generator().manual_seed(seed)
    x_TI = (scale * torch.randn(settle + steps, cell.input.in_features, generator=generator)).to(weight)

    def step(state_C: Tensor, x_J: Tensor) -> Tensor:
        return torch.cat(cell(x_J, state_C.split(cell.width, dim=-1)), dim=-1)

    with torch.no_grad():
        state_C = torch.cat(cell.start(1, weight), dim=-1)[0]
        product_CC = torch.eye(len(state_C), dtype=torch.float64, device=weight.device)
        norms = []
        for time, x_J in enumerate(cell.project(x_TI)):
            if time >= settle:
                jacobian_CC = cast(Tensor, torch.func.jacrev(step)(state_C, x_J))
                product_CC = jacobian_CC.double() @ product_CC
                norms.append(float(torch.linalg.matrix_norm(product_CC, ord=2)))
            state_C = step(state_C, x_J)
    return Norms(tuple(norms), "step", "The product of the Jacobians")


def depth_gradients(
    norm: Literal["pre", "post"], layers: int = 12, *, width: int = 64, length: int = 20, rows: int = 8, seed: int = 0
) -> DepthGradients:
    """The gradients of an untrained decoder, layer by layer, for the mean loss over all positions.

    Those of W₂ are what Xiong et al. 2020 (theorem 1) compare: bounded by O(d √ln d) in the last layer of a post-norm
    stack however deep it is, which is why it wants a warm-up, and by O(d √(ln d / layers)) with pre-norm. How those of
    the outputs shrink towards the first layer of a post-norm decoder is the theme of Takase et al. 2022.
    """
    config = TransformerConfig(
        norm=norm, width=width, heads=4, encoder_layers=1, decoder_layers=layers,
        feed_forward=FeedForwardConfig(width=4 * width),
    )  # fmt: skip
    model: Any = built(config, PORTS, seed)
    source, target_BT = random_batch(PORTS, length, rows, seed)
    outputs: list[Tensor] = []
    for layer in model.eval().decoder.layers:
        layer.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    logits_BTW = model.head(model(*source, target_BT[:, :-1]))
    loss = functional.cross_entropy(logits_BTW.flatten(0, 1), target_BT[:, 1:].flatten())
    weights = [layer.feed_forward.outer.weight for layer in model.decoder.layers]
    found = [float(gradient.norm()) for gradient in torch.autograd.grad(loss, [*outputs, *weights])]
    return DepthGradients(
        Norms(tuple(found[:layers]), "layer", f"With {norm}-norm the gradient of the layer's output"),
        Norms(tuple(found[layers:]), "layer", f"With {norm}-norm the gradient of the feed-forward's second matrix"),
    )


def norms_figure(named: Mapping[str, Norms], y_label: str) -> str:
    """Norms against their steps, the norms on a logarithmic axis; what is 0 has no place there and ends the line."""
    (steps,) = {norms.steps for norms in named.values()}
    title = f"{y_label} against {steps}"
    series = [norms.series(name) for name, norms in named.items()]
    return line_figure(series, x_label=steps, y_label=y_label, title_for_screen_readers=title, log_y=True)

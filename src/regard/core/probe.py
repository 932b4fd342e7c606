"""Probe: one input as a run's model sees it, for inspection, edits, checks and export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from regard.core.errors import OptionError
from regard.core.inputs import Axis, Drawing, Inputs

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from regard.core.answers import Answer
    from regard.core.seams import Hypothesis
    from regard.decoding.trace import Trace

UNKNOWN = -1
"""Among expected answers: none is expected here."""


class Search(NamedTuple):
    """How an answer was found: what the search ended with, best first, and of a beam its way there."""

    answers: Sequence[Hypothesis]
    trace: Trace | None = None


NO_AXIS = Axis(())


@dataclass(frozen=True)
class Probe:
    """What a model is asked, and how its answers are read. Each task makes its own, beside its ``collate``.

    ``inputs`` are those whose positions have answers, ``source`` is read beside them. ``call`` runs the model once, in
    the way of its task; ``read_out`` makes of what came out logits_BTW, T being 1 where there is one answer for the
    whole input; ``choice`` names a place of W. ``start`` gives what ``Decodable.start`` takes, where answers can also
    be read token by token.

    There is one row, or several for checks; all that follows is about the first. ``expected`` is the right choice at
    each position, ``asked`` are the positions whose answers count, ``names`` what is asked about there where it is not
    the position itself (the words of a tagger). ``answers`` reads from the logits what is said of the whole input.
    """

    inputs: Inputs
    call: Callable[[Any, Probe], Any]
    read_out: Callable[[Any, Any], Tensor]
    choice: Callable[[int], str]
    unit: str = "token"  # what a choice is called
    source: Inputs | None = None
    start: Callable[[Probe], Any] | None = None

    axis: Axis = NO_AXIS
    source_axis: Axis = NO_AXIS
    expected: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    answers: Callable[[Tensor], Sequence[Answer]] = lambda logits_TW: ()
    blank: int = UNKNOWN  # what hides a token of a text
    text: str = ""  # the input in words
    pixels_HWC: np.ndarray | None = None  # of a picture, as the model is shown it
    drawing: Drawing | None = None  # of a graph
    search: Search | None = None

    def run(self, model: nn.Module) -> Any:
        """One pass through the model."""
        return self.call(model, self)

    def logits(self, model: nn.Module) -> Tensor:
        """logits_BTW of one pass; 0 where there is only padding, about which no two ways need agree."""
        return self.visible(self.read_out(model, self.run(model)))

    def visible(self, logits_BTW: Tensor) -> Tensor:
        """The same with 0 at padding."""
        lengths_B = self.inputs.lengths_B
        if lengths_B is None or logits_BTW.shape[1] == 1:
            return logits_BTW
        beyond_BT = torch.arange(logits_BTW.shape[1], device=lengths_B.device) >= lengths_B[:, None]
        return logits_BTW.masked_fill(beyond_BT[..., None], 0.0)

    @property
    def predicts(self) -> tuple[str, ...]:
        """What is expected at each position, in words; "" where nothing is."""
        return tuple("" if place == UNKNOWN else self.choice(place) for place in self.expected)

    @property
    def removable(self) -> int:
        """How many tokens could be taken away: of the source, or of the text where there is no source."""
        return (self.inputs if self.source is None else self.source).values.shape[1]

    def without(self, position: int) -> Probe:
        """A source loses the token; in a text, whose positions give the answers, it is hidden."""
        if self.source is not None:
            kept = [place for place in range(self.removable) if place != position]
            lengths_B = self.source.real_lengths_B - 1
            return replace(
                self,
                source=Inputs(self.source.values[:, kept], lengths_B),
                source_axis=Axis(tuple(self.source_axis.labels[place] for place in kept)),
            )
        if self.blank == UNKNOWN:
            raise OptionError("no token of this input can be masked: the tokenizer has no mask symbol")
        tokens_BT = self.inputs.values.clone()
        tokens_BT[:, position] = self.blank
        return replace(self, inputs=replace(self.inputs, values=tokens_BT))

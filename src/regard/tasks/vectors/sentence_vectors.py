"""Texts become vectors: the states of any body, pooled, in batches of like length, the order kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.batch import move
from regard.core.errors import InputError, InputWarning, OptionError
from regard.core.inputs import States
from regard.core.seams import Body
from regard.core.seams.capabilities import Continues, Translates
from regard.core.seams.task import Progress
from regard.core.symbols import Specials
from regard.data.batching import in_length_order, with_progress
from regard.data.modalities.text.enclosing import Enclosed, Window, collate_texts, enclose_all
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.layers.headed import Headed, Pool, Pooling, VectorHead

AT_ONCE = 2048
"""Tokens of a batch: few enough that what a layer makes of them stays near the processor."""


class Vectors(NamedTuple):
    """vectors_ND in the order of the texts, and how many of these were longer than the window and were cut."""

    vectors_ND: np.ndarray
    cut: int


@dataclass(frozen=True)
class Embedder:
    """A body and how its states become one vector; ``max_length`` tokens are read (0: as many as there are)."""

    body: Any
    head: VectorHead
    tokenizer: Tokenizer
    specials: Specials
    max_length: int
    device: torch.device

    @classmethod
    def of(
        cls,
        model: nn.Module,
        tokenizer: Tokenizer,
        device: torch.device,
        *,
        pooling: Pooling = "mean",
        unit: bool = True,
        specials: Specials | None = None,
        max_length: int = 0,
    ) -> Embedder:
        """Of any model that is a body, or has one under its head."""
        body: Any = model.body if isinstance(model, Headed) else model
        if not isinstance(body, Body):
            raise OptionError(
                f"{type(body).__name__} gives a text no states (see Body in regard.core.seams), so it cannot embed"
            )
        limits = [limit for limit in (body.max_length, max_length) if limit]
        head = VectorHead(Pool(pooling, body), unit=unit)
        return cls(body, head, tokenizer, specials or tokenizer.specials, min(limits, default=0), device)

    def enclose(self, texts: Sequence[str]) -> list[Enclosed]:
        """Between the symbols, cut to the window."""
        window = Window(self.specials, self.max_length or 1 << 62)
        made = enclose_all(self.tokenizer, window, [(text,) for text in texts])
        empty = {place: "" for place, one in enumerate(made) if not len(one.tokens)}
        if empty:
            title = "this tokenizer puts nothing around a text, so there is nothing to embed where one is empty"
            raise InputError(title, empty, "leave empty texts out")
        return made

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        made = self.enclose(texts)
        return Vectors(self.vectors(made, progress), sum(one.cut > 0 for one in made))

    def embed_all(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """vectors_ND alone; a warning counts what had to be cut."""
        made = self.embed(texts, progress)
        self.warn_truncated(made.cut, len(texts))
        return made.vectors_ND

    def warn_truncated(self, cut: int, count: int) -> None:
        if cut:
            warnings.warn(
                f"{cut} of {count} texts are longer than the {self.max_length} tokens that the model reads; their ends "
                "were cut off",
                InputWarning,
                stacklevel=4,
            )

    @torch.inference_mode()
    def vectors(self, texts: Sequence[Enclosed], progress: Progress | None = None) -> np.ndarray:
        found_ND = np.zeros((len(texts), self.body.width), np.float32)
        for indices, states in self.read(texts, progress):
            found_ND[indices] = self.head(states).float().cpu().numpy()
        return found_ND

    @torch.inference_mode()
    def states(self, texts: Sequence[str]) -> list[Tensor]:
        """states_SD of every token, special symbols included, in the order of the texts; warns of cuts."""
        made = self.enclose(texts)
        self.warn_truncated(sum(one.cut > 0 for one in made), len(made))
        found: dict[int, Tensor] = {}
        for indices, states in self.read(made):
            for place, index in enumerate(indices):
                found[int(index)] = states.x_BND[place, : len(made[index].tokens)].float().cpu()
        return [found[index] for index in range(len(made))]

    def read(
        self, texts: Sequence[Enclosed], progress: Progress | None = None
    ) -> Iterator[tuple[np.ndarray, States]]:
        """Batches of like length: which texts, and their states."""
        self.body.eval()
        lengths_N1 = np.array([len(one.tokens) for one in texts]).reshape(-1, 1)
        for indices in with_progress(in_length_order(lengths_N1, AT_ONCE), len(texts), progress):
            batch = move(collate_texts([texts[index] for index in indices], self.specials.pad), self.device)
            yield indices, self.body.represent(batch)


def around(task: Any, specials: Specials) -> Specials:
    """The symbols that stood around a text when the run was trained: translators read a text and what closes it, a
    language model what opens one and the text."""
    if isinstance(task, Continues):
        opening = specials.opening if specials.opening >= 0 else specials.eos
        return replace(specials, sos=opening, eos=-1)
    return replace(specials, sos=-1) if isinstance(task, Translates) else specials

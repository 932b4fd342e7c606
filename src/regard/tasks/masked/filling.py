"""Fills masks: the words that a model would put in the gaps of a text."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import tokenizers as library
import torch
from torch import nn

from regard.core.answers import Answer
from regard.core.errors import InputError, OptionError
from regard.core.seams import max_length_of
from regard.core.seams.task import Progress
from regard.data.batching import in_length_order
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.padding import pad

FILLED_AT_ONCE = 8192
"""Tokens of a batch."""


class Guess(NamedTuple):
    """A piece that may stand behind a mask, and how probable it is among all symbols."""

    token: str
    probability: float
    id: int


@dataclass(frozen=True)
class Filling:
    """Fills the masks of texts. A special symbol that a text spells is that symbol here; no guess is one."""

    model: nn.Module
    tokenizer: Tokenizer
    device: torch.device

    @cached_property
    def reader(self) -> library.Tokenizer:
        """The same pieces, special symbols read as such."""
        return library.Tokenizer.from_str(self.tokenizer.raw.to_str())

    def fill(
        self, texts: Sequence[str], top_k: int = 5, progress: Progress | None = None
    ) -> list[list[list[Guess]]]:
        """For each text, and each mask in it, the ``top_k`` most probable pieces, best first."""
        return self.guess(self.read(texts), top_k, progress)

    def answers(self, texts: Sequence[str], n_best: int = 1, progress: Progress | None = None) -> list[list[Answer]]:
        """Each text with all its masks filled, the most probable ways first; masks are guessed apart."""
        rows = self.read(texts)
        found = self.guess(rows, n_best, progress)
        return [[self.answer(row, way) for way in ways(own, n_best)] for row, own in zip(rows, found, strict=True)]

    def answer(self, row: Sequence[int], way: Sequence[Guess]) -> Answer:
        chosen = iter(way)
        filled = [next(chosen).id if id == self.tokenizer.specials.mask else id for id in row]
        total = sum(math.log(max(guess.probability, 1e-45)) for guess in way)
        return Answer(self.tokenizer.decode(filled), total, total)

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens between the opening and the closing symbol; what cannot be filled is refused, all of it at once."""
        specials = self.tokenizer.specials
        rows = [
            [specials.sos, *made.ids, specials.eos]
            for made in self.reader.encode_batch(list(texts), add_special_tokens=False)
        ]
        whole = {place: "" for place, row in enumerate(rows) if specials.mask not in row}
        if whole:
            name = self.tokenizer.token(specials.mask)
            raise InputError("there is nothing to guess in", whole, f"write {name} where a word is wanted")
        most = max_length_of(self.model)
        long = {place: f"{len(row)} tokens" for place, row in enumerate(rows) if most and len(row) > most}
        if long:
            title = f"the model reads {most} tokens, including the special symbols around a text, and more have"
            raise InputError(title, long, "shorten them")
        return rows

    @torch.inference_mode()
    def guess(
        self, rows: list[list[int]], top_k: int, progress: Progress | None, among: Sequence[int] = ()
    ) -> list[list[list[Guess]]]:
        """The most probable pieces behind each mask; with ``among``, only these, with the chances they have anyway."""
        if top_k < 1:
            raise OptionError(f"at least one guess is needed for each mask; found top_k = {top_k}")
        model: Any = self.model.eval()
        found: list[list[list[Guess]]] = [[] for _ in rows]
        batches = in_length_order(np.array([len(row) for row in rows]).reshape(-1, 1), FILLED_AT_ONCE)
        specials = self.tokenizer.specials
        never = set(specials.known())
        asked = [*dict.fromkeys(among)] or [id for id in range(self.tokenizer.size) if id not in never]
        asked_A = torch.tensor(asked, device=self.device)
        for number, places in enumerate(batches, start=1):
            padded_BS, lengths_B = pad([np.asarray(rows[place], np.int64) for place in places], fill=specials.pad)
            tokens_BS = torch.from_numpy(padded_BS).to(self.device)
            states_BSD = model(tokens_BS, torch.from_numpy(lengths_B).to(self.device))
            masks_N2 = (tokens_BS == specials.mask).nonzero()
            chances_NW = model.head(states_BSD[masks_N2[:, 0], masks_N2[:, 1]]).float().softmax(-1)
            best = chances_NW[:, asked_A].topk(min(top_k, len(asked)))
            best_ids_NK = asked_A[best.indices]
            for row, own, ids in zip(masks_N2[:, 0].tolist(), best.values.tolist(), best_ids_NK.tolist(), strict=True):
                guesses = [Guess(self.tokenizer.token(id), chance, id) for id, chance in zip(ids, own, strict=True)]
                found[places[row]].append(guesses)
            if progress is not None:
                progress(number, len(batches))
        return found


def ways(guesses: Sequence[Sequence[Guess]], count: int) -> list[tuple[Guess, ...]]:
    """The ``count`` most probable choices of one guess for each mask."""
    kept: list[tuple[float, tuple[Guess, ...]]] = [(1.0, ())]
    for own in guesses:
        longer = ((chance * one.probability, (*way, one)) for chance, way in kept for one in own)
        kept = heapq.nlargest(count, longer, key=lambda pair: pair[0])
    return [way for _, way in kept]

"""Sentences as a tagger reads them: long ones in windows, and the position that stands for every word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.data.examples import Tagged
from regard.data.ledger import Ledger
from regard.data.modalities.text.enclosing import Enclosed, Window, collate_texts
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.tasks.reading import TextBatch
from regard.tasks.spans.words import Pieces, TaggedPiece, WordWindow, all_windows, first_window, pieces_of


class TagWindow(NamedTuple):
    """What is read at once of a sentence, and the words that are asked about: their places in it, and their labels."""

    sentence: int
    text: Enclosed
    words_M: np.ndarray
    places_M: np.ndarray
    labels_M: np.ndarray


@dataclass(frozen=True, slots=True)
class TagBatch(TextBatch):
    """Texts; ``asked_M`` are the flat indices of the positions where the words that are asked about are heard."""

    asked_M: Tensor
    labels_M: Tensor

    @property
    def loss_terms(self) -> int:
        return len(self.labels_M)


@dataclass(frozen=True, slots=True)
class TagEncoder:
    """How sentences become windows; ``labels`` are the places of tags, and sentences without tags have label 0."""

    tokenizer: Tokenizer
    window: Window
    tagged_piece: TaggedPiece
    labels: Mapping[str, int]

    def learned(self, examples: Sequence[Tagged], split: str, ledger: Ledger) -> list[TagWindow]:
        """The start of every sentence; what is cut is listed in the ledger, and so is a sentence without pieces."""
        made, silent = [], 0
        for number, (one, pieces) in enumerate(zip(examples, self.pieces(examples), strict=True)):
            there = int((pieces.tagged_N >= 0).sum())
            silent += len(one.words) - there
            chosen = first_window(pieces, self.window.room())
            if len(chosen.words) < there:
                reason = f"longer than task.max_length = {self.window.max_length} tokens"
                ledger.truncate(split, one.origin, one.line, reason, f"{there - len(chosen.words)} words were cut")
            if len(chosen.words):
                made.append(self.window_of(number, one, pieces, chosen))
            else:
                ledger.drop(split, one.origin, one.line, "no word of it is read")
        if silent:
            ledger.notes.append(f"{split}: {silent:,} words have no piece; nothing is learned of them")
        return made

    def for_answers(self, examples: Sequence[Tagged]) -> list[TagWindow]:
        """Every word once, in the window where it has most context."""
        return [
            self.window_of(number, one, pieces, chosen)
            for number, (one, pieces) in enumerate(zip(examples, self.pieces(examples), strict=True))
            for chosen in all_windows(pieces, self.window.room())
        ]

    def pieces(self, examples: Sequence[Tagged]) -> list[Pieces]:
        return pieces_of(self.tokenizer, [one.words for one in examples], self.tagged_piece)

    def window_of(self, number: int, one: Tagged, pieces: Pieces, chosen: WordWindow) -> TagWindow:
        text = self.window.enclose(pieces.ids[chosen.start : chosen.stop].tolist())
        places_M = pieces.tagged_N[chosen.words] - chosen.start + len(self.window.opening)
        labels_M = np.array([self.labels[one.tags[word]] if one.tags else 0 for word in chosen.words], np.int64)
        return TagWindow(number, text, chosen.words, places_M, labels_M)

    def collate(self, stretches: Sequence[TagWindow]) -> TagBatch:
        text = collate_texts([one.text for one in stretches], self.tokenizer.specials.pad)
        asked_M = np.concatenate([row * text.values.shape[1] + one.places_M for row, one in enumerate(stretches)])
        labels_M = np.concatenate([one.labels_M for one in stretches])
        return TagBatch(text, torch.from_numpy(asked_M), torch.from_numpy(labels_M))

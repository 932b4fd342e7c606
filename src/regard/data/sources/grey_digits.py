"""Digits of 8 × 8 pixels with 17 grey values, as texts: those that come with scikit-learn (Alpaydin & Kaynak 1998)."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from regard.core.packages import optional
from regard.data import DataPart
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.text.grey_levels import GreyLevels
from regard.data.texts import TextInMemory, corpus_of

ORIGIN = "digits of scikit-learn"


class GreyDigits(DataPart):
    """Every digit is a document of 64 signs; which are learned from is drawn by the seed."""

    kind: str = "grey-digits"
    validation_size: int = Field(150, ge=1)
    test_size: int = Field(300, ge=1)

    @property
    def grey(self) -> GreyLevels:
        return GreyLevels(levels=17, rows=8, columns=8)

    def load(self, seed: int, ledger: Ledger) -> Corpus[Any]:
        datasets = optional("sklearn.datasets", "the digits come with scikit-learn: pip install scikit-learn")
        pictures_NHW = datasets.load_digits().images.astype(np.int64)
        order = np.random.default_rng(seed).permutation(len(pictures_NHW))
        texts = [self.grey.text(pictures_NHW[place]) for place in order]
        first, second = self.test_size, self.test_size + self.validation_size
        splits = {"train": texts[second:], "validation": texts[first:second], "test": texts[:first]}
        return corpus_of({
            split: [TextInMemory(f"{ORIGIN} ({split})", "\n".join(own), lines=True)] for split, own in splits.items()
        }, ledger)  # fmt: skip

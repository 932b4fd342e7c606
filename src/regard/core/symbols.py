"""The four special symbols and what the data fixes about a model."""

from __future__ import annotations

from dataclasses import dataclass

PAD, SOS, EOS, UNK = 0, 1, 2, 3
SPECIAL_SYMBOLS = ("<pad>", "<sos>", "<eos>", "<unk>")


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the data fixes about a model: how many symbols go in, how many come out, and whether they are the same."""

    inputs: int
    outputs: int
    shared: bool = False

"""The special symbols of a vocabulary, and where they stand in one that came from elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass

PAD, SOS, EOS, UNK = 0, 1, 2, 3
SPECIAL_SYMBOLS = ("<pad>", "<sos>", "<eos>", "<unk>")
AROUND_FOREIGN = ("\ufdd0", "\ufdd1")
"""Marks around a piece that has an id, but comes from no text of this side; Unicode keeps both out of all texts."""


@dataclass(frozen=True, slots=True)
class Specials:
    """The ids of the special symbols in one vocabulary; −1: it has none. Ours have the first four, in this order.

    ``sos`` opens and ``eos`` closes a text, whatever they are called: [CLS] and [SEP] of BERT, <s> and </s> of RoBERTa.
    ``opening`` is the one that some language models want before every text; ``mask`` stands for a word to be guessed.
    """

    pad: int = PAD
    sos: int = SOS
    eos: int = EOS
    unk: int = UNK
    opening: int = -1
    mask: int = -1

    def named(self) -> dict[str, int]:
        """Every id by the name of its duty."""
        return asdict(self)

    def known(self) -> tuple[int, ...]:
        every = (self.pad, self.sos, self.eos, self.unk, self.opening, self.mask)
        return tuple(sorted({id for id in every if id >= 0}))


OUR_SPECIALS = Specials()

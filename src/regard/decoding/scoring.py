"""Scores of given answers: how probable the model finds a reference, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.core.seams import Decodable
from regard.core.symbols import PAD
from regard.decoding.sentences import STANDARD, Sentences, Symbols

ROWS_AT_ONCE = 1024
"""Positions whose logits are held at one time: all of a batch times its vocabulary would be large."""


def score_given(
    model: Decodable, sentences: Sentences, targets: Sequence[Sequence[int]], symbols: Symbols = STANDARD
) -> list[tuple[float, ...]]:
    """The log-probability of each target token and, last, of the closing symbol; their sum is the answer's.

    The model takes many tokens in a step here; by its law that is the same as one by one.
    Limits do not matter.
    """
    assert len(targets) == len(sentences.limits), "one target a sentence"
    assert not sentences.rest, "openings of one length"
    if not targets:
        return []
    device = sentences.first_BT.device
    wanted = [torch.tensor([*target, symbols.end], device=device) for target in targets]
    wanted_BT = pad_sequence(wanted, batch_first=True, padding_value=PAD)
    # What is fed: the opening, then every target token but the last; what pads them is read by nobody.
    fed_BT = torch.cat([sentences.first_BT, wanted_BT[:, :-1]], dim=1)
    gains_BT = _gains(model, sentences, fed_BT, wanted_BT)
    return [tuple(gains[: len(own)]) for gains, own in zip(gains_BT.tolist(), wanted)]


def _gains(model: Decodable, sentences: Sentences, fed_BT: Tensor, wanted_BT: Tensor) -> Tensor:
    opening = sentences.first_BT.shape[1] - 1
    state = model.start(sentences.source)
    width = max(1, ROWS_AT_ONCE // len(fed_BT))
    gains: list[Tensor] = []
    for begin in range(0, fed_BT.shape[1], width):
        logits_BTW, state = model.step(fed_BT[:, begin : begin + width], state)
        skipped = max(0, opening - begin)
        logits_BTW = logits_BTW[:, skipped:].float()
        first = begin + skipped - opening
        target_BT1 = wanted_BT[:, first : first + logits_BTW.shape[1], None]
        gains.append(logits_BTW.log_softmax(dim=-1).gather(2, target_BT1).squeeze(2))
    return torch.cat(gains, dim=1)

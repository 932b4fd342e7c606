"""What is read off on the way to an answer fits the answer, for every model that names its depths."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.taps import last_outputs
from regard.inspection.flow.states import BEFORE, levels, states_by_depth
from regard.inspection.flow.stream import head_writes
from tests.laws.subjects import ATTENTIVE, ENCODERS, SUBJECTS, Subject, collate, reads_a_source

TARGET_BT = torch.tensor([[1, 7, 8, 4, 10, 5], [1, 12, 6, 6, 9, 11], [1, 4, 4, 11, 8, 7]])
SOURCES = [(5, 9, 4), (7, 4, 12, 8, 10, 6, 11), (6, 11)]
KINDS = ("transformer", "gpt", "llama", "bert", "convolution", "recurrent")
DEEP = [subject for subject in (*SUBJECTS, *ENCODERS) if subject.table["kind"] in KINDS]


def inputs(subject: Subject, model: nn.Module) -> tuple[Tensor, ...]:
    if subject in ENCODERS:
        return TARGET_BT, torch.tensor([6, 6, 6])
    return (*collate(model, SOURCES), TARGET_BT) if reads_a_source(model) else (TARGET_BT,)


@pytest.mark.parametrize("subject", DEEP, ids=lambda subject: subject.name)
def test_the_answer_at_the_last_depth_is_the_answer(subject: Subject) -> None:
    model: Any = subject.build()
    with torch.inference_mode():
        found = states_by_depth(model, inputs(subject, model))
        expected = model.head(model(*inputs(subject, model)))
        logits = [model.answer_at(states_BTD) for states_BTD in found.values()]
    assert list(found)[-len(levels(model)) :] == levels(model)
    assert (BEFORE in found) == (subject.table["kind"] != "recurrent")
    assert torch.allclose(logits[-1], expected, atol=1e-5)
    assert all(one.shape == expected.shape for one in logits)
    assert all(not torch.allclose(one, expected, atol=1e-3) for one in logits[:-1])


@pytest.mark.parametrize("subject", [*ATTENTIVE, *ENCODERS], ids=lambda subject: subject.name)
def test_what_all_heads_write_is_what_their_attention_gives(subject: Subject) -> None:
    model: Any = subject.build()
    written = head_writes(model, inputs(subject, model))
    for name, write_BHTD in written.items():
        owner = model.get_submodule(name)
        with torch.inference_mode(), last_outputs(model, name) as seen:
            model(*inputs(subject, model))
        if not hasattr(owner, "output"):  # a recurrent decoder's reader: called step by step, the last is kept
            last = seen[name][:, -1] if seen[name].dim() == 3 else seen[name][:, 0, -1]
            assert torch.allclose(write_BHTD[:, 0, -1], last, atol=1e-5)
            continue
        bias = 0.0 if owner.output.bias is None else owner.output.bias
        assert torch.allclose(write_BHTD.sum(1) + bias, seen[name], atol=1e-4)

"""Language modelling: windows that meet, streams that go on, figures that are what they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from regard.core.config import parse
from regard.core.errors import DataError, OptionError
from regard.core.seams.task import Session
from regard.core.symbols import EOS
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import CharacterTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.texts import TextInMemory
from regard.decoding.options import Greedy
from regard.runs.recipe import Recipe
from regard.tasks.language_modelling import LanguageModelConfig, LanguageModelling, TokenWindows

TEXT = "the cat sat on the mat and the dog sat on the cat; then all of them slept until the morning came.\n" * 3


def task(text: str = TEXT, validation: str = TEXT[:95], **changes: Any) -> LanguageModelling:
    tokenizer = CharacterTokenizer().train([TEXT])
    splits: dict[str, tuple[Any, ...]] = {"train": (TextInMemory("train", text),)}
    if validation:
        splits["validation"] = (TextInMemory("validation", validation),)
    config = LanguageModelConfig(**{"max_length": 7, "sample": 0, **changes})
    return config.build(Corpus(splits, Ledger()), Modalities.of_text(Vocabularies(tokenizer, tokenizer)), seed=5)


def model_for(one: LanguageModelling, kind: str = "gpt") -> Any:
    torch.manual_seed(2)
    shape = {"width": 12, "heads": 3} if kind == "gpt" else {"width": 9, "embedding": {"width": 6}}
    table = {"kind": kind, "layers": 2, "dropout": 0.0, **shape}
    return parse(Recipe, {"model": table}).model.build(one.ports()).eval()  # type: ignore[attr-defined]


def test_windows_meet_and_leave_nothing_out() -> None:
    tokens = np.arange(31)
    windows = TokenWindows(tokens, 7, whole=False)
    assert [window.tokens.tolist() for window in windows][:2] == [list(range(8)), list(range(7, 15))]
    assert np.concatenate([window.tokens[1:] for window in windows]).tolist() == list(range(1, 31))
    assert windows.lengths().tolist() == [len(window.tokens) - 1 for window in windows] == [7, 7, 7, 7, 2]
    assert all(len(window.tokens) == 8 for window in TokenWindows(tokens, 7, 3, whole=True))


def test_every_epoch_cuts_its_windows_elsewhere() -> None:
    one = task()
    firsts = [tuple(one.examples("train", epoch)[0].tokens) for epoch in range(12)]
    assert len(set(firsts)) > 3
    assert firsts[3] == tuple(task().examples("train", 3)[0].tokens), "but the same epoch cuts them alike"


def test_the_loss_is_the_cross_entropy_of_what_follows() -> None:
    one = task()
    model = model_for(one)
    windows = [one.examples("validation", 0)[place] for place in (0, 3, 13)]  # the last one is shorter
    assert len(windows[-1].tokens) < 8
    sums = one.sums(model, one.collate(windows))
    expected = 0.0
    for window in windows:
        row = torch.from_numpy(window.tokens.astype(np.int64))
        logits = model.head(model(row[None, :-1]))[0].detach()
        expected += float(functional.cross_entropy(logits, row[1:], reduction="sum"))
    assert float(sums.sums["loss"].detach()) == pytest.approx(expected, rel=1e-5)
    assert sums.counts["loss"] == sum(len(window.tokens) - 1 for window in windows)


def test_scores_are_over_all_of_the_split() -> None:
    one = task()
    model = model_for(one)
    scores = one.score(Session(model, torch.device("cpu"), Greedy()), "validation")
    tokens = one.files["validation"].open().astype(np.int64)
    assert (scores["tokens"], scores["characters"]) == (len(tokens) - 1, 95)
    windows = one.examples("validation", 0)
    total = sum(float(one.sums(model, one.collate([window])).sums["loss"]) for window in windows)
    assert scores["loss"] == pytest.approx(total / scores["tokens"], rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert scores["bits_per_character"] == pytest.approx(total / 95 / math.log(2), rel=1e-5)


def test_documents_may_be_kept_apart() -> None:
    one = task(documents="apart", max_length=30)
    batch = one.collate([TokenWindows(np.array([5, 6, EOS, 7, 8, EOS, 9, 9]), 7, whole=True)[0]])
    assert batch.segments_BT is not None
    assert batch.segments_BT.tolist() == [[0, 0, 1, 1, 1, 2, 2]]
    model = model_for(one)
    before = one.states(model, batch)[0, 3:5]
    other = one.collate([TokenWindows(np.array([8, 5, EOS, 7, 8, EOS, 9, 9]), 7, whole=True)[0]])
    torch.testing.assert_close(one.states(model, other)[0, 3:5], before)


def test_streams_are_read_on_where_they_stopped() -> None:
    """All batches of an epoch, one after another, equal one long pass over each stream; and no gradient crosses."""
    one = task(carry=True)
    model = model_for(one, "recurrent")
    examples = one.examples("train", 0)
    assert examples.order is not None
    batches = examples.order(3 * 7)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(examples)))
    model.train()
    read = [one.states(model, one.collate(examples.at(places))) for places in batches[:4]]
    for stream in range(3):
        start = int(batches[0][stream])
        tokens = np.concatenate([examples[start + step].tokens[:-1] for step in range(4)]).astype(np.int64)
        alone = model(torch.from_numpy(tokens)[None])
        torch.testing.assert_close(torch.cat(read, dim=1)[stream], alone[0], atol=1e-5, rtol=1e-5)
    state = one.state_dict()
    assert not any(tensor.requires_grad for tensor in state.values())


def test_a_new_epoch_and_a_validation_begin_anew() -> None:
    one = task(carry=True)
    model = model_for(one, "recurrent")
    examples = one.examples("train", 0)
    first, second = (one.collate([examples[place]]) for place in (0, 1))
    model.train()
    fresh = one.states(model, first)
    carried = one.states(model, second)
    assert torch.equal(one.states(model, first), fresh), "place 0 does not follow place 1"
    model.eval()
    other = one.states(model, second)
    assert (other - carried).abs().max() > 1e-4, "a validation does not see what training remembers"
    model.train()
    torch.testing.assert_close(one.states(model, second), carried), "nor does it make training forget"


def test_what_was_carried_comes_back() -> None:
    one, other = task(carry=True), task(carry=True)
    model = model_for(one, "recurrent").train()
    batches = [one.collate([one.examples("train", 0)[place]]) for place in range(3)]
    for batch in batches[:2]:
        one.states(model, batch)
    other.load_state_dict({name: tensor.clone() for name, tensor in one.state_dict().items()})
    assert torch.equal(other.states(model, batches[2]), one.states(model, batches[2]))


def test_what_does_not_go_together_is_refused() -> None:
    carrying = task(carry=True)
    assert not carrying.additive
    with pytest.raises(OptionError, match=r"Gpt carries none; set task\.carry = false"):
        carrying.states(model_for(carrying), carrying.collate([carrying.examples("train", 0)[0]]))
    with pytest.raises(DataError, match=r"the training text has 6 tokens, and one window takes 8; .*task\.max_length"):
        task(text="the ").examples("train", 0)
    assert list(task(validation="").examples("validation", 0)) == []

"""The numbers about heads are those that a hand computes, and the sentences say what the numbers say."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from regard.core.errors import OptionError
from regard.inspection.heads.names import every_head
from regard.inspection.heads.rollout import rolled_out, rollout
from regard.inspection.heads.similarity import divergences, head_similarity
from regard.inspection.heads.statistics import HeadStatistics, HeadSums, head_statistics
from regard.inspection.probes import probe
from regard.inspection.reports.writing import head_facts
from tests.inspection.loud_runs import ATTENTIVE, OTHER, TEXT, loud


def counted(*weights: np.ndarray, separators: tuple[int, ...] = ()) -> HeadStatistics:
    sums = HeadSums(40)
    for weights_TS in weights:
        sums.add(weights_TS, np.isin(np.arange(weights_TS.shape[1]), separators))
    return sums.statistics(("layers.0", 1), "text")


def one_hot(targets: list[int], keys: int) -> np.ndarray:
    return np.eye(keys)[targets]


def test_a_head_that_reads_the_token_before() -> None:
    found = counted(one_hot([0, 0, 1, 2], 4), one_hot([0, 0, 1, 2, 3, 4], 6))
    assert (found.previous, found.same, found.next, found.entropy, found.distance) == (1.0, 0.0, 0.0, 0.0, 1.0)
    assert found.rows == 8  # the first token has nothing to choose from
    assert found.by_distance == pytest.approx(1.0)
    assert found.positional
    assert not found.no_op
    assert found.sentence == "Head 1 of layers.0 reads the token before, with 100 % of its weight."


def test_a_head_that_rests() -> None:
    weights_TS = np.array([[0.5, 0.0, 0.5], [0.9, 0.05, 0.05], [0.2, 0.0, 0.8]])
    found = counted(weights_TS, separators=(2,))
    assert found.first == pytest.approx((0.5 + 0.9 + 0.2) / 3)
    assert found.separator == pytest.approx((0.5 + 0.05 + 0.8) / 3)
    assert found.resting == pytest.approx(1 - 0.05 / 3)
    assert found.no_op
    assert found.sentence == "Head 1 of layers.0 rests: 98 % of its weight lie on the first token or a separator."


def test_a_first_token_that_is_a_separator_counts_once() -> None:
    assert counted(np.array([[0.7, 0.3], [0.7, 0.3]]), separators=(0,)).resting == pytest.approx(0.7)


def test_a_head_that_spreads() -> None:
    causal_TS = np.tril(np.ones((30, 30)))
    found = counted(causal_TS / causal_TS.sum(1, keepdims=True))
    assert found.evenness == pytest.approx(1.0)
    assert found.entropy == pytest.approx(np.log2(np.arange(2, 31)).mean())
    assert "spreads evenly over all it may see (100 %" in found.sentence


def test_position_and_content_are_told_apart() -> None:
    """One head looks five back whatever stands there, one at the third token, one at a word that stands anywhere."""
    generator = np.random.default_rng(1)
    five_back = [one_hot([max(t - 5, 0) for t in range(20)], 20) for _ in range(6)]
    third = [one_hot([3] * 20, 20) for _ in range(6)]
    anywhere = [one_hot([int(generator.integers(20))] * 20, 20) for _ in range(6)]
    assert counted(*five_back).by_distance > 0.7  # but for the first five tokens, which have nothing so far back
    assert "goes by position: distance alone explains" in counted(*five_back).sentence
    assert counted(*third).by_place == pytest.approx(1.0)
    assert "the position in the text alone explains 100 %" in counted(*third).sentence
    searching = counted(*anywhere)
    assert max(searching.by_distance, searching.by_place) < 0.4
    assert "goes by content" in searching.sentence


def test_texts_agree_with_the_figures_of_a_language_model() -> None:
    run = loud("gpt")
    found = head_statistics(run, [TEXT])
    ids = torch.tensor([[*probe(run, TEXT).inputs.values[0].tolist(), 0]])
    for one, other in zip(found, head_facts(run.model, ids), strict=True):
        assert (one.name, one.head) == (other.name, other.head)
        for name in ("entropy", "distance", "same", "previous", "first"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-4)


@pytest.mark.parametrize("family", ATTENTIVE)
def test_every_family_has_statistics(family: str) -> None:
    run = loud(family)
    told: list[tuple[int, int]] = []
    found = head_statistics(run, [TEXT, OTHER], progress=lambda done, of: told.append((done, of)))
    assert [(one.name, one.head) for one in found] == every_head(run.model)
    assert told == [(1, 2), (2, 2)]
    for one in found:
        assert 0 <= one.first <= one.resting <= 1 + 1e-9
        assert one.sentence.startswith(f"Head {one.head} of {one.name} ")
    json.dumps([one.as_dict() for one in found], allow_nan=False)


def test_only_some_heads_and_no_texts() -> None:
    run = loud("transformer")
    assert {one.name for one in head_statistics(run, [TEXT], pattern="*.0.cross")} == {"decoder.layers.0.cross"}
    with pytest.raises(OptionError, match="there is no text to look at"):
        head_statistics(run, [])
    with pytest.raises(OptionError, match="2 texts against 1 targets"):
        head_statistics(run, [TEXT, OTHER], ["a dog"])
    with pytest.raises(OptionError, match="Recurrent has no attention"):
        head_statistics(loud("recurrent"), [TEXT])


def test_divergence_between_heads() -> None:
    heads_NTS = torch.tensor([[[1.0, 0.0, 0.0]], [[0.0, 0.5, 0.5]], [[0.5, 0.5, 0.0]]], dtype=torch.float64)
    found = divergences(heads_NTS)[..., 0]
    assert found.diagonal().abs().max() < 1e-12
    assert torch.allclose(found, found.T)
    assert found[0, 1] == pytest.approx(1.0)  # no key in common
    mixed = [0.75, 0.25]
    by_hand = -sum(share * np.log2(share) for share in mixed) - 0.5
    assert found[0, 2] == pytest.approx(by_hand)


def test_similarity_of_a_run() -> None:
    run = loud("transformer")
    found = {one.kind: one for one in head_similarity(run, [TEXT, OTHER])}
    assert set(found) == {"encoder", "decoder", "cross"}
    cross = found["cross"]
    assert len(cross.heads) == len(cross.divergence) == 4
    one, other, bits = cross.nearest or ((), (), 2.0)
    assert one != other
    assert bits == min(cross.divergence[i][j] for i in range(4) for j in range(i))
    assert "read most alike" in cross.sentence
    alone = head_similarity(loud("luong"), [TEXT])[0]
    assert alone.sentence == "There is one head only that reads this way (cross)."
    json.dumps([one.as_dict() for one in found.values()], allow_nan=False)


def test_rollout_by_hand() -> None:
    first, second = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    after_one, after_two = rolled_out([first, second])
    assert torch.allclose(after_one, torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
    assert torch.allclose(after_two, torch.tensor([[1.0, 0.0], [0.5 + 0.125, 0.375]]))


@pytest.mark.parametrize(("family", "kind"), [("transformer", "encoder"), ("gpt", "text"), ("bert", "text")])
def test_rollout_of_a_run(family: str, kind: str) -> None:
    found = rollout(loud(family), TEXT)
    assert (found.kind, len(found.names)) == (kind, 2)
    weights_LTS = np.array(found.weights_LTS)
    assert weights_LTS.shape == (2, len(found.tokens), len(found.tokens))
    assert weights_LTS.sum(-1) == pytest.approx(1.0)
    assert found.sentence(1).startswith(f"After 2 layers {found.tokens[1]!r} at place 1 is made most of ")
    json.dumps(found.as_dict(), allow_nan=False)


def test_rollout_needs_layers_in_which_a_text_reads_itself() -> None:
    assert rollout(loud("transformer"), TEXT, kind="decoder").kind == "decoder"
    with pytest.raises(OptionError, match="Bahdanau has no layers in which a text reads itself"):
        rollout(loud("bahdanau"), TEXT)
    with pytest.raises(OptionError, match="as 'encoder'; available: text"):
        rollout(loud("gpt"), TEXT, kind="encoder")

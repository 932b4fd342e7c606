"""What heads are worth, how they align, and what their weights do not explain, on a small translator."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.core.errors import OptionError
from regard.data.corpus import Pair
from regard.inspection.heads.alignment import head_alignment
from regard.inspection.heads.importance import HeadImportance, importance
from regard.inspection.heads.names import every_head, head_count
from regard.inspection.heads.not_explanation import HeadEvidence, NotExplanation, effects, kendall, not_explanation
from regard.inspection.probes import logits_of, probe
from regard.runs.evaluate import evaluate
from regard.runs.load import Run
from regard.runs.train import load_corpus
from tests.inspection.loud_runs import OTHER, TEXT, loud, made
from tests.interop.untrained import SOURCES, TARGETS

TINY = (
    "data.train_size=300", "data.validation_size=24", "data.test_size=8", "data.compositional_size=0", "model.width=24",
    "model.heads=2", "model.feed_forward.width=32", "model.encoder_layers=1", "model.decoder_layers=1",
    "training.steps=12",
    "training.batch_tokens=300", "training.schedule.warmup=3", "training.validate_every=12",
    "training.checkpoint_every=12", "decoding.max_length=8",
)  # fmt: skip
PAIRS = [Pair(source, target) for source, target in zip(SOURCES, TARGETS)]
CROSS = "decoder.layers.0.cross"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return regard.load(regard.train("small-world", tmp_path_factory.mktemp("world") / "run", TINY).run)


@pytest.fixture(scope="module")
def sentences(world: Run) -> list[Pair]:
    return list(load_corpus(world.recipe).splits["validation"][:3])


def silence(run: Run, name: str, head: int) -> None:
    """What the head would write is multiplied by 0."""
    output: Any = run.model.get_submodule(name).output  # type: ignore[union-attr]
    with torch.no_grad():
        output.weight.unflatten(1, (head_count(run.model, name), -1))[:, head] = 0


# -- the worth of a head ----------------------------------------------------------------------------------------


def test_a_head_is_worth_what_the_loss_rises_without_it(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    table = importance(loud("transformer"), PAIRS, progress=lambda done, of: told.append((done, of)))
    assert [(one.name, one.head) for one in table] == every_head(loud("transformer").model)
    assert told == [(number, 12) for number in range(1, 13)]
    chosen = max(table, key=lambda one: abs(one.rise))
    other = made("transformer", tmp_path)
    silence(other, chosen.name, chosen.head)
    scores = other.score([pair.source for pair in PAIRS], [pair.target for pair in PAIRS])
    total = [value for pair in scores for value in pair]
    assert chosen.without == pytest.approx(-sum(total) / len(total), rel=1e-4)
    assert chosen.without != pytest.approx(chosen.loss, rel=1e-3)
    assert chosen.rise == chosen.without - chosen.loss
    assert len({one.loss for one in table}) == 1
    json.dumps([one.as_dict() for one in table], allow_nan=False)


def test_a_split_and_some_of_its_examples(world: Run) -> None:
    table = importance(world, "validation", pattern="*.cross")
    assert [(one.name, one.head) for one in table] == [(CROSS, 0), (CROSS, 1)]
    pairs = load_corpus(world.recipe).splits["validation"]
    whole = world.score([pair.source for pair in pairs], [pair.target for pair in pairs])
    every = [value for pair in whole for value in pair]
    assert table[0].loss == pytest.approx(-sum(every) / len(every), rel=1e-4)
    few = importance(world, "validation", pattern="*.cross", examples=5)
    assert few[0].loss != pytest.approx(table[0].loss, rel=1e-6)


@pytest.mark.parametrize("family", ["gpt", "llama", "bert"])
def test_texts_of_models_that_read_one(family: str) -> None:
    table = importance(loud(family), [TEXT, OTHER])
    assert len(table) == len(every_head(loud(family).model))
    assert all(math.isfinite(one.rise) for one in table)
    assert any(abs(one.rise) > 1e-3 for one in table)


@pytest.mark.parametrize("family", ["bahdanau", "luong", "convolution"])
def test_the_one_head_of_a_decoder(family: str) -> None:
    table = importance(loud(family), PAIRS)
    assert all(abs(one.rise) > 1e-4 for one in table)


def test_what_cannot_be_asked_says_why(world: Run) -> None:
    with pytest.raises(OptionError, match="no split 'dev' to ask about; available: validation, test"):
        importance(world, "dev")
    with pytest.raises(OptionError, match=r"is asked about regard\.data\.corpus\.Pair"):
        importance(world, ["the dog"])  # type: ignore[list-item]
    with pytest.raises(OptionError, match="is asked about strings"):
        importance(loud("gpt"), PAIRS)
    with pytest.raises(OptionError, match="FixedContext has no attention"):
        importance(loud("fixed-context"), PAIRS)
    with pytest.raises(OptionError, match="there is nothing to ask about"):
        importance(loud("transformer"), [])


@pytest.mark.parametrize(
    ("without", "words"), [(2.5, "25.0 % more"), (2.001, "it can be spared"), (1.5, "does better without it")]
)
def test_the_worth_of_a_head_in_words(without: float, words: str) -> None:
    assert words in HeadImportance("layers.0", 1, 2.0, without).sentence


# -- alignment --------------------------------------------------------------------------------------------------


def test_every_head_aligns_more_or_less(world: Run) -> None:
    table = head_alignment(world, "test")
    assert [(one.name, one.head) for one in table] == [(CROSS, 0), (CROSS, 1)]
    scores = evaluate(world)
    layer, head = scores["alignment_head"]
    assert table[layer * 2 + head].error_rate == pytest.approx(scores["alignment_error_rate"])
    assert "alignment error rate of" in table[0].sentence
    with pytest.raises(OptionError, match="has no attention over a source"):
        head_alignment(loud("gpt"))


# -- attention is not explanation -------------------------------------------------------------------------------


def test_kendall_by_hand() -> None:
    one = np.array([1.0, 2.0, 3.0, 4.0])
    assert kendall(one, one**3) == pytest.approx(1.0)
    assert kendall(one, -one) == pytest.approx(-1.0)
    assert kendall(one, np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(4 / 6)
    assert kendall(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / math.sqrt(2 * 3))
    assert math.isnan(kendall(np.ones(3), np.arange(3.0)))


def test_the_effect_of_a_token_is_that_of_leaving_it_out(world: Run, sentences: list[Pair]) -> None:
    pair = sentences[0]
    words = pair.source.split()
    one = probe(world, pair.source, pair.target)
    assert one.removable == len(words) + 1
    before = logits_of(world.model, one)
    shorter = probe(world, " ".join([words[0], *words[2:]]), pair.target)
    after = logits_of(world.model, shorter)
    expected = (before.softmax(-1) - after.softmax(-1)).abs().sum(-1) / 2
    assert effects(world.model, one, before)[:, 1] == pytest.approx(expected.numpy(), abs=1e-5)


def test_of_a_text_the_token_is_hidden() -> None:
    run = loud("bert")
    hidden = probe(run, "der Hund singt").without(2)
    assert int(hidden.inputs.values[0, 2]) == run.vocabularies.target.specials.mask
    assert hidden.inputs.values.shape == probe(run, "der Hund singt").inputs.values.shape


def test_weights_that_do_not_matter_are_found_out(world: Run, sentences: list[Pair]) -> None:
    """A head whose values are all alike gives the same whatever it looks at; its weights still look like some."""
    project = world.model.decoder.layers[0].cross.project_memory  # type: ignore[union-attr, index]
    held = project.weight.detach().clone()
    with torch.no_grad():
        project.weight[24:36] = 0  # after all keys, the values of the first head
    texts, targets = [pair.source for pair in sentences], [pair.target for pair in sentences]
    told: list[int] = []
    found = not_explanation(world, texts, targets, progress=lambda done, of: told.append(done))
    with torch.no_grad():
        project.weight.copy_(held)
    first, second = found.heads
    assert (first.name, first.head, second.head) == (CROSS, 0, 1)
    assert (first.uniform_kept, first.shuffled_kept) == (1.0, 1.0)
    assert max(first.uniform_moved, first.shuffled_moved) < 1e-6
    assert second.uniform_moved > 1e-4
    assert all(-1 <= one.correlation <= 1 for one in found.heads)
    assert found.unmoved >= 1
    assert f"and {found.unmoved} of 2 heads may do so without changing a single one" in found.sentence
    kept = 100 * (1 + second.uniform_kept) / 2
    assert f"With one head reading uniformly, {kept:.1f} % of the answers stay on average" in found.sentence
    assert found.points
    assert found.answers == sum(len(probe(world, *pair).asked) for pair in zip(texts, targets))
    assert told == [1, 2, 3]
    json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize("family", ["gpt", "bert", "bahdanau", "convolution"])
def test_other_families_are_tried_too(family: str) -> None:
    found = not_explanation(loud(family), ["der Hund"])
    assert [(one.name, one.head) for one in found.heads] == every_head(loud(family).model)
    assert all(0 <= one.uniform_kept <= 1 and 0 <= one.shuffled_moved <= 1 for one in found.heads)


def test_where_nothing_can_be_compared_it_is_said_so() -> None:
    evidence = HeadEvidence("layers.0", 0, math.nan, 0, 0.0, 1.0, 0.0, 1.0)
    found = NotExplanation((evidence,), 0.0, 1.0, (), 2)
    assert "no row was long enough to compare weights with effects" in found.sentence
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["heads"][0]["correlation"] is None

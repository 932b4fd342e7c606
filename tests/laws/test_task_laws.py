"""What must be true of every task: the seam, the capabilities that it declares, and the loss inside the Learner."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.core.answers import LabelAnswer, NumberAnswer, NumbersAnswer, SpanAnswer, TagsAnswer
from regard.core.batch import Batch, Examples, move
from regard.core.errors import DataError, OptionError
from regard.core.inputs import Inputs
from regard.core.ports import Nodes
from regard.core.seams import capabilities, max_length_of
from regard.core.seams.task import Session, Task
from regard.data.batching import in_length_order
from regard.data.corpus import Pair
from regard.decoding.options import Greedy
from regard.layers.headed import Headed
from regard.layers.losses.distillation import Softening
from regard.runs.modalities import fit_modalities
from regard.runs.recipe import Recipe
from regard.runs.train import build_task, headed, load_corpus, resolve_task
from regard.tasks import TASKS
from regard.tasks.classification import ClassBatch, Classification
from regard.tasks.graphs.encoding import PartsBatch
from regard.tasks.reading import logits_of
from regard.tasks.regression import Regression
from regard.tasks.running.running_text import RunningTextTask
from regard.tasks.translation import Translation
from regard.training.learner import Learner
from tests.laws.counted import asked_files, ring_files

CPU = torch.device("cpu")
BUDGET = 128
WORLD = {"train_size": 40, "validation_size": 6, "test_size": 6, "compositional_size": 0}
BERT = {"kind": "bert", "layers": 1, "width": 12, "heads": 3, "dropout": 0.0, "position": {"max_length": 64}}
TRANSLATOR = {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 12, "heads": 3,
              "dropout": 0.0, "feed_forward": {"width": 16}}  # fmt: skip
VIT = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "dropout": 0.0, "front": {"kind": "patches", "size": 4}}
PIECES = {"kind": "wordpiece", "vocabulary": 150}
GRAPH = {"kind": "graph", "structure": {"degree": 3, "distance": 2}}
WORDS = {"kind": "whitespace", "min_frequency": 1, "joint": False}


def running(model: dict[str, Any], **task: Any) -> dict[str, Any]:
    return {
        "data": {"kind": "world-english", "train_size": 60, "validation_size": 8, "test_size": 6},
        "tokenizer": {"kind": "character"},
        "model": {"dropout": 0.0, "layers": 1, **model},
        "task": {"kind": "language-model", "max_length": 9, "sample": 5, **task},
    }


def labelling(data: str, **task: Any) -> dict[str, Any]:
    return {"data": {"kind": data, **WORLD}, "tokenizer": PIECES, "model": BERT, "task": {"max_length": 40, **task}}


def of_graphs(data: dict[str, Any], **task: Any) -> dict[str, Any]:
    reader = {"kind": "graph-transformer", "layers": 1, "width": 12, "heads": 3, "dropout": 0.0}
    return {"data": data, "input": GRAPH, "model": reader, "task": task}


TREES: dict[str, dict[str, Any]] = {
    "translation": {"data": {"kind": "small-world", **WORLD}, "tokenizer": WORDS, "model": TRANSLATOR,
                    "task": {"kind": "translation"}},
    "parsing": {"data": {"kind": "world-trees", **WORLD}, "tokenizer": WORDS, "model": TRANSLATOR,
                "task": {"kind": "parsing"}},
    "language-model": running({"kind": "gpt", "width": 12, "heads": 3}),
    "streams": running({"kind": "recurrent", "width": 9}, carry=True),
    "classification": labelling("world-moods", kind="classification", dropout=0.0),
    "regression": labelling("tests.laws.counted:CountedWords", kind="regression", dropout=0.0),
    "graphs": of_graphs(ring_files(), kind="regression", dropout=0.0, names=["nodes", "rings"]),
    "node-classification": of_graphs(asked_files("graph-nodes"), kind="node-classification", dropout=0.0),
    "link-prediction": of_graphs(asked_files("graph-links"), kind="link-prediction", dropout=0.0, width=8),
    "series-classification": {
        "data": {"kind": "wave-shapes", "train_size": 30, "validation_size": 6, "test_size": 6},
        "input": {"kind": "series", "length": 44}, "model": VIT, "task": {"kind": "classification", "dropout": 0.0},
    },
    "forecasting": {
        "data": {"kind": "waves", "hours": 120, "missing": 0.1}, "input": {"kind": "series"}, "model": VIT,
        "task": {"kind": "forecasting", "context": 13, "horizon": 7, "seasons": [12], "dropout": 0.0},
    },
    "transcription": {
        "data": {"kind": "keypad", "train_size": 30, "validation_size": 6, "test_size": 6, "max_length": 5},
        "input": {"kind": "audio"}, "tokenizer": {"kind": "character"},
        "model": {**TRANSLATOR, "front": {"kind": "patches", "size": [4, 40], "class_token": False}},
        "task": {"kind": "transcription"},
    },
    "temporal-classification": {
        "data": {"kind": "keypad", "train_size": 30, "validation_size": 6, "test_size": 6, "max_length": 5},
        "input": {"kind": "audio"}, "tokenizer": {"kind": "character"},
        "model": {**VIT, "front": {"kind": "patches", "size": [3, 40], "class_token": False}},
        "task": {"kind": "temporal-classification", "dropout": 0.0, "prefixes": 3},
    },
    "tagging": labelling("world-tags", kind="tagging", dropout=0.0),
    "question-answering": labelling("world-questions", kind="question-answering", dropout=0.0, max_length=60,
                                    max_question_length=24, stride=8),
    "embedding": labelling("small-world", kind="embedding"),
    "masked-language-model": {"data": {"kind": "world-english", "train_size": 60, "validation_size": 8, "test_size": 6},
                              "tokenizer": PIECES, "model": BERT,
                              "task": {"kind": "masked-language-model", "max_length": 20, "pseudo": 0}},
}  # fmt: skip
"""One tiny recipe of every kind of task, and one whose loss does not add over examples."""

DECLARED: dict[str, set[str]] = {
    "translation": {
        "ChecksLengths", "Compares", "Distils", "HasYardsticks", "ScoresInDetail", "ScoresPairs", "Translates",
        "Probeable",
    },
    "parsing": {
        "ChecksLengths", "Compares", "Distils", "HasYardsticks", "ScoresPairs", "Translates", "Probeable",
    },
    "language-model": {
        "ChecksLengths", "Distils", "Stateful", "Derives", "Samples", "Continues", "HasYardsticks", "Probeable",
    },
    "streams": {
        "ChecksLengths", "Distils", "Stateful", "Derives", "Samples", "Continues", "HasYardsticks", "Probeable",
    },
    "classification": {
        "HasHead", "Compares", "Distils", "HasYardsticks", "ScoresPairs", "Classifies", "HasLabels", "Probeable",
    },
    "regression": {"HasHead", "Compares", "HasYardsticks", "ScoresPairs", "EstimatesNumbers", "Probeable"},
    "graphs": {"HasHead", "Compares", "HasYardsticks", "ScoresPairs", "EstimatesNumbers", "Probeable"},
    "node-classification": {
        "HasHead", "HasYardsticks", "Classifies", "ParsesInputs", "HasLabels", "Probeable",
    },
    "link-prediction": {"HasHead", "HasYardsticks", "EstimatesNumbers", "ParsesInputs", "Probeable"},
    "series-classification": {
        "Distils", "HasHead", "Compares", "HasYardsticks", "ScoresPairs", "Classifies", "HasLabels", "Probeable",
    },
    "forecasting": {"HasHead", "HasYardsticks", "Forecasts", "Probeable"},
    "transcription": {"Compares", "HasYardsticks", "ScoresPairs", "Transcribes", "Probeable"},
    "temporal-classification": {
        "HasHead", "ChecksLengths", "Compares", "HasYardsticks", "ScoresPairs", "Transcribes", "Probeable",
    },
    "tagging": {"HasHead", "HasYardsticks", "ScoresPairs", "Tags", "HasLabels", "Probeable"},
    "question-answering": {"HasHead", "HasYardsticks", "ScoresPairs", "AnswersQuestions", "Probeable"},
    "embedding": {"HasHead", "HasYardsticks", "ScoresPairs", "Probeable"},
    "masked-language-model": {"ChecksLengths", "Derives", "Fills", "HasYardsticks", "Probeable"},
}
CAPABILITIES: dict[str, Any] = {
    name: found
    for name, found in vars(capabilities).items()
    if inspect.isclass(found) and found.__module__ == capabilities.__name__
}


@dataclass(frozen=True)
class Subject:
    """A task over a few examples, and a model for it that has learned nothing."""

    name: str
    task: Any
    model: nn.Module

    @property
    def session(self) -> Session:
        return Session(self.model.eval(), CPU, Greedy(max_length=12))

    @property
    def test(self) -> list[Any]:
        return list(self.task.corpus.splits["test"])

    def batches(self, count: int) -> list[Batch]:
        """As the loop makes them."""
        examples: Examples = self.task.examples("train", 0)
        order = examples.order(BUDGET) if examples.order else in_length_order(examples.lengths_NA, BUDGET)
        return [self.task.collate(examples.at(indices)) for indices in order[:count]]


def make(name: str) -> Subject:
    recipe = Recipe.of({**TREES[name], "seed": 3})
    corpus = load_corpus(recipe)
    recipe = resolve_task(recipe, corpus)
    task = build_task(recipe, corpus, fit_modalities(recipe, corpus))
    return Subject(name, task, headed(recipe, task))


made = cache(make)
HEARD = [name for name, tree in TREES.items() if tree.get("input", {}).get("kind") == "audio"]
OF_GRAPHS = [name for name, tree in TREES.items() if tree.get("input") == GRAPH]
every_task = pytest.mark.parametrize("name", TREES)


# -- the seam -----------------------------------------------------------------------------------------------------


def test_every_shipped_kind_of_task_is_held_to_the_laws() -> None:
    assert {tree["task"]["kind"] for tree in TREES.values()} == set(TASKS.kinds())


def assert_has(task: object, protocol: type) -> None:
    """``isinstance`` looks at names alone; a caller needs the parameters, too."""
    for name, wanted in vars(protocol).items():
        if inspect.isfunction(wanted) and not name.startswith("_"):
            asked = [one for one in inspect.signature(wanted).parameters if one != "self"]
            own = inspect.signature(getattr(task, name)).parameters
            assert list(own)[: len(asked)] == asked, f"{type(task).__name__}.{name}"
            assert all(own[one].default is not inspect.Parameter.empty for one in list(own)[len(asked) :])


@every_task
def test_it_is_a_task(name: str) -> None:
    task = made(name).task
    assert_has(task, Task)
    assert isinstance(task.additive, bool)
    assert isinstance(task.static_shapes, bool)
    assert not len(task.examples("nowhere", 0))
    assert len(task.predict(made(name).session, inputs_of(name))) == len(inputs_of(name))
    assert all(isinstance(key, str) for key in task.score(made(name).session, "test"))


def inputs_of(name: str) -> list[Any]:
    if name in OF_GRAPHS:
        return raws(made(name), 2)
    if name == "forecasting":
        return list(made(name).task.examples("test", 0))[:2]
    if name in ("series-classification", *HEARD):
        return raws(made(name), 2)
    if name == "masked-language-model":
        return ["the [MASK] sleeps", "a [MASK]"]
    if "language" in name or name == "streams":
        return ["the c", "a"]
    return [one.source for one in made(name).test[:2]]


def raws(subject: Subject, count: int) -> list[Any]:
    """Inputs of the test split, as ``predict`` takes them."""
    if subject.name in ("series-classification", *HEARD):
        return [one.input for one in subject.test[:count]]
    if isinstance(subject.task, capabilities.ParsesInputs):
        return [subject.task.parse(word) for word in words_of(subject)[:count]]
    modality = subject.task.modalities.input if isinstance(subject.task, Regression | Classification) else None
    return [one.source if modality is None else modality.parse(one.source) for one in subject.test[:count]]


def words_of(subject: Subject) -> list[str]:
    """What is asked about parts of the first test graph, as one types it."""
    names = subject.test[0].raw.nodes
    pairs = subject.name == "link-prediction"
    return [f"{subject.test[0].source}#{'#'.join(names[place : place + 1 + pairs])}" for place in range(3)]


@every_task
def test_examples_are_a_function_of_seed_and_epoch(name: str) -> None:
    for one, other in zip(made(name).batches(3), make(name).batches(3), strict=True):
        assert_same(one, other)


def tensors(value: Any) -> Iterator[Tensor]:
    for one in fields(value):
        held = getattr(value, one.name)
        if isinstance(held, Tensor):
            yield held
        elif is_dataclass(held):
            yield from tensors(held)


def assert_same(one: Batch, other: Batch) -> None:
    for ours, theirs in zip(tensors(one), tensors(other), strict=True):
        assert torch.equal(ours, theirs)


@every_task
def test_a_batch_that_is_moved_changes_nothing_but_its_device(name: str) -> None:
    (batch,) = made(name).batches(1)
    assert move(batch, CPU) is batch
    assert {own.device for own in tensors(batch)} == {CPU}
    there = move(batch, torch.device("meta"))
    assert type(there) is type(batch)
    assert there.loss_terms == batch.loss_terms
    shapes = [[(own.shape, own.dtype) for own in tensors(one)] for one in (batch, there)]
    assert shapes[0] == shapes[1]
    assert {own.device.type for own in tensors(there)} == {"meta"}


@every_task
def test_the_loss_is_divided_by_what_it_sums_over(name: str) -> None:
    subject = made(name)
    for batch in subject.batches(2):
        sums = subject.task.sums(subject.model.eval(), batch)
        assert sums.counts["loss"] == batch.loss_terms > 0
        assert sums.sums.keys() == sums.counts.keys()
        assert batch.tokens >= batch.loss_terms


@pytest.mark.parametrize("name", [name for name in TREES if name not in ("embedding", "streams")])
def test_sums_over_parts_are_sums_over_the_whole(name: str) -> None:
    subject = made(name)
    task, model = subject.task, subject.model.eval()
    assert task.additive
    items = task.examples("train", 0).at(range(7))
    with torch.no_grad():
        whole = task.sums(model, task.collate(items))
        parts = [task.sums(model, task.collate(part)) for part in (items[:1], items[1:4], items[4:])]
    for figure, total in whole.sums.items():
        added = torch.stack([part.sums[figure].double() for part in parts]).sum()
        torch.testing.assert_close(added, total.double(), atol=1e-4, rtol=1e-5)
        assert whole.counts[figure] == sum(part.counts[figure] for part in parts)


@pytest.mark.parametrize("name", [name for name, tree in TREES.items() if "input" not in tree])
def test_merges_are_left_out_only_where_texts_are_cut_anew(name: str) -> None:
    recipe = Recipe.of({**TREES[name], "tokenizer": {"kind": "bpe", "vocabulary": 300, "dropout": 0.1}})
    corpus = load_corpus(recipe)
    recipe = resolve_task(recipe, corpus)
    modalities = recipe.input.fit(corpus, recipe.tokenizer)
    if recipe.task.cuts_anew:
        assert len(build_task(recipe, corpus, modalities).examples("train", 0))
    else:
        told = rf"tokenizer\.dropout is for pairs, .* not for {recipe.task.kind}; set it to 0"
        with pytest.raises(OptionError, match=told):
            build_task(recipe, corpus, modalities)


@pytest.mark.parametrize("name", ["embedding", "streams"])
def test_what_does_not_add_says_so(name: str) -> None:
    assert not made(name).task.additive


# -- the Learner --------------------------------------------------------------------------------------------------


@every_task
def test_the_learner_has_the_weights_of_the_model_and_no_others(name: str) -> None:
    subject = made(name)
    learner = Learner(subject.model, subject.task)
    own = dict(learner.named_parameters())
    assert [key.removeprefix("model.") for key in own] == [key for key, _ in subject.model.named_parameters()]
    assert all(ours is theirs for ours, theirs in zip(own.values(), subject.model.parameters(), strict=True))


@pytest.fixture(scope="module")
def process_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store = tmp_path_factory.mktemp("gloo") / "store"
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@every_task
def test_wrapped_for_several_processes_it_learns_the_same(name: str, process_group: None) -> None:
    """Two steps, because what the wrapper left undone is complained about at the second."""
    found = []
    for wrapped in (False, True):
        subject = make(name)  # anew: streams remember what was read
        learner: nn.Module = Learner(subject.model.train(), subject.task)
        if wrapped:
            learner = DistributedDataParallel(learner, find_unused_parameters=True)
        for batch in subject.batches(2):
            torch.manual_seed(1)
            sums = learner(batch)
            (sums.sums["loss"] / batch.loss_terms).backward()
        found.append({key: weight.grad for key, weight in subject.model.named_parameters()})
    assert any(gradient is not None for gradient in found[0].values())
    for key, gradient in found[0].items():
        if gradient is None:  # the wrapper fills in zeros
            assert found[1][key] is None or not found[1][key].any(), key
        else:
            torch.testing.assert_close(found[1][key], gradient, msg=key)


# -- capabilities -------------------------------------------------------------------------------------------------


@every_task
def test_capabilities_are_declared_whole(name: str) -> None:
    task = made(name).task
    found = {called for called, capability in CAPABILITIES.items() if isinstance(task, capability)}
    assert found == DECLARED[name]
    for called in found:
        assert_has(task, CAPABILITIES[called])


def head(subject: Subject) -> None:
    assert isinstance(subject.model, Headed)
    shapes = [
        {key: weight.shape for key, weight in one.state_dict().items()}
        for one in (subject.task.head(subject.model.body), subject.model.head)
    ]
    assert shapes[0] == shapes[1]


def lengths(subject: Subject) -> None:
    """What has room is let through, what the model has no positions for, or a step no tokens, is refused."""
    subject.task.check_lengths(subject.model, 4096)
    if isinstance(subject.task, RunningTextTask):
        room = max_length_of(subject.model)
        if not room:
            return  # it reads on and on
        subject.task.window = room + 1
        told = f"task.max_length = {room + 1}, and the model reads at most {room} tokens"
        with pytest.raises(OptionError, match=told):
            subject.task.check_lengths(subject.model, 4096)
        return
    if subject.name == "temporal-classification":  # what does not fit there is too short, not too long
        return
    with pytest.raises(DataError, match=r"training\.batch_tokens = 3 has room for 2 pieces; more have"):
        subject.task.check_lengths(subject.model, 3)


def distils(subject: Subject) -> None:
    """Beside a teacher that counts for nothing the loss is the task's own; one that says what the model says already
    moves nothing."""
    task, model, (batch,) = subject.task, subject.model.eval(), subject.batches(1)
    if not task.additive:
        with pytest.raises(OptionError, match="reads on from a state that a teacher has not"):
            task.check_taught(task)
        return
    task.check_taught(task)
    plain = task.sums(model, batch).sums["loss"]
    torch.testing.assert_close(task.distilled(model, model, batch, Softening(0.0, 2.0)).sums["loss"], plain)
    model.zero_grad()
    task.distilled(model, deepcopy(model), batch, Softening(1.0, 2.0)).sums["loss"].backward()
    for name, weight in model.named_parameters():
        assert weight.grad is None or float(weight.grad.abs().max()) < 1e-4, name


def state(subject: Subject) -> None:
    """A task that was made anew and given the state goes on as the old one would."""
    model, batches = subject.model.train(), subject.batches(3)
    for batch in batches[:2]:
        subject.task.sums(model, batch)
    kept = {key: tensor.clone() for key, tensor in subject.task.state_dict().items()}
    assert bool(kept) == (not subject.task.additive)
    other = make("language-model" if subject.task.additive else "streams").task
    other.load_state_dict(kept)
    ours, theirs = (one.sums(model, batches[2]).sums["loss"] for one in (subject.task, other))
    assert torch.equal(ours, theirs)


def derived(subject: Subject) -> None:
    found = subject.task.derived("validation", {"loss": math.log(2)})
    assert any(value == pytest.approx(2) for value in found.values())


def samples(subject: Subject) -> None:
    assert isinstance(text := subject.task.sample(subject.model.eval(), CPU), str)
    assert text


def compares(subject: Subject) -> None:
    answers = [own[0].text for own in subject.task.predict(subject.session, raws(subject, len(subject.test)))]
    found = subject.task.compare(subject.test, answers, answers)
    assert (found.difference, found.p_value) == (0.0, 1.0)


def has_yardsticks(subject: Subject) -> None:
    """Figures that the model's scores have, too, the same each time, with what they were fitted on."""
    task = subject.task
    own, found = task.score(subject.session, "test"), task.yardsticks(task.corpus, "test")
    assert found
    for yardstick in found.values():
        assert yardstick.figures.keys() <= own.keys()
        assert all(math.isfinite(value) for value in yardstick.figures.values())
        assert yardstick.fitted_on
    assert task.yardsticks(task.corpus, "test") == found


def scores_pairs(subject: Subject) -> None:
    """A split that is given as pairs has the split's own scores."""
    if subject.name in HEARD:  # sounds that are made have no path; tests/tasks scores files of them
        return
    pairs = [Pair(one.source, one.target, line, "given") for line, one in enumerate(subject.test, start=1)]
    given = subject.task.score_pairs(subject.session, pairs)
    own = subject.task.score(subject.session, "test")
    numbers = {key for key, value in given.items() if isinstance(value, float) and key in own}
    assert numbers
    assert {key: given[key] for key in numbers} == pytest.approx({key: own[key] for key in numbers}, abs=1e-6)


def translates(subject: Subject) -> None:
    task = subject.task
    assert isinstance(task.translation, Translation)
    pairs = task.translation.corpus.splits["test"]
    assert len(task.encode_pairs(pairs)) == len(pairs)
    sources, targets = task.as_written([one.source for one in pairs], [one.target for one in pairs])
    found = task.engine(subject.model, CPU).score(
        task.vocabularies.source.encode_batch(list(sources)), task.vocabularies.target.encode_batch(list(targets))
    )
    assert [len(one) for one in found] == [len(one.target) + 1 for one in task.encode_pairs(pairs)]
    assert all(piece < 0 for one in found for piece in one)


def continues(subject: Subject) -> None:
    written = subject.task.continuation(subject.session).predict(["the c", "a"], subject.session.options)
    assert written == subject.task.predict(subject.session, ["the c", "a"])


def fills(subject: Subject) -> None:
    ((guesses,), (_, others)) = subject.task.filling(subject.session).fill(["the [MASK]", "[MASK] is [MASK]"], top_k=3)
    for own in (guesses, others):
        assert len(own) == 3
        assert 1 > own[0].probability >= own[1].probability >= own[2].probability > 0


def classifies(subject: Subject) -> None:
    asked = inputs_of(subject.name)
    found = subject.task.classify(subject.session, asked)
    for own in found:
        assert all(isinstance(one, LabelAnswer) for one in own)
        assert {one.label for one in own} == set(subject.task.labels)
        assert sum(one.probability for one in own) == pytest.approx(1)
        assert [one.score for one in own] == sorted((one.score for one in own), reverse=True)
    assert found == subject.task.predict(subject.session, asked)


def forecasts(subject: Subject) -> None:
    """In the user's units, with quantiles that rise; the same alone and among others."""
    windows = inputs_of(subject.name)
    found = subject.task.forecast(subject.session, windows)
    for window, one in zip(windows, found, strict=True):
        assert isinstance(one, NumbersAnswer)
        assert one.values_HCQ.shape == (7, 1, 3)
        assert (np.diff(one.values_HCQ, axis=-1) > 0).all()
        assert np.array_equal(one.past_NC, window.series.values_NC[window.start : window.stop], equal_nan=True)
        (alone,) = subject.task.forecast(subject.session, [window])
        np.testing.assert_allclose(alone.values_HCQ, one.values_HCQ, rtol=1e-5)


def transcribes(subject: Subject) -> None:
    """Texts with their log-probabilities, best first; ``predict`` gives the first of them."""
    asked = inputs_of(subject.name)
    found = subject.task.transcribe(subject.session, asked)
    for own in found:
        assert own
        assert all(one.log_probability < 0 for one in own)
        assert [one.score for one in own] == sorted((one.score for one in own), reverse=True)
    assert [own[:1] for own in found] == [own[:1] for own in subject.task.predict(subject.session, asked)]


def tags(subject: Subject) -> None:
    (found,) = subject.task.tag(subject.session, ["the  cat sleeps"])
    assert isinstance(found, TagsAnswer)
    assert [one.word for one in found.words] == ["the", "cat", "sleeps"]
    assert {one.tag for one in found.words} <= set(subject.task.labels)


def estimates_numbers(subject: Subject) -> None:
    asked = raws(subject, 3)
    found = subject.task.estimate(subject.session, asked)
    for own in found:
        assert isinstance(own, NumberAnswer)
        assert len(own.values) == (len(subject.task.config.mean) if isinstance(subject.task, Regression) else 1)
        assert own.score == own.values[0] == pytest.approx(float(own.text.split()[0]), rel=1e-4)
    assert [[one] for one in found] == subject.task.predict(subject.session, asked)


def answers_questions(subject: Subject) -> None:
    context = "the old cat saw the dog"
    (found,) = subject.task.answer(subject.session, [("who saw the dog", context)], n_best=4)
    assert len(found) == 4
    assert all(isinstance(one, SpanAnswer) and one.text == context[one.start : one.stop] for one in found)


def read(batch: Any) -> Inputs:
    return batch.inputs if isinstance(batch, ClassBatch | PartsBatch) else batch.text


def labels(subject: Subject) -> None:
    batch = subject.batches(1)[0]
    with torch.no_grad():
        assert logits_of(subject.model.eval(), read(batch)).shape[-1] == len(subject.task.labels)
    assert len(set(subject.task.labels)) == len(subject.task.labels)


def parses_inputs(subject: Subject) -> None:
    """A word stands for what it names; a path for all that can be asked of it, or for itself."""
    for word in words_of(subject):
        assert subject.task.members(word) == [word]
        asked = subject.task.parse(word)
        assert word.endswith("#".join(asked.graph.nodes[place] for place in asked.places))
    every = subject.task.members(subject.test[0].origin)
    assert every[:3] == words_of(subject) or every == [subject.test[0].origin]
    with pytest.raises(DataError, match="has no node 'nobody'"):
        subject.task.parse(f"{words_of(subject)[0].rpartition('#')[0]}#nobody")


def probes(subject: Subject) -> None:
    """Rows that are asked together answer as each alone; axes and expected answers belong to the first."""
    task, session = subject.task, subject.session
    examples = task.examples("test", 0)
    for items in (
        task.random_examples(session, np.random.default_rng(1), 3, 20), [examples[0], examples[len(examples) - 1]]
    ):  # fmt: skip
        together = task.probe_examples(session, items)
        with torch.no_grad():
            logits_BTW = together.logits(session.model)
            for row, item in enumerate(items):
                alone_TW = task.probe_examples(session, [item]).logits(session.model)[0]
                torch.testing.assert_close(logits_BTW[row, : len(alone_TW)], alone_TW, atol=1e-4, rtol=1e-4)
    one = task.probe_examples(session, [examples[0]])
    if one.inputs.values.dim() == 2:  # tokens; what a front cuts has fewer positions
        assert len(one.axis.labels) == one.inputs.values.shape[1]
    assert len(one.expected) in (0, len(one.axis.labels))
    assert all(0 <= place < len(one.axis.labels) for place in one.asked)
    raw = "who sleeps\tthe cat sleeps" if isinstance(task, capabilities.AnswersQuestions) else "the cat"
    if isinstance(task.ports()["input"], Nodes):
        raw = raws(subject, 1)[0]
    raw = raw if one.inputs.values.dim() == 2 and subject.name not in HEARD else inputs_of(subject.name)[0]
    given = task.probe(session, raw)
    again = task.random_examples(session, np.random.default_rng(1), 3, 20)
    assert torch.isfinite(given.logits(session.model)).all()
    same = task.probe_examples(session, task.random_examples(session, np.random.default_rng(1), 3, 20))
    assert torch.equal(same.inputs.values, task.probe_examples(session, again).inputs.values)


def scores_in_detail(subject: Subject) -> None:
    found = subject.task.score_in_detail(subject.session, "test")
    plain = subject.task.score(subject.session, "test")
    assert {name: found.scores[name] for name in plain if name in found.scores} == {
        name: value for name, value in plain.items() if name in found.scores
    }
    assert found.scores
    assert len(found.answers) == len(subject.test)
    assert found.seconds > 0


CHECKS: dict[str, Callable[[Subject], None]] = {
    "HasHead": head, "ChecksLengths": lengths, "Distils": distils, "Stateful": state,
    "Derives": derived, "Samples": samples,
    "Compares": compares, "ScoresPairs": scores_pairs, "ScoresInDetail": scores_in_detail,
    "HasYardsticks": has_yardsticks,
    "Translates": translates, "Continues": continues,
    "Fills": fills, "Classifies": classifies, "EstimatesNumbers": estimates_numbers, "Tags": tags,
    "AnswersQuestions": answers_questions, "HasLabels": labels, "Probeable": probes, "ParsesInputs": parses_inputs,
    "Forecasts": forecasts, "Transcribes": transcribes,
}  # fmt: skip


def test_every_capability_is_held_to_its_law() -> None:
    assert CHECKS.keys() == CAPABILITIES.keys() == set().union(*DECLARED.values())


@pytest.mark.parametrize(
    ("name", "capability"), [(name, one) for name, declared in DECLARED.items() for one in sorted(declared)]
)
def test_what_is_declared_can_be_done(name: str, capability: str) -> None:
    CHECKS[capability](made(name))

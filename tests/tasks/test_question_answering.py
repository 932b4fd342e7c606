"""Spans for answers: windows, labels, the search over all windows, and what is learned from few examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.core.config import parse
from regard.core.errors import DataError, OptionError
from regard.core.seams.task import Session
from regard.data.corpus import Corpus
from regard.data.examples import QuestionExample, Reference
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import BpeTokenizer, Tokenizer, WordTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.data.sources.questions import WorldQuestions
from regard.decoding.options import Greedy
from regard.layers.headed import Headed
from regard.runs.evaluate import evaluate
from regard.runs.load import load
from regard.runs.recipe import Recipe
from regard.runs.train import build_model, train
from regard.tasks.question_answering import QuestionAnswering, QuestionAnsweringConfig
from regard.tasks.spans.answer_spans import best_spans, places

BERT = {"kind": "bert", "layers": 2, "width": 24, "heads": 2, "dropout": 0.0, "position": {"max_length": 40}}
GPT = {"kind": "gpt", "layers": 2, "width": 24, "heads": 2, "dropout": 0.0}
NAMES = ["ada", "bob", "cleo", "dan", "eve", "fred", "gus", "hal", "ida", "joe", "kim", "liz"]
THINGS = ["cat", "dog", "hat", "cup", "key", "map"]


def asked_about(number: int) -> QuestionExample:
    """Whose is it? Six sentences, of which one says it; every third question is about what nobody has."""
    names = [NAMES[(number + place) % 12] for place in range(5)]
    things = [THINGS[(number * 5 + place) % 6] for place in range(5)]
    context = " . ".join(f"{name}  has the {thing}" for name, thing in zip(names, things, strict=True))
    missing = next(thing for thing in THINGS if thing not in things)
    if number % 3 == 2:
        return QuestionExample(f"who has the {missing}", context, (), number, "made")
    answer = Reference(names[4], context.index(names[4]))
    return QuestionExample(f"who has the {things[4]}", context, (answer,), number, "made")


def task_over(
    examples: list[QuestionExample], tokenizer: Tokenizer | None = None, **settings: Any
) -> QuestionAnswering:
    corpus = Corpus({"train": tuple(examples)}, Ledger())
    made = tokenizer or WordTokenizer(min_frequency=1).train([text for one in examples for text in one.texts()])
    config = QuestionAnsweringConfig(**settings).resolved(corpus)
    return config.build(corpus, Modalities.of_text(Vocabularies(made, made)), 1)


def headed(task: QuestionAnswering, model: dict[str, Any]) -> Headed:
    body = build_model(parse(Recipe, {"model": model, "seed": 3}), task.ports())
    torch.manual_seed(5)
    made = Headed(body, task.head(body)).eval()
    with torch.no_grad():
        made.head.classes.weight.normal_(std=1.0)  # type: ignore[union-attr, operator]
    return made


def session(model: Headed) -> Session:
    return Session(model, torch.device("cpu"), Greedy())


@pytest.mark.parametrize("kind", [WordPieceTokenizer(vocabulary=120), BpeTokenizer(vocabulary=500)], ids=["wp", "bpe"])
def test_the_labels_of_windows_spell_the_answers(kind: Any) -> None:
    sizes = {"train_size": 60, "validation_size": 1, "test_size": 0, "compositional_size": 0}
    own = list(WorldQuestions(**sizes).load(1, Ledger()).splits["train"])
    tokenizer = kind.train([text for one in own for text in one.texts()])
    task = task_over(own, tokenizer, max_length=36, stride=5, max_question_length=14)
    held = [0] * len(own)
    for one in task.examples("train", 0):
        if one.start >= 0:
            held[one.number] += 1
            start, stop = one.context.characters(one.start, one.last)
            assert own[one.number].context[start:stop] == own[one.number].answers[0].text
            assert one.first <= one.start <= one.last < one.first + one.size
    room = 36 - 14 - 3
    short = [len(tokenizer.encode(one.answers[0].text)) <= room - 5 for one in own]
    assert all(times >= 1 for times, fits in zip(held, short, strict=True) if fits)
    assert max(held) > 1
    assert len(task.examples("train", 0)) > len(own), "some contexts must be longer than a window"


def test_windows_overlap_and_cover_the_context() -> None:
    (one,) = [asked_about(0)]
    task = task_over([one], max_length=16, stride=3, max_question_length=4)
    windows = task.examples("train", 0)
    size = len(windows[0].context.ids_S)
    room = 16 - 3 - 4
    assert [window.first for window in windows] == list(range(0, size - room + 3, 3))[: len(windows)]
    assert windows[-1].first + windows[-1].size == size
    covered = {place for window in windows for place in range(window.first, window.first + window.size)}
    assert covered == set(range(size))
    assert all(task.frame.length(window) <= 16 for window in windows)
    assert task.corpus.ledger.notes == [
        f"train: 1 questions have contexts longer than a window, {len(windows)} windows in all"
    ]


def test_a_long_question_is_cut_and_listed_and_no_room_is_refused() -> None:
    task = task_over([asked_about(1)], max_question_length=3)
    (cut,) = task.corpus.ledger.exceptions
    assert (cut.what, cut.line, cut.detail) == ("truncated", 1, "1 tokens were cut")
    with pytest.warns(UserWarning, match="1 of 2 questions are longer than task.max_question_length = 3 tokens"):
        task.encode([QuestionExample("who has it", "ada"), QuestionExample("who has it now", "ada")])
    with pytest.raises(OptionError, match=r"task.max_length = 8 leaves no room for a context beside a question of 5"):
        task_over([QuestionExample("one two three four five", "six seven", (), 1, "x")], max_length=8)


@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_the_best_span_is_the_best_of_all_spans_of_all_windows(model: dict[str, Any]) -> None:
    """Against a search that tries every start and every end, one window at a time."""
    own = [asked_about(number) for number in range(4)]
    task = task_over(own, max_length=24, stride=7, max_answer_length=4, unanswerable="no")
    made = headed(task, model)
    found = task.answer(session(made), [(one.question, one.context) for one in own], n_best=3)
    windows = task.encode(own)
    for number, answers in enumerate(found):
        tried: dict[tuple[int, int], float] = {}
        for one in (window for window in windows if window.number == number):
            with torch.no_grad():
                starts_1S, lasts_1S, _ = places(made, task.collate([one]))
            for start in range(one.size):
                for last in range(start, min(start + 4, one.size)):
                    before = task.frame.before(one.question)
                    score = float(starts_1S[0, before + start] + lasts_1S[0, before + last])
                    place = one.context.characters(one.first + start, one.first + last)
                    tried[place] = max(score, tried.get(place, -1e9))
        best = sorted(tried.items(), key=lambda item: -item[1])[:3]
        assert [(one.start, one.stop) for one in answers] == [place for place, _ in best]
        assert [one.log_probability for one in answers] == pytest.approx([score for _, score in best], abs=1e-5)
        for one in answers:
            assert one.text == own[number].context[one.start : one.stop] == one.text.strip()
            assert 0 < one.probability <= 1


def test_a_span_ends_after_it_starts_and_is_no_longer_than_allowed() -> None:
    starts_BS = torch.tensor([[-9.0, -9.0, -9.0, -0.1, -1.0]])
    lasts_BS = torch.tensor([[-0.1, -0.2, -9.0, -3.0, -1.0]])
    context_BS = torch.tensor([[False, True, True, True, True]])
    ((score, start, last),) = best_spans(starts_BS, lasts_BS, context_BS, 2, 1)[0]
    assert (start, last, score) == (3, 4, pytest.approx(-1.1))
    ((_, start, last),) = best_spans(starts_BS, lasts_BS, context_BS, 1, 1)[0]
    assert (start, last) == (4, 4)


@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_sums_add_over_examples(model: dict[str, Any]) -> None:
    task = task_over([asked_about(number) for number in range(5)], max_length=24, stride=7)
    made, examples = headed(task, model), task.examples("train", 0)
    with torch.no_grad():
        whole = task.sums(made, task.collate(examples))
        parts = [task.sums(made, task.collate([one])) for one in examples]
    for name, total in whole.sums.items():
        assert float(total) == pytest.approx(sum(float(part.sums[name]) for part in parts), rel=1e-4)
        assert whole.counts[name] == len(examples)


@pytest.mark.parametrize("model", [BERT, GPT], ids=["bert", "gpt"])
def test_few_examples_in_windows_are_learned_with_and_without_answers(model: dict[str, Any], tmp_path: Path) -> None:
    """Through files, training and a run that is loaded again: all are right, also those without an answer."""
    own = [asked_about(number) for number in range(9)]
    rows = [{"question": one.question, "context": one.context, "answer": [one.target]} for one in own]
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = {
        "data": {"kind": "questions", "train": str(tmp_path / "train.jsonl"), "test": str(tmp_path / "test.jsonl"),
                 "validation_size": 0},
        "tokenizer": {"kind": "word", "min_frequency": 1},
        "model": model,
        "task": {"kind": "question-answering", "max_length": 28, "stride": 7, "max_answer_length": 3, "dropout": 0.0},
        "training": {"steps": 80, "batch_tokens": 2048, "threads": 1, "learning_rate": 1e-2, "validate_every": 999,
                     "schedule": {"kind": "linear", "warmup": 10}},
    }  # fmt: skip
    train(recipe, tmp_path / "run")
    run = load(tmp_path / "run")
    assert run.recipe.task.unanswerable == "yes"  # type: ignore[attr-defined]
    scores = evaluate(run)
    assert (scores["exact_match"], scores["f1"], scores["no_answer_accuracy"]) == (1.0, 1.0, 1.0)
    assert scores["windows"] > 9
    assert scores["errors"] == []
    texts = [one.source for one in own]
    assert run.predict(texts) == [one.target for one in own]
    (found,) = run.answers(texts[:1])[0]
    assert (found.text, found.start) == own[0].answers[0]  # type: ignore[attr-defined]
    assert found.score == pytest.approx(run.answers(texts)[0][0].score, abs=1e-5), "alone as in company"


def test_errors_name_question_and_context() -> None:
    own = [asked_about(0)]
    task = task_over(own, max_length=40, unanswerable="no")
    scores = task.score(session(headed(task, BERT)), "train")
    (error,) = scores["errors"]
    assert (error["question"], error["context"], error["answers"]) == (own[0].question, own[0].context, ["eve"])
    assert error["predicted"] in own[0].context
    assert scores["exact_match"] == 0.0


def test_what_is_no_question_is_refused() -> None:
    task = task_over([asked_about(0)], max_length=40)
    made = headed(task, BERT)
    with pytest.raises(DataError, match=r"missing in: input 1 \('who has it'\), input 3 .*\(--context\)"):
        task.predict(session(made), ["who has it", "who\tada has it", "who\t "])
    with pytest.raises(OptionError, match=r"the body reads 40 tokens, but task.max_length is 64; set task.max_leng"):
        headed(task_over([asked_about(0)], max_length=64), BERT)

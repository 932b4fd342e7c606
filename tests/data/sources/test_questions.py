"""Questions as files have them: SQuAD's JSON, tables, answers that stand elsewhere or nowhere, the small world's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.core.errors import DataError
from regard.data.examples import QuestionExample
from regard.data.ledger import Ledger
from regard.data.sources.files import Found
from regard.data.sources.questions import QuestionFiles, WorldQuestions

CONTEXT = "  Ada saw a cat. Bob saw a dog, and Ada left."


def read(path: Path, **settings: Any) -> tuple[list[QuestionExample], Ledger]:
    ledger = Ledger()
    part = QuestionFiles(train=str(path), **settings)
    found = part.read(Found(part.train[0], (path,)), "train", ledger)
    ledger.check()
    return found, ledger


def squad(path: Path, *asked: dict[str, Any]) -> Path:
    paragraphs = [{"context": CONTEXT, "qas": list(asked)}]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}, indent=1))
    return path


def answer(text: str, start: int) -> dict[str, Any]:
    return {"text": text, "answer_start": start}


def listed(ledger: Ledger) -> list[tuple[str, int, str, str]]:
    return [(one.what, one.line, one.reason, one.detail) for one in ledger.exceptions]


def test_squad_with_several_answers_and_none(tmp_path: Path) -> None:
    path = squad(
        tmp_path / "dev.json",
        {"question": "Who saw a dog?", "answers": [answer("Bob", 17), answer("Bob saw a dog", 17)]},
        {"question": "Who saw a bird?", "is_impossible": True, "answers": [], "plausible_answers": [answer("Ada", 2)]},
    )
    (dog, bird), ledger = read(path)
    assert [(text, dog.context[start : start + len(text)]) for text, start in dog.answers] == [
        ("Bob", "Bob"), ("Bob saw a dog", "Bob saw a dog"),
    ]  # fmt: skip
    assert (bird.answers, bird.target, bird.line) == ((), "", 2)
    assert dog.context == CONTEXT, "places are counted from the first sign, so not even spaces are taken away"
    assert not ledger.exceptions


def test_an_answer_at_a_wrong_place_is_moved_to_the_nearest_and_one_that_is_nowhere_is_skipped(tmp_path: Path) -> None:
    path = squad(
        tmp_path / "train.json",
        {"question": "Who left?", "answers": [answer("Ada", 34)]},
        {"question": "Who saw a bird?", "answers": [answer("Eve", 2)]},
        {"question": "Who?", "answers": [answer("Eve", 2), answer(" Bob ", 16)]},
    )
    (left, who), ledger = read(path)
    assert left.answers == (("Ada", CONTEXT.rindex("Ada")),)
    assert who.answers == (("Bob", CONTEXT.index("Bob")),)
    assert listed(ledger) == [
        ("corrected", 1, "an answer is not at the given position and was moved to where it is", "'Ada': 34 → 36"),
        ("skipped", 2, "an answer is not in its context", "'Eve'"),
        ("corrected", 3, "an answer is not in its context and was left out", "'Eve'"),
    ]
    assert (ledger.total("read"), ledger.total("kept")) == (3, 2)


def test_a_table_without_places_takes_the_first_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    rows = [("who saw a cat", "Ada"), ("who saw a dog", "Bob"), ("who slept", ""), ("", "Ada"), ("who", "bob")]
    path.write_text("question,context,answer\n" + "".join(f'{one},"{CONTEXT}",{other}\n' for one, other in rows))
    (cat, dog, slept), ledger = read(path)
    assert (cat.answers, dog.answers, slept.answers) == ((("Ada", 2),), (("Bob", 17),), ())
    assert listed(ledger) == [
        ("corrected", 2, "an answer without a position is in its context more than once; the first is used", "'Ada'"),
        ("skipped", 5, "no question", ""),
        ("skipped", 6, "an answer is not in its context", "'bob'"),
    ]


def test_places_in_a_table_are_used(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(f"q\tcontext\tanswer\tanswer_start\nwho left\t{CONTEXT}\tAda\t36\n")
    (left,), ledger = read(path, question="q")
    assert left.answers == (("Ada", 36),)
    assert not ledger.exceptions


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_json_lines_with_several_answers(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train{suffix}"
    cells: list[Any] = [["Bob", "a dog"], {"text": ["Ada"], "answer_start": [36]}, {"text": [], "answer_start": []}]
    lines = [json.dumps({"question": "what", "context": CONTEXT, "answer": cell}) for cell in cells]
    path.write_text("\n".join(lines) + "\n")
    found, _ = read(path)
    assert [one.answers for one in found] == [(("Bob", 17), ("a dog", 25)), (("Ada", 36),), ()]


def test_a_file_that_only_looks_like_squad_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": "a", "questions": []}]}]}))
    with pytest.raises(DataError, match=r"it is not as SQuAD's files are \(KeyError: 'qas'\); there must be data"):
        read(path)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("question,contxt,answer\na,b,b\n")
    with pytest.raises(DataError, match=r"has no column 'context' \(did you mean 'contxt'\?\)"):
        read(path)


def test_the_small_world_asks_about_its_sentences() -> None:
    corpus = WorldQuestions(train_size=150, validation_size=10, test_size=10, compositional_size=0).load(3, Ledger())
    own = corpus.splits["train"]
    assert len(own) > 150
    for one in own:
        ((text, start),) = one.answers
        assert one.context[start : start + len(text)] == text
    assert not {one.context for one in own} & {one.context for one in corpus.splits["test"]}

"""The page's data against the tensors, for every family; what is left out; what is refused."""

from __future__ import annotations

import base64
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.core.errors import DataError, OptionError
from regard.decoding.options import Beam
from regard.inspection.heads.reading import read
from regard.inspection.look import gathering, heads
from regard.inspection.look.gathering import Look, look
from regard.inspection.look.heads import Wanted
from regard.inspection.look.packing import FIRST
from regard.inspection.look.page import IDEA_SCRIPTS, LOOK_SCRIPTS, idea_page, look_page
from tests.inspection.loud_runs import ATTENTIVE, CLASSIFIER, OTHER, TAGGER, TEXT, headed_run, loud

HOSTILE = "</script><script>window.bad = 1</script><img src=x onerror='window.bad = 1'>"


def floats(found: Look, key: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(found.numbers[key]), "<f4")


def unpacked(found: Look, one: dict[str, Any], rows: int, columns: int, *, causal: bool) -> np.ndarray:
    """weights_TS as a browser reads them from the page."""
    codes = np.frombuffer(base64.b64decode(found.numbers[one["key"]]), "<u2").astype(float)
    values = np.where(codes < FIRST, 0.0, np.exp(one["scale"]["start"] + one["scale"]["step"] * (codes - FIRST)))
    weights_TS = np.zeros((rows, columns))
    weights_TS[np.tril_indices(rows) if causal else np.ones((rows, columns), bool).nonzero()] = values
    return weights_TS


@pytest.mark.parametrize("family", ATTENTIVE)
def test_the_page_holds_every_head_of_every_family(family: str) -> None:
    run = loud(family)
    found, exact = look(run, [TEXT]), read(run, TEXT)
    text = found.data["texts"][0]
    assert len(text["heads"]) == len(exact.heads)
    for one, expected in zip(text["heads"], exact.heads, strict=True):
        attention = text["attentions"][one["attention"]]
        assert (attention["name"], one["head"]) == (expected.name, expected.head)
        shape = len(expected.rows), len(expected.columns)
        weights_TS = unpacked(found, one, *shape, causal=attention["causal"])
        assert weights_TS == pytest.approx(np.array(expected.weights_TS), rel=5e-4, abs=1e-19)
    assert len(found.data["statistics"]) == len(exact.heads)
    page = look_page(found)
    assert json.loads(re.findall(r'id="look">(.*?)</script>', page)[0]) == json.loads(json.dumps(found.data))


@pytest.mark.parametrize("family", ["transformer", "llama", "bahdanau", "luong", "bert"])
def test_a_walk_leads_to_the_weights(family: str) -> None:
    found, exact = look(loud(family), [TEXT]), read(loud(family), TEXT)
    for one, expected in zip(found.data["texts"][0]["heads"], exact.heads, strict=True):
        numbers, parts = floats(found, f"{one['key']}.walk"), {}
        for name, shape in one["walk"]["shapes"].items():
            parts[name], numbers = numbers[: np.prod(shape)].reshape(shape), numbers[np.prod(shape) :]
        assert not len(numbers)
        scores_TS = parts["scores"] if "scores" in parts else parts["q"] @ parts["k"].T / one["walk"]["divisor"]
        if one["walk"]["mask"] == "causal":
            scores_TS = np.where(np.tri(len(scores_TS), dtype=bool), scores_TS, -np.inf)
        powers_TS = np.exp(scores_TS - scores_TS.max(1, keepdims=True))
        weights_TS = powers_TS / powers_TS.sum(1, keepdims=True)
        assert weights_TS == pytest.approx(np.array(expected.weights_TS), abs=1e-5)


def test_weights_that_are_no_softmax_have_no_walk() -> None:
    """A Gaussian takes its share of a predictive head's weights."""
    assert all("walk" not in one for one in look(loud("luong-predictive"), [TEXT]).data["texts"][0]["heads"])


def test_decoding_is_told_step_by_step() -> None:
    run = loud("transformer")
    text = look(run, [TEXT]).data["texts"][0]
    assert [one["chosen"] for one in text["steps"]] == text["predicts"]
    for step in text["steps"]:
        chances = [chance for _, chance in step["candidates"]]
        assert chances == sorted(chances, reverse=True)
        assert (step["rank"] == 1) == (step["candidates"][0][0] == step["chosen"])
    total = sum(np.log(step["probability"]) for step in text["steps"])
    assert total == pytest.approx(sum(run.score([TEXT], run.predict([TEXT]))[0]), abs=0.02)
    kept = [[one for one in step if one["place"] >= 0] for step in text["beam"]["steps"]]
    assert all(len(step) <= text["beam"]["size"] for step in kept)
    assert all(one["parent"] < len(before) for before, step in pairwise(kept) for one in step)


def test_a_language_model_is_let_write_on() -> None:
    text = look(loud("gpt"), [TEXT]).data["texts"][0]
    assert len(text["beam"]["answers"][0]["tokens"]) <= 10
    assert "chosen" not in text["steps"][-1]  # nobody knows what follows the end


def test_a_classifier_shows_its_heads_and_its_classes(tmp_path: Path) -> None:
    run = headed_run(tmp_path)
    text = look(run, ["ein Vogel singt"]).data["texts"][0]
    answers = {one.text: one.score for one in run.answers(["ein Vogel singt"])[0]}
    assert dict(text["classes"]) == pytest.approx(answers, abs=1e-4)
    assert set(answers) == {"glad", "sad"}
    assert len(text["heads"]) == 6
    assert text["steps"] == []
    with pytest.raises(OptionError, match="at most 24 tokens, and the text, including its special symbols, has"):
        look(run, ["ein Vogel singt " * 10])


def test_a_tagger_shows_the_tags_of_every_word(tmp_path: Path) -> None:
    run = headed_run(tmp_path, TAGGER)
    text = look(run, ["ein Vogel singt"]).data["texts"][0]
    words = run.task.tag(run.session(), ["ein Vogel singt"])[0].words
    assert [one["name"] for one in text["steps"]] == ["ein", "Vogel", "singt"]
    for step, word in zip(text["steps"], words, strict=True):
        assert step["candidates"][0] == pytest.approx([word.tag, word.probability], abs=1e-3)
        assert word.word.lower().startswith(text["tokens"][step["at"]])
    with pytest.raises(OptionError, match="at most 24 tokens"):
        look(run, ["ein Vogel singt " * 10])


def test_a_question_shows_its_answers_and_the_symbols_around_it(tmp_path: Path) -> None:
    lengths = {"max_length": 40, "max_question_length": 16, "stride": 8}
    task = {"kind": "question-answering", **lengths, "unanswerable": "yes"}
    run = headed_run(tmp_path, {**CLASSIFIER, "data": {"kind": "world-questions"}, "task": task})
    asked = "wer singt ?\tein Vogel singt"
    text = look(run, [asked]).data["texts"][0]
    answers = {one.text or "(no answer)": one.probability for one in run.answers([asked], Beam(size=8, n_best=8))[0]}
    assert dict(text["classes"]) == pytest.approx(answers, abs=1e-3)
    assert [text["tokens"][place] for place in (0, -1)] == ["[CLS]", "[SEP]"]
    assert text["tokens"].count("[SEP]") == 2
    with pytest.raises(OptionError, match="at most 40 tokens"):
        look(run, ["wer singt ?\t" + "ein Vogel singt " * 20])
    with pytest.raises(DataError, match="put a tab between them"):
        look(run, ["ein Vogel singt"])


def test_what_gives_vectors_is_looked_into(tmp_path: Path) -> None:
    task = {"kind": "embedding", "max_length": 24}
    run = headed_run(tmp_path, {**CLASSIFIER, "data": {"kind": "small-world"}, "task": task})
    text = look(run, ["ein Vogel singt"]).data["texts"][0]
    assert len(text["heads"]) == 6
    assert (text["steps"], text["classes"], text["depths"]) == ([], [], None)


def test_what_does_not_fit_is_said_with_the_command_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "FULL_BYTES", 1500)
    found = look(loud("gpt"), [TEXT])
    shown = [one for one in found.data["texts"][0]["heads"] if "key" in one]
    assert 0 < len(shown) < 8
    assert all(one["picture"]["bytes"] for one in found.data["texts"][0]["heads"])
    assert {one["attention"] for one in shown} == {0, 1}  # some of every layer
    (sentence,) = found.left_out
    assert sentence.startswith(f"{len(shown)} of 8 heads are here in full")
    assert re.search(r"regard look \S+ 'der Hund singt' --layers 1 --heads 0,1$", sentence)


def test_chosen_heads_are_shown_in_full() -> None:
    text = look(loud("gpt"), [TEXT], wanted=Wanted((1,), (0, 3))).data["texts"][0]
    assert [(one["attention"], one["head"]) for one in text["heads"] if "key" in one] == [(1, 0), (1, 3)]


def test_unknown_heads_and_layers_are_all_named() -> None:
    with pytest.raises(OptionError, match=r"(?s)layer 7 \(there are 0 to 1\).*head 4 \(there are 0 to 3\)"):
        look(loud("gpt"), [TEXT], wanted=Wanted((0, 7), (4,)))


@pytest.mark.parametrize("family", ["fixed-context", "recurrent"])
def test_a_run_without_attention_is_refused(family: str) -> None:
    with pytest.raises(OptionError, match="has no attention, so there is nothing of it to see; name the run"):
        look(loud(family), [TEXT])


def test_a_text_beyond_the_model_is_refused() -> None:
    with pytest.raises(OptionError, match=r"at most 48 tokens, and the text has \d+; shorten it or split it"):
        look(loud("gpt"), [TEXT * 9])


def test_two_texts_share_a_page() -> None:
    found = look(loud("transformer"), [TEXT, OTHER], ["a dog", "the cat"])
    assert [one["text"] for one in found.data["texts"]] == [TEXT, OTHER]
    assert found.data["texts"][1]["predicts"][0] == "t"
    assert len(found.numbers) == len(set(found.numbers))


def test_markup_cannot_leave_the_data() -> None:
    found = look(loud("gpt"), [TEXT])
    found.data["texts"][0]["tokens"] = [HOSTILE] * len(found.data["texts"][0]["tokens"])
    found.data["run"]["name"] = HOSTILE
    page = look_page(found)
    plain = look_page(look(loud("gpt"), [TEXT]))
    assert page.count("<script") == plain.count("<script")
    assert "<img" not in page


def test_a_page_is_one_file() -> None:
    for page in (idea_page(), look_page(look(loud("gpt"), [TEXT]))):
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
        assert not re.findall(r"<(link|img|iframe)|\bsrc=|@import|url\(", page)


def test_every_script_of_the_folder_is_on_a_page() -> None:
    folder = Path(gathering.__file__).parent / "assets"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.js")} == {*LOOK_SCRIPTS, *IDEA_SCRIPTS}

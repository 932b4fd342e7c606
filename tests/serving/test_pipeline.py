"""Pipelines: arguments in and answers out have the shapes that users of Hugging Face's version 4 know."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.core.errors import DataError, InputError, OptionError, RecipeError
from regard.data.examples import QuestionExample
from regard.runs.evaluate import evaluate
from regard.runs.train import train
from regard.serving import sentiment
from tests.inspection.picture_runs import picture_run, pictures

BERT = {"kind": "bert", "layers": 1, "width": 16, "heads": 2, "position": {"max_length": 40}}
QUICK = {"steps": 2, "batch_tokens": 256, "threads": 1}
WORLD = {"train_size": 100, "validation_size": 10, "test_size": 10}
PIECES = {"kind": "wordpiece", "vocabulary": 300}


def made(folder: Path, data: str, model: dict[str, Any], tokenizer: dict[str, Any], **task: Any) -> Path:
    parts = {"data": {"kind": data, **WORLD}, "model": model, "tokenizer": tokenizer, "task": task}
    train({**parts, "training": QUICK}, folder)
    return folder


@pytest.fixture(scope="module")
def moods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("p") / "mood"
    return made(folder, "world-moods", BERT, PIECES, kind="classification", max_length=24)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = {"kind": "masked-language-model", "max_length": 24, "documents": "apart"}
    return made(tmp_path_factory.mktemp("p") / "bert", "world-english", BERT, PIECES, **task)


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = {"kind": "gpt", "layers": 1, "width": 16, "heads": 2, "position": {"max_length": 40}}
    task = {"kind": "language-model", "max_length": 24, "sample": 0}
    return made(tmp_path_factory.mktemp("p") / "gpt", "world-english", model, {"kind": "word"}, **task)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = {"kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2}
    return made(tmp_path_factory.mktemp("p") / "fr", "small-world", model, {"kind": "word"}, kind="translation")


def is_label(found: Any) -> bool:
    return set(found) == {"label", "score"} and isinstance(found["label"], str) and 0 <= found["score"] <= 1


def test_classification_has_their_shapes(moods: Path) -> None:
    pipe = regard.pipeline("sentiment-analysis", model=moods)
    (alone,) = pipe("the cat sleeps")
    assert is_label(alone)
    several = pipe(["the cat sleeps", "the dog was happy"])
    assert several[0] == pytest.approx(alone)
    assert all(map(is_label, several))
    assert len(pipe("the cat sleeps", top_k=2)) == 2
    every = pipe("the cat sleeps", top_k=None)
    assert sum(one["score"] for one in every) == pytest.approx(1)
    assert pipe(["the cat sleeps"], top_k=None) == [every]
    assert regard.pipeline("text-classification", moods, top_k=None)("the cat sleeps") == every
    assert is_label(pipe({"text": "the cat sleeps", "text_pair": "the dog sleeps"}))


def test_classes_can_be_told_by_themselves_or_as_logits(moods: Path) -> None:
    pipe = regard.pipeline("text-classification", model=moods, top_k=None)
    told = {kind: {one["label"]: one["score"] for one in pipe("the cat sleeps", function_to_apply=kind)}
            for kind in ("default", "softmax", "sigmoid", "none")}  # fmt: skip
    labels = sorted(told["none"])
    logits = torch.tensor([told["none"][label] for label in labels], dtype=torch.float64)
    assert told["default"] == told["softmax"]
    assert [told["softmax"][label] for label in labels] == pytest.approx(logits.softmax(-1).tolist())
    assert [told["sigmoid"][label] for label in labels] == pytest.approx(logits.sigmoid().tolist())
    with pytest.raises(OptionError, match=r"no function_to_apply 'sigmoit' \(did you mean 'sigmoid'\?\)"):
        pipe("the cat sleeps", function_to_apply="sigmoit")


def test_a_generator_is_answered_as_it_comes(moods: Path) -> None:
    pipe = regard.pipeline("text-classification", model=moods)
    texts = [f"the cat {'sleeps ' * n}" for n in range(1, 8)]
    taken = []

    def source() -> Iterator[str]:
        for text in texts:
            taken.append(text)
            yield text

    found = pipe(source(), batch_size=3)
    assert taken == []
    first = next(iter(found))
    assert len(taken) == 3
    together = pipe(texts)
    assert [first, *found] == [pytest.approx(one) for one in together]


def test_masks_are_filled_in_their_shape(masked: Path) -> None:
    pipe = regard.pipeline("fill-mask", model=masked, top_k=3)
    found = pipe("the [MASK] sleeps")
    assert [set(one) for one in found] == [{"score", "token", "token_str", "sequence"}] * 3
    assert found[0]["sequence"] == f"the {found[0]['token_str']} sleeps"
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    two = pipe("the [MASK] [MASK]")
    assert [len(own) for own in two] == [3, 3]
    assert two[0][0]["sequence"].endswith("[MASK]") or "[MASK]" not in two[0][0]["sequence"]
    assert [len(own) for own in pipe(["the [MASK]", "a [MASK]"])] == [3, 3]
    with pytest.raises(InputError, match="nothing to guess"):
        pipe("the cat sleeps")


def test_only_the_words_that_are_named_are_ranked(masked: Path) -> None:
    pipe = regard.pipeline("fill-mask", model=masked)
    every = {one["token_str"]: one["score"] for one in pipe("the [MASK] sleeps", top_k=10_000)}
    tokens = regard.load(masked).vocabularies.target.encode
    words = [word for word in every if len(tokens(word)) == 1][-2:]
    found = pipe("the [MASK] sleeps", targets=words)
    assert {one["token_str"]: one["score"] for one in found} == pytest.approx({word: every[word] for word in words})
    assert found[0]["score"] >= found[1]["score"]
    assert [one["token_str"] for one in pipe("the [MASK] sleeps", targets=words[0])] == words[:1]
    with pytest.warns(UserWarning, match="the target 'thethe' is not a single piece; its first, 'the', is used"):
        assert pipe("the [MASK] sleeps", targets=["thethe"])[0]["token_str"] == "the"
    with pytest.raises(OptionError, match="words that the model may know; found '猫'"):
        pipe("the [MASK] sleeps", targets=[words[0], "猫"])
    with pytest.raises(OptionError, match="found none"):
        pipe("the [MASK] sleeps", targets=[])


def test_features_are_states_of_every_token(masked: Path) -> None:
    pipe = regard.pipeline("feature-extraction", model=masked)
    run = regard.load(masked)
    tokens = len(run.vocabularies.source.encode("the cat sleeps")) + 2
    found = pipe("the cat sleeps")
    assert (len(found), len(found[0]), len(found[0][0])) == (1, tokens, 16)
    tensor = pipe(["a dog", "the cat sleeps"], return_tensors=True)[1]
    torch.testing.assert_close(tensor, torch.tensor(found), atol=1e-5, rtol=1e-4)
    with pytest.warns(UserWarning, match="1 of 2 texts are longer than the 40 tokens"):
        cut = pipe(["a dog", "the cat sleeps " * 30])
    assert len(cut[1][0]) == 40


def test_writing_has_their_arguments(writer: Path) -> None:
    pipe = regard.pipeline("text-generation", model=writer)
    (alone,) = pipe("the cat", max_new_tokens=5)
    assert alone["generated_text"].startswith("the cat")
    (bare,) = pipe("the cat", max_new_tokens=5, return_full_text=False)
    assert alone["generated_text"] == "the cat" + bare["generated_text"]
    several = pipe(["the cat", "a dog"], do_sample=True, num_return_sequences=3, max_new_tokens=4, seed=5)
    assert [len(own) for own in several] == [3, 3]
    assert several == pipe(["the cat", "a dog"], do_sample=True, num_return_sequences=3, max_new_tokens=4, seed=5)
    with pytest.raises(OptionError, match="greedy writing gives one answer"):
        pipe("the cat", num_return_sequences=2)


def test_the_length_of_a_text_counts_its_prompt(writer: Path) -> None:
    pipe = regard.pipeline("text-generation", model=writer, return_full_text=False)
    prompts = ["the cat", "a dog and a cat", "the old dog"]
    ((first,), (second,), (third,)) = pipe(prompts, max_length=7)
    assert [first] == pipe("the cat", max_new_tokens=5)
    assert [second] == pipe("a dog and a cat", max_new_tokens=2)
    assert [third] == pipe("the old dog", max_new_tokens=4)
    assert [first] == pipe("the cat", max_length=30, max_new_tokens=5)
    with pytest.raises(OptionError, match=r"max_length = 4 counts the prompt too.*2 \(5\); raise it"):
        pipe(prompts, max_length=4)


def test_translation_has_their_shapes(translator: Path) -> None:
    pipe = regard.pipeline("translation_en_to_fr", model=translator)
    (alone,) = pipe("the cat sleeps")
    assert set(alone) == {"translation_text"}
    assert pipe(["the cat sleeps"]) == [alone]
    assert pipe([]) == []


def test_what_does_not_fit_is_refused(moods: Path, translator: Path) -> None:
    with pytest.raises(OptionError, match=r"no pipeline 'sentiment' \(did you mean 'sentiment-analysis'\?\)"):
        regard.pipeline("sentiment", model=moods)
    named = r"was trained for translation, and the pipeline 'text-classification' needs a run of task.kind = "
    with pytest.raises(OptionError, match=rf"{named}'classification'; use regard\.pipeline\('tra"):
        regard.pipeline("sentiment-analysis", model=translator)
    with pytest.raises(OptionError, match=r"needs a run of task.kind = 'translation'; .*regard\.pipeline\('text-class"):
        regard.pipeline("translation", model=moods)
    with pytest.raises(OptionError, match=r"no option 'topk' \(did you mean 'top_k'\?\)"):
        regard.pipeline("sentiment-analysis", model=moods, topk=3)
    with pytest.raises(OptionError, match="takes texts; input 2 is int"):
        regard.pipeline("translation", model=translator)(["a", 3])


def test_without_a_model_one_is_trained_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from regard.runs import recipe

    monkeypatch.setattr("regard.serving.sentiment.REVIEWS", "no_such_package")  # as where the extra is not installed
    small = tmp_path / "mood.toml"
    text = recipe.find("mood").read_text().replace("steps = 3000", "steps = 2").replace("train = 60000", "train = 200")
    small.write_text(text)
    monkeypatch.setattr(recipe, "recipes", lambda: {"mood": small})
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("regard.cli.pipeline.is_installed", lambda: False)  # the tests' environment has the extra
    first = regard.pipeline("sentiment-analysis")("the cat sleeps")
    said = capfd.readouterr().err
    told = " ".join(said.split())
    assert "a small one is trained now on the small world (recipe mood), whose few hundred words are all" in told
    assert 'for real English: pip install "regard[sentiment]"' in told
    assert regard.pipeline("sentiment-analysis")("the cat sleeps") == first
    assert "trained" not in capfd.readouterr().err


def test_with_its_extra_the_default_model_of_sentiment_knows_real_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of fewer and shorter reviews than usual, so that it takes seconds."""
    few = {"data": {**sentiment.TABLES["data"], "some": 200}, "task": {**sentiment.TABLES["task"], "max_length": 32}}
    monkeypatch.setattr(sentiment, "TABLES", {**sentiment.TABLES, **few})
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    mood = regard.pipeline("sentiment-analysis")
    assert "MiniLM gets a head from 6,000 film reviews now" in " ".join(capfd.readouterr().err.split())
    assert {one["label"] for one in mood(["A wonderful film.", "A dull, stupid film."])} <= {"POSITIVE", "NEGATIVE"}
    assert evaluate(mood.run, yardsticks=False)["accuracy"] > 0.6


def test_tags_have_their_shapes(tmp_path: Path) -> None:
    train({"data": {"kind": "world-tags", **WORLD, "compositional_size": 0}, "model": BERT, "tokenizer": PIECES,
           "task": {"kind": "tagging", "max_length": 24}, "training": QUICK}, tmp_path / "tags")  # fmt: skip
    pipe = regard.pipeline("token-classification", model=tmp_path / "tags")
    words = pipe("the  cat sleeps")
    assert [set(one) for one in words] == [{"entity", "score", "index", "word", "start", "end"}] * 3
    assert [(one["index"], one["word"], one["start"], one["end"]) for one in words] == [
        (1, "the", 0, 3), (2, "cat", 5, 8), (3, "sleeps", 9, 15),
    ]  # fmt: skip
    grouped = pipe(["the cat sleeps", "a dog"], aggregation_strategy="simple")
    for text, own in zip(["the cat sleeps", "a dog"], grouped, strict=True):
        assert " ".join(one["word"] for one in own) == text
        assert all(set(one) == {"entity_group", "score", "word", "start", "end"} for one in own)
        assert all(before["entity_group"] != after["entity_group"] for before, after in itertools.pairwise(own))
    assert pipe("the cat sleeps", grouped_entities=True) == grouped[0]
    some = words[0]["entity"]
    assert all(one["entity"] != some for one in pipe("the  cat sleeps", ignore_labels=[some]))
    with pytest.raises(OptionError, match=r"no aggregation_strategy 'simpel' \(did you mean 'simple'\?\)"):
        pipe("a", aggregation_strategy="simpel")


def test_questions_have_their_shapes(tmp_path: Path) -> None:
    train({"data": {"kind": "world-questions", **WORLD, "compositional_size": 0}, "model": BERT, "tokenizer": PIECES,
           "task": {"kind": "question-answering", "max_length": 40, "stride": 8}, "training": QUICK},
          tmp_path / "qa")  # fmt: skip
    pipe = regard.pipeline("question-answering", model=tmp_path / "qa")
    context = "the old cat saw the dog"
    alone = pipe(question="who saw the dog", context=context)
    assert set(alone) == {"score", "start", "end", "answer"}
    assert alone["answer"] == context[alone["start"] : alone["end"]]
    assert pipe({"question": "who saw the dog", "context": context}) == alone
    both = pipe(question=["who saw the dog", "what did the cat see"], context=context)
    assert both[0] == pytest.approx(alone)
    assert len(pipe(question="who saw the dog", context=context, top_k=3)) == 3
    with pytest.raises(OptionError, match="give both question= and context="):
        pipe(question="who")
    with pytest.raises(OptionError, match="1 questions against 2 contexts"):
        pipe(question=["who"], context=["a", "b"])
    with pytest.raises(OptionError, match="input 1 is no"):
        pipe(["who"])


def test_the_limits_of_a_call_are_kept(tmp_path: Path) -> None:
    train({"data": {"kind": "world-questions", **WORLD, "compositional_size": 0}, "model": BERT, "tokenizer": PIECES,
           "task": {"kind": "question-answering", "max_length": 40, "stride": 8}, "training": QUICK},
          tmp_path / "qa")  # fmt: skip
    pipe = regard.pipeline("question-answering", model=tmp_path / "qa")
    asked = {"question": "who saw the dog", "context": "the old cat saw the dog " * 6}
    tokens = pipe.run.vocabularies.target.encode
    for longest in (1, 3):
        found = pipe(asked, max_answer_len=longest, top_k=50)
        assert max(len(tokens(one["answer"])) for one in found) == longest
    words = {"max_answer_len": 1, "top_k": 1000}  # all that there are
    assert sum(not one["answer"] for one in pipe(asked, handle_impossible_answer=True, **words)) == 1
    assert all(one["answer"] for one in pipe(asked, handle_impossible_answer=False, **words))
    narrow = pipe.limited({**pipe.known, "max_seq_len": 20, "doc_stride": 6})
    windows = narrow.encode([QuestionExample(**asked)])
    assert all(narrow.frame.length(one) <= 20 for one in windows)
    assert {before.first + before.size - after.first for before, after in itertools.pairwise(windows)} == {6}
    pipe(asked, max_seq_len=20, doc_stride=6)
    for wrong in (39, -3):
        with pytest.raises(OptionError, match=f"cannot have {wrong} in common"):
            pipe(asked, doc_stride=wrong)
    with pytest.raises(OptionError, match="40"):
        pipe(asked, max_seq_len=400)
    with pytest.raises(RecipeError, match="max_answer_length"):
        pipe(asked, max_answer_len=0)


def test_pictures_are_classified_as_there() -> None:
    """A path, one of Pillow's or an array; alone a list of labels, of several a list of such lists."""
    path = pictures()[0]
    pipe = regard.pipeline("image-classification", model=picture_run().folder.path)
    alone = pipe(str(path))
    assert all(map(is_label, alone))
    assert [one["score"] for one in alone] == sorted((one["score"] for one in alone), reverse=True)
    assert sum(one["score"] for one in alone) == pytest.approx(1.0)
    assert len(pipe(path, top_k=2)) == 2
    with Image.open(path) as opened:
        opened.load()
        pixels = np.asarray(opened)
        several = pipe([str(path), path, opened, pixels, *pictures()[1:]], top_k=1)
    assert [own[0]["label"] for own in several[:4]] == [alone[0]["label"]] * 4
    assert [own[0]["score"] for own in several] == pytest.approx(
        [one[0].score for one in picture_run().answers([path] * 4 + list(pictures()[1:]))], abs=1e-6
    )
    assert pipe(pixels) == alone
    streamed = list(pipe(iter([path, path]), top_k=1))  # together, in another order of summation
    assert [own[0]["score"] for own in streamed] == pytest.approx([alone[0]["score"]] * 2, abs=1e-6)
    assert pipe([]) == []
    logits = pipe(path, function_to_apply="none")
    assert logits[0]["label"] == alone[0]["label"]
    assert regard.pipeline("image-classification", picture_run(), top_k=1)(path) == [alone[0]]


def test_what_is_no_picture_is_refused_with_a_word(tmp_path: Path) -> None:
    pipe = regard.pipeline("image-classification", model=picture_run())
    (tmp_path / "cut.png").write_bytes(pictures()[0].read_bytes()[:50])
    for wrong, words in (
        ("nowhere.png", "there is no file 'nowhere.png'"), (tmp_path / "cut.png", "is not a readable picture"),
        (np.zeros((3, 3)), "is not a picture; bytes of rows × columns are expected"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=words):
            pipe(wrong)
    with pytest.raises(OptionError, match="is an address, and nothing is fetched; save the picture"):
        pipe("https://example.org/cat.png")
    with pytest.raises(OptionError, match="takes a path, a picture of Pillow's or an array; input 2 is int"):
        pipe([pictures()[0], 7])
    with pytest.raises(OptionError, match="no small model for the pipeline 'image-classification'; name a run"):
        regard.pipeline("image-classification")


@pytest.mark.parametrize("task", ["text-classification", "fill-mask", "feature-extraction", "translation"])
def test_a_picture_run_answers_no_texts(task: str) -> None:
    remedy = r"reads pictures, .* use regard\.pipeline\('image-classification', model='"
    with pytest.raises(OptionError, match=remedy):
        regard.pipeline(task, model=picture_run())


def test_a_text_run_answers_no_pictures(moods: Path) -> None:
    remedy = r"reads texts, .* use regard\.pipeline\('text-classification', model='"
    with pytest.raises(OptionError, match=remedy):
        regard.pipeline("image-classification", model=moods)
    with pytest.raises(OptionError, match="takes texts; input 1 is none"):
        regard.pipeline("text-classification", model=moods)([Image.new("RGB", (4, 4))])

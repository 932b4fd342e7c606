"""CTranslate2 as an engine: our answers, limits, order and stops; from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.cli.main import main
from regard.core.errors import OptionError
from regard.core.seams import Hypothesis
from regard.decoding.options import Beam, Greedy, Sampling
from regard.interop.checking import check
from regard.interop.ctranslate2 import conversion as ctranslate2
from regard.interop.ctranslate2.engine import Ctranslate2Engine, engine_of
from regard.runs.load import Run
from tests.interop import untrained
from tests.interop.untrained import SOURCES


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has learned to end some of its answers, and meets its limit with others."""
    folder = tmp_path_factory.mktemp("fast") / "translator"
    tree = {
        "data": {"kind": "toy", "problem": "copy", "symbols": 6,
                 "train_size": 600, "validation_size": 3, "test_size": 20},
        "tokenizer": {"kind": "word", "min_frequency": 1}, "task": {"label_smoothing": 0.0},
        "model": {"width": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "norm": "pre", "dropout": 0.0,
                  "feed_forward": {"width": 64}},
        "training": {"steps": 60, "batch_tokens": 1024, "learning_rate": 4e-3, "validate_every": 60,
                     "optimizer": {"kind": "muon"}, "schedule": {"kind": "cosine", "warmup": 10}},
    }  # fmt: skip
    regard.train(tree, folder)
    return folder


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nonsense, but never the same."""
    folder = tmp_path_factory.mktemp("writing") / "run"
    untrained.writer(folder, {"position": {"kind": "learned", "max_length": 32}})
    return folder


def tokens(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[one.tokens for one in own] for own in found]


def sources(run: Run, texts: list[str]) -> list[list[int]]:
    return run.vocabularies.source.encode_batch(texts)


TEXTS = ["a b c", "f", "c b a d e f a b c d", "e e", "b d f a c e b", "a f a f a f a f a f"]


@pytest.mark.parametrize("options", [Greedy(), Greedy(max_length=4), Beam(size=4, length_penalty=0.0)], ids=str)
def test_the_same_answers_as_torch(translator: Path, options: Any) -> None:
    run = regard.load(translator)
    engine, asked = engine_of(run), sources(run, TEXTS)
    ours, theirs = run.engine.predict(asked, options), engine.predict(asked, options)
    assert tokens(ours) == tokens(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine[0].finished == other[0].finished
        assert mine[0].log_probability == pytest.approx(other[0].log_probability, abs=5e-3)
        assert mine[0].score == pytest.approx(other[0].score, abs=5e-3)


def test_a_beam_is_ranked_by_our_penalty(translator: Path) -> None:
    run = regard.load(translator)
    asked, options = sources(run, TEXTS), Beam(size=5, length_penalty=1.4, n_best=3, stop="full")
    for source, one in zip(asked, engine_of(run).predict(asked, options), strict=True):
        assert len(one) == 3
        for answer in one:
            length = len(answer.tokens) + answer.finished
            assert answer.score == pytest.approx(answer.log_probability / ((5 + length) / 6) ** 1.4)
        finished = [answer.score for answer in one if answer.finished]
        assert finished == sorted(finished, reverse=True)
        for answer in one:
            (given,) = run.engine.score([source], [answer.tokens])
            own = given if answer.finished else given[:-1]
            assert answer.log_probability == pytest.approx(sum(own), abs=5e-3), "theirs, with the penalty undone"


@pytest.mark.parametrize("options", [Greedy(), Beam(size=3)], ids=str)
def test_limits_are_each_inputs_own(tmp_path: Path, options: Any) -> None:
    """An untrained model never ends by itself: every answer is as long as it may be."""
    run = untrained.translator(tmp_path / "run", {"position": {"kind": "learned", "max_length": 60}})
    engine, asked = engine_of(run), sources(run, [*SOURCES])
    together, told = engine.predict(asked, options, progress=lambda *counts: None), []
    for one, found in zip(asked, together, strict=True):
        assert len(found[0].tokens) + found[0].finished <= min(2 * len(one) + 10, 60)
    assert {len(found[0].tokens) for found in together} > {18}, "the shortest is cut, the others go on"
    assert tokens(together) == [tokens(engine.predict([one], options))[0] for one in asked]
    engine.predict(asked, options, progress=lambda *counts: told.append(counts))
    assert told[-1] == (len(asked), len(asked))


def test_order_is_kept_and_many_inputs_share_the_threads(translator: Path) -> None:
    run = regard.load(translator)
    engine = engine_of(run)
    texts = [" ".join("abcdef"[place % 6] for _ in range(1 + place % 9)) for place in range(70)]
    found = run.with_engine(engine).predict(texts, Greedy())
    assert found == run.predict(texts, Greedy())
    assert engine.predict([], Greedy()) == []


def test_the_threads_stay_what_they_were(translator: Path) -> None:
    """The library sets OpenMP's number when it loads a model; torch, and the next batches, would be slower for it."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        run = regard.load(translator)
        engine, asked = engine_of(run), sources(run, TEXTS * 10)
        for _ in range(2):
            engine.predict(asked, Greedy())
            assert torch.get_num_threads() == 2
            assert list(engine._models) == [2]
    finally:
        torch.set_num_threads(before)


def test_sampling_follows_its_seed_and_its_limits(translator: Path) -> None:
    run = regard.load(translator)
    engine, asked = engine_of(run), sources(run, TEXTS)
    options = Sampling(n_best=3, temperature=2.0, top_k=5, seed=3)
    found = engine.predict(asked, options)
    assert found == engine.predict(asked, options)
    assert found != engine.predict(asked, options.model_copy(update={"seed": 4}))
    numbers = range(len(asked))
    assert found == engine.predict(asked, options, numbers=numbers)
    assert found != engine.predict(asked, options, numbers=[number + 7 for number in numbers]), "another part of a file"
    assert all(len(own) == 3 for own in found)
    frozen = Sampling(temperature=0.001, top_p=0.9)
    assert tokens(engine.predict(asked, frozen)) == tokens(engine.predict(asked, Greedy()))
    whole = [(one, answer) for one, own in zip(asked, found) for answer in own if answer.finished]
    given = run.engine.score([one for one, _ in whole], [answer.tokens for _, answer in whole])
    assert [answer.log_probability for _, answer in whole] == pytest.approx([sum(one) for one in given], abs=0.02)


def test_eight_bits_are_close_but_not_the_same(translator: Path) -> None:
    run = regard.load(translator)
    asked, before = sources(run, TEXTS), {name: weight.clone() for name, weight in run.model.state_dict().items()}
    fast = engine_of(run, "int8")
    assert all(weight.equal(before[name]) for name, weight in run.model.state_dict().items()), "ours stay as they are"
    answers = [own[0].tokens for own in run.engine.predict(asked, Greedy())]
    both = zip(run.engine.score(asked, answers), fast.score(asked, answers), strict=True)
    differences = [abs(ours - theirs) for pair in both for ours, theirs in zip(*pair, strict=True)]
    assert 1e-4 < max(differences) < 0.3
    assert sum(differences) / len(differences) < 0.05
    held = [folder / "model.bin" for folder in (engine_of(run).folder, fast.folder)]
    assert held[1].stat().st_size < held[0].stat().st_size


def test_what_it_cannot_do_is_refused(translator: Path) -> None:
    engine = engine_of(regard.load(translator))
    with pytest.raises(OptionError, match=r"min_p = 0\.1 and repetition_penalty = 1\.3; use --engine torch"):
        engine.predict([[5]], Sampling(min_p=0.1, repetition_penalty=1.3))
    with pytest.raises(OptionError, match="--engine torch"):
        engine.predict([[5]], Greedy(), prompts=[[4]])


def test_texts_are_written_on_as_by_torch(writer: Path) -> None:
    """Prompts of different lengths together, further than the context reaches, up to a stop string, as a stream."""
    run = regard.load(writer)
    fast, prompts = run.with_engine(engine_of(run)), ["the", "a bird sang to", "c"]
    for options in (Greedy(max_length=20), Greedy(max_length=80), Beam(size=3, max_length=8, length_penalty=0.0)):
        assert fast.predict(prompts, options) == run.predict(prompts, options)
    ours, theirs = (one.continuation.predict(prompts, Greedy(max_length=60), stop=["ff", "lc"]) for one in (run, fast))
    assert [own[0].text for own in ours] == [own[0].text for own in theirs]
    assert {len(own[0].text) for own in theirs} != {60}, "some met their stop"
    heard: list[str] = []
    whole = fast.continuation.predict(["the"], Greedy(max_length=40), stream=heard.append)[0][0].text
    assert len(heard) > 5
    assert "".join(heard) == whole


def test_several_samples_each_end_at_their_stop(writer: Path) -> None:
    fast = regard.load(writer)
    fast = fast.with_engine(engine_of(fast))
    (found,) = fast.continuation.predict(["the"], Sampling(n_best=4, max_length=25, temperature=1.5), stop=["a"])
    assert len(found) == 4
    assert not any("a" in one.text for one in found)


def command(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def test_predict_and_evaluate_on_the_command_line(translator: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = (translator / "scores.json").read_text(encoding="utf-8") if (translator / "scores.json").exists() else ""
    assert command("predict", translator, "a b c d", "--greedy", "--engine", "ctranslate2", "--scores") == 0
    fast = capsys.readouterr().out.split("\t")
    assert command("predict", translator, "a b c d", "--greedy", "--scores") == 0
    ours = capsys.readouterr().out.split("\t")
    assert fast[1] == ours[1]
    assert float(fast[0]) == pytest.approx(float(ours[0]), abs=1e-2)
    options = ("--engine", "ctranslate2", "--engine-dtype", "int8", "--json")
    assert command("evaluate", translator, *options) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["engine"] == "ctranslate2 int8"
    assert {"bleu", "token_accuracy"} <= scores.keys()
    now = (translator / "scores.json").read_text(encoding="utf-8") if (translator / "scores.json").exists() else ""
    assert now == kept, "another engine's scores are not the run's"
    assert {folder.name.split("-")[0] for folder in (translator / "ctranslate2").iterdir()} == {"float32", "int8"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "ctranslate"), "did you mean"),
        (("--engine-dtype", "int8"), "belongs to --engine ctranslate2"),
        (("--engine", "ctranslate2", "--engine-dtype", "int4"), "known: float32, int8"),
    ],
)
def test_options_that_make_no_sense(
    translator: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("predict", translator, "a", *words) == 1
    assert said in capsys.readouterr().err


def test_a_texts_score_is_the_models_own(writer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("evaluate", writer, "--engine", "ctranslate2") == 1
    assert "leave out --engine" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("no_onnx")
@pytest.mark.parametrize("place", [0.5, 0.02])
def test_check_finds_a_damaged_conversion(tmp_path: Path, place: float) -> None:
    run = untrained.translator(tmp_path / "run", {"position": {"kind": "learned", "max_length": 60}})
    file = engine_of(run).folder / "model.bin"
    sound = {one.name: one for one in check(run)}["ctranslate2"]
    assert sound.holds
    assert not sound.skipped
    held = bytearray(file.read_bytes())
    middle = int(len(held) * place)
    held[middle : middle + 400] = bytes(reversed(held[middle : middle + 400]))
    file.write_bytes(held)
    assert not {one.name: one for one in check(run)}["ctranslate2"].holds


@pytest.mark.usefixtures("no_onnx")
def test_check_names_the_first_other_token(tmp_path: Path) -> None:
    """A conversion of other weights in the place of the right one."""
    run = untrained.translator(tmp_path / "run")
    other = untrained.saved({**untrained.TRANSLATOR}, tmp_path / "other", seed=9)
    ctranslate2.convert(other, ctranslate2.conversion_folder(run, "float32"))
    found = {one.name: one for one in check(run)}["ctranslate2"]
    assert not found.holds
    assert found.first >= 0
    assert found.token != found.other


@pytest.mark.usefixtures("no_onnx")
def test_without_the_package_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    run = untrained.writer(tmp_path / "run", {})
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(OptionError, match=r"pip install 'regard\[ctranslate2\]'"):
        engine_of(run)
    assert "pip install" in {one.name: one for one in check(run)}["ctranslate2"].skipped


def test_engines_are_named(translator: Path) -> None:
    run = regard.load(translator)
    engine: Ctranslate2Engine = engine_of(run, "int8")
    assert (run.engine.name, engine.name) == ("torch", "ctranslate2 int8")

"""A page about one input needs one pass of the model: every view reads from what was recorded of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from regard.decoding.options import Beam
from regard.inspection.flow.stream import stream
from regard.inspection.look.figures import Drawings
from regard.inspection.look.gathering import look
from regard.inspection.look.heads import Wanted
from regard.runs.load import Run
from tests.inspection.loud_runs import ATTENTIVE, CLASSIFIER, OTHER, TAGGER, TEXT, headed_run, loud, made
from tests.inspection.picture_runs import picture_run, pictures


@contextmanager
def counted(run: Run) -> Iterator[dict[str, int]]:
    """How often the model is run, and how often a decoding is started."""
    counts = {"forward": 0, "start": 0}
    model: Any = run.model

    def forward(*_: Any) -> None:
        counts["forward"] += 1

    handle = model.register_forward_hook(forward)
    start = getattr(model, "start", None)

    def started(*given: Any) -> Any:
        counts["start"] += 1
        return start(*given)

    if start is not None:
        model.start = started
    try:
        yield counts
    finally:
        handle.remove()
        if start is not None:
            del model.start


@pytest.mark.parametrize("family", ATTENTIVE)
def test_one_pass_a_text(family: str) -> None:
    with counted(loud(family)) as counts:
        look(loud(family), [TEXT])
    assert counts["forward"] == 1
    with counted(loud(family)) as counts:
        look(loud(family), [TEXT, OTHER])
    assert counts["forward"] == 2


def test_the_search_that_finds_the_answer_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    """With a beam in the recipe a translator decodes once."""
    run = made("transformer", tmp_path)
    run.recipe = run.recipe.model_copy(update={"decoding": Beam(size=3, max_length=9)})
    with counted(run) as counts:
        text = look(run, [TEXT]).data["texts"][0]
    assert counts == {"forward": 1, "start": 1}
    assert text["beam"]["size"] == 3
    best = text["beam"]["answers"][0]
    assert [*best["tokens"], "<eos>"] == text["predicts"]
    assert best["text"] == run.predict([TEXT])[0]


@pytest.mark.parametrize("settings", [CLASSIFIER, TAGGER], ids=["classifier", "tagger"])
def test_one_pass_under_a_head(settings: dict[str, Any], tmp_path: Path) -> None:
    run = headed_run(tmp_path, settings)
    with counted(run) as counts:
        look(run, ["ein Vogel singt"])
    assert counts["forward"] == 1


def test_one_pass_a_question(tmp_path: Path) -> None:
    task = {"kind": "question-answering", "max_length": 40, "max_question_length": 16, "stride": 8}
    run = headed_run(tmp_path, {**CLASSIFIER, "data": {"kind": "world-questions"}, "task": task})
    with counted(run) as counts:
        look(run, ["wer singt ?\tein Vogel singt"])
    assert counts["forward"] == 1


def test_figures_take_no_pass_of_their_own() -> None:
    run = loud("gpt")
    drawings = Drawings(Wanted((0,), (1,)))
    with counted(run) as counts:
        found = look(run, [TEXT, OTHER], watch=drawings)
        made_of = drawings.finished(found.statistics)
    assert counts["forward"] == 2
    assert [name for name, _ in made_of] == [
        "entropy", "text-1-stack.layers.0.attention-1", "text-1-depths", "text-2-stack.layers.0.attention-1",
        "text-2-depths",
    ]  # fmt: skip


def test_one_pass_a_picture_and_one_for_a_stream() -> None:
    run = picture_run()
    with counted(run) as counts:
        look(run, [pictures()[0], pictures()[1]], watch=Drawings(Wanted()))
    assert counts["forward"] == 2
    with counted(loud("bert")) as counts:
        stream(loud("bert"), TEXT)
    assert counts["forward"] == 1

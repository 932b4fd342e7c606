"""Classes of clips through the task that classifies texts and pictures: trained, scored, asked, looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.core.errors import InputError
from regard.data.modalities.video.moving_shapes import DIRECTIONS, MovingShapes, drawn
from regard.inspection.look.gathering import look
from regard.runs.evaluate import evaluate
from regard.runs.load import Run, load
from regard.runs.train import train
from tests.answering import holding


def write_clip(folder: Path, pixels_THWC: np.ndarray) -> None:
    folder.mkdir(parents=True)
    for place, pixels_HWC in enumerate(pixels_THWC, start=1):
        Image.fromarray(pixels_HWC).save(folder / f"{place:02}.png")


def bar(direction: str, seed: int, frames: int = 6) -> np.ndarray:
    """A bright bar that goes down or up."""
    generator = np.random.default_rng(seed)
    pixels_THWC = generator.integers(0, 40, (frames, 12, 8, 3), np.uint8)
    first = int(generator.integers(0, 12 - frames))
    for time in range(frames):
        row = first + time if direction == "down" else first + frames - 1 - time
        pixels_THWC[time, row] = 220
    return pixels_THWC


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("clips")
    for split, each in (("train", 40), ("test", 10)):
        for place, direction in enumerate(("down", "up")):
            for number in range(each):
                seed = 1000 * place + number + (500 if split == "test" else 0)
                frames = 9 if (split, number) == ("test", 0) else 6
                write_clip(folder / split / direction / str(number), bar(direction, seed, frames))
    (folder / "train" / "up" / "3" / "03.png").unlink()
    tables = {
        "data": {"kind": "videos", "train": str(folder / "train"), "test": str(folder / "test"), "validation_size": 8},
        "input": {"kind": "video", "frames": 6, "channels": 1},
        "model": {"kind": "vit", "layers": 1, "width": 24, "heads": 2, "dropout": 0.0,
                  "front": {"kind": "patches", "size": [2, 3, 4]}, "position": {"kind": "factorised"}},
        "task": {"kind": "classification", "dropout": 0.0},
        "training": {"steps": 150, "batch_tokens": 120, "learning_rate": 0.005, "threads": 1},
    }  # fmt: skip
    train(tables, folder / "run")
    return load(folder / "run")


def test_it_learns_what_the_first_frame_does_not_say(run: Run) -> None:
    scores = evaluate(run)
    assert scores["accuracy"] >= 0.9
    alone = scores["yardsticks"]["softmax regression on the first frame"]
    assert alone["accuracy"] < scores["accuracy"]


def test_the_ledger_names_what_is_missing_and_what_is_longer(run: Run) -> None:
    ledger = json.loads((run.folder.path / "ledger.json").read_text())
    told = {(one["what"], one["reason"]): one["count"] for one in ledger["reasons"]}
    assert told["skipped", "not a readable clip"] == 1
    assert told["corrected", "longer than 6 frames: so many were taken, evenly"] == 2
    assert any("no frame number 3" in one["detail"] for one in ledger["exceptions"])


def test_folders_and_arrays_are_answered_and_others_refused(run: Run, tmp_path: Path) -> None:
    write_clip(tmp_path / "clip", bar("up", 7))
    assert run.predict([str(tmp_path / "clip"), bar("up", 7)]) == run.predict([bar("up", 7)]) * 2
    Image.fromarray(np.zeros((5, 5, 3), np.uint8)).save(tmp_path / "clip" / "07.png")
    (tmp_path / "frame.png").write_bytes(b"")
    with pytest.raises(InputError) as raised:
        run.predict([str(tmp_path / name) for name in ("clip", "frame.png", "nowhere")])
    assert "07.png (5 × 5)" in str(raised.value)
    assert "frame.png is a file, and a clip is a folder of numbered frames" in str(raised.value)
    assert "nowhere does not exist" in str(raised.value)


def test_it_answers_the_same_in_every_way(run: Run) -> None:
    assert {"batch", "reference", "fused"} <= holding(run)


def test_frames_are_drawn_below_one_another_as_they_are_cut(run: Run) -> None:
    task: Any = run.task
    probe = task.probe(run.session(), bar("down", 3))
    assert probe.axis.shape == (3 * 4, 2)
    assert probe.pixels_HWC is not None
    assert probe.pixels_HWC.shape[:2] == (3 * 12, 8)  # the first frame of each block of two
    assert look(run, [probe]).data["texts"][0]["picture"]["grid"] == (12, 2)


def test_shapes_that_move_are_a_function_of_their_name() -> None:
    for direction in DIRECTIONS:
        one = MovingShapes("red", "circle", direction, 5)
        assert np.array_equal(drawn(one), drawn(MovingShapes("red", "circle", direction, 5)))
        assert one.phrase == f"the red circle moves {direction}"

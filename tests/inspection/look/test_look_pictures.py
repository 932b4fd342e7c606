"""Pages about pictures: heat against the tensors, rollout, distances by hand, figures, and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.cli.main import main
from regard.core.errors import DataError, OptionError
from regard.core.inputs import Axis
from regard.core.taps import record
from regard.inspection.figures.figure import Figure
from regard.inspection.figures.patches import Heat, heated, heats_figure
from regard.inspection.heads.patches import PatchStatistics, distances, heat, measured
from regard.inspection.heads.rollout import rollout
from regard.inspection.look.gathering import Look, look
from regard.inspection.look.heads import Wanted
from regard.inspection.look.packing import FIRST
from regard.inspection.look.page import look_page
from regard.inspection.probes import probe
from tests.inspection.loud_runs import TEXT, loud
from tests.inspection.picture_runs import LABELS, picture_run, pictures

PLACES = 17  # a class token and 4 × 4 patches


def unpacked(found: Look, one: dict[str, Any], size: int = PLACES) -> np.ndarray:
    codes = np.frombuffer(base64.b64decode(found.numbers[one["key"]]), "<u2").astype(float)
    values = np.where(codes < FIRST, 0.0, np.exp(one["scale"]["start"] + one["scale"]["step"] * (codes - FIRST)))
    return values.reshape(size, size)


def test_a_probe_of_a_picture_knows_its_grid() -> None:
    run, path = picture_run(), pictures()[1]
    asked = probe(run, path)
    assert asked.axis.shape == (4, 4)
    assert asked.axis.extra == 1
    assert asked.axis.labels == ("class", *(f"{row},{column}" for row in range(1, 5) for column in range(1, 5)))
    assert asked.pixels_HWC is not None
    assert np.array_equal(asked.pixels_HWC, np.asarray(Image.open(path)))
    assert asked.text == str(path)
    said = asked.answers(asked.logits(run.model)[0])
    answers = run.answers([path])[0]
    assert [one.text for one in said] == [one.text for one in answers]
    assert [one.score for one in said] == pytest.approx([one.score for one in answers], abs=1e-6)
    without = probe(picture_run(class_token=False), path)
    assert (without.axis.extra, len(without.axis.labels)) == (0, 16)


def test_the_page_holds_every_head_over_the_picture() -> None:
    run, path = picture_run(), pictures()[0]
    found = look(run, [path])
    text, asked = found.data["texts"][0], probe(run, path)
    with torch.inference_mode(), record(run.model, "*") as seen:
        asked.run(run.model)
    assert len(text["heads"]) == 6
    for one in text["heads"]:
        weights_NN = seen[text["attentions"][one["attention"]]["name"]].weights[0, one["head"]].numpy()
        assert unpacked(found, one) == pytest.approx(weights_NN, rel=5e-4, abs=1e-19)
        glance = np.frombuffer(base64.b64decode(one["glance"]), np.uint8).reshape(4, 4)
        shares = weights_NN[0, 1:].reshape(4, 4)
        assert glance == pytest.approx(255 * shares / shares.max(), abs=0.51)
    pixels = np.frombuffer(base64.b64decode(found.numbers[text["picture"]["key"]]), np.uint8)
    assert np.array_equal(pixels.reshape(12, 12, 3), np.asarray(Image.open(path)))
    assert text["classes"][0][0] in LABELS
    assert sum(chance for _, chance in text["classes"]) == pytest.approx(1.0, abs=1e-3)
    assert len(look_page(found)) > 1000
    json.dumps(found.data, allow_nan=False)


@pytest.mark.parametrize("class_token", [True, False])
def test_layers_are_rolled_out(class_token: bool) -> None:
    run, path = picture_run(class_token), pictures()[0]
    found, expected = look(run, [path]), rollout(run, str(path))
    layers, size = found.data["texts"][0]["picture"]["layers"], 16 + class_token
    assert [one["name"] for one in layers] == list(expected.names)
    for layer, rolled in zip(layers, expected.weights_LTS, strict=True):
        assert unpacked(found, layer["rolled"], size) == pytest.approx(np.array(rolled), rel=5e-4)
        assert unpacked(found, layer["mean"], size).sum(1) == pytest.approx(1.0, rel=1e-3)


def test_heat_is_the_class_tokens_row_or_the_mean_over_patches() -> None:
    weights_TS = np.arange(49.0).reshape(7, 7)
    assert heat(weights_TS, Axis((), (2, 3), 1)).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert heat(weights_TS[:6, :6], Axis((), (2, 3))).tolist() == [[17.5, 18.5, 19.5], [20.5, 21.5, 22.5]]


def test_distances_between_patches() -> None:
    away = distances((2, 3))
    assert away.shape == (6, 6)
    assert away[0, 5] == pytest.approx(5**0.5)  # a row down, two columns to the right
    assert np.array_equal(away, away.T)


def test_statistics_by_hand() -> None:
    """Two patches behind a class token: one reads the other, which reads itself and the class token, half and half."""
    found = measured(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]), Axis((), (1, 2), 1))
    assert found == {
        "entropy": pytest.approx(1 / 3), "evenness": pytest.approx(1 / 3 / np.log2(3)), "distance": 0.5,
        "same": 0.25, "class_token": 0.5,
    }  # fmt: skip


def test_what_a_head_does_is_told_in_words() -> None:
    def told(**changed: float) -> str:
        plain = {"entropy": 2.0, "evenness": 0.5, "distance": 2.0, "same": 0.1, "class_token": 0.1}
        return PatchStatistics("layers.0", 1, **{**plain, **changed}, even_distance=2.5).sentence

    assert told() == (
        "Head 1 of layers.0 looks across the picture: it reads about 4 patches at once, 2.0 patches away on average."
    )
    assert "stays near" in told(distance=1.0)
    assert "reads the patch itself, with 60 %" in told(same=0.6)
    assert "rests: 95 % of its weight lie on the class token" in told(class_token=0.95)
    assert "reads everything alike" in told(evenness=0.97)


def test_figures_are_drawn_over_the_picture(tmp_path: Path) -> None:
    pixels_HWC = np.full((4, 6, 3), 255, np.uint8)
    pixels_HWC[2:] = 0
    found = heated(pixels_HWC, np.array([[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]))
    assert found.shape == (4, 6, 3)
    assert found[0, 0] == pytest.approx([1, 1, 1])  # no heat: the picture as it is
    assert found[0, 5] == pytest.approx(np.array([0xB3, 0x12, 0x3F]) / 255)
    assert np.all(found[3] < found[0])  # its shade is still there
    figure = heats_figure(pixels_HWC, "white", "Heat", [Heat("head 0", np.array([[0.25, 0.75]]))])
    assert isinstance(figure, Figure)
    assert "head 0 reads most of the patch in row 1, column 2 (0.75)" in figure.words
    figure.save(tmp_path / "heat.png")
    assert Image.open(tmp_path / "heat.png").size[0] > 100


def test_the_command_writes_a_page_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, (first, second, _) = picture_run(), pictures()
    with pytest.raises(SystemExit) as leaving:
        main(["look", str(run.folder.path), str(first), str(second), "--out", str(tmp_path / "seen.html"), "--png",
              str(tmp_path / "drawn"), "--layers", "1", "--heads", "0,2", "--json"])  # fmt: skip
    assert not leaving.value.code
    said = json.loads(capsys.readouterr().out)
    assert said["page"] == str(tmp_path / "seen.html")
    assert "2 of 6 heads are here in full" in said["left_out"][0]
    name = "body.layers.1.attention"
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"distance.png"} | {
        f"picture-{number}-{what}.png" for number in (1, 2) for what in ("heads", "rollout", f"{name}-0", f"{name}-2")
    }


def test_chosen_heads_are_shown_in_full() -> None:
    text = look(picture_run(), [pictures()[0]], wanted=Wanted((1,), (2,))).data["texts"][0]
    assert [(one["attention"], one["head"]) for one in text["heads"] if "key" in one] == [(1, 2)]
    assert text["first"] == 5


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    run = picture_run()
    (tmp_path / "broken.png").write_bytes(pictures()[0].read_bytes()[:60])
    for wrong, words in (
        (TEXT, "there is no file 'der Hund singt'; this run reads pictures"),
        (tmp_path / "broken.png", "is not a readable picture"),
        (tmp_path, "is a folder, but one picture is expected"),
    ):
        with pytest.raises(DataError, match=words):
            look(run, [str(wrong)])
    with pytest.raises(OptionError, match="is a picture, and this run reads texts; name a run"):
        look(loud("gpt"), [str(pictures()[0])])
    with pytest.raises(OptionError, match="reads one picture; leave the target out"):
        look(run, [str(pictures()[0])], ["a dog"])
    with pytest.raises(OptionError, match="there is no picture to look at"):
        look(run, [])
    with pytest.raises(OptionError, match=r"layer 7 \(there are 0 to 1\)"):
        look(run, [pictures()[0]], wanted=Wanted((7,)))

"""Figures can be drawn of whatever tokens there are, and carry their numbers with them."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard.core.errors import OptionError
from regard.data.corpus import Pair
from regard.inspection.figures.figure import Figure, printable
from regard.inspection.figures.heads import (
    alignment_figure,
    depths_figure,
    evidence_figure,
    importance_figure,
    rollout_figure,
    similarity_figure,
    statistics_figure,
    stream_figure,
    weights_figure,
)
from regard.inspection.flow.depths import depths
from regard.inspection.flow.stream import stream
from regard.inspection.heads.alignment import HeadAlignment
from regard.inspection.heads.importance import importance
from regard.inspection.heads.not_explanation import not_explanation
from regard.inspection.heads.reading import HeadReading, read
from regard.inspection.heads.rollout import rollout
from regard.inspection.heads.similarity import head_similarity
from regard.inspection.heads.statistics import head_statistics
from tests.inspection.loud_runs import TEXT, loud

AWKWARD = ("$a_b$", "<eos>", "a & b", "\\frac{1}{", "\n", "\x00", "$$", "x" * 60)


def awkward() -> HeadReading:
    size = len(AWKWARD)
    weights = tuple(tuple(1.0 if s == t else 0.0 for s in range(size)) for t in range(size))
    return HeadReading("decoder.layers.0.cross", 1, "cross", AWKWARD, AWKWARD, AWKWARD, weights)


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()).strip() for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("}text")]


def test_tokens_are_drawn_as_they_are_on_both_axes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = weights_figure(awkward())
        found = texts(drawn.svg())
        assert drawn.png().startswith(b"\x89PNG")
    for token in ("$a_b$", "<eos>", "a & b", "\\frac{1}{", "\\n", "\ufffd", "$$", "x" * 31 + "…"):
        assert found.count(token) == 2, token
    assert "Head 1 of decoder.layers.0.cross" in found


def test_a_figure_carries_its_numbers() -> None:
    one = awkward()
    held = json.loads(weights_figure(one).as_json())
    assert held["weights_TS"] == [list(row) for row in one.weights_TS]
    assert held["columns"] == list(AWKWARD)
    assert held["title"] == "Head 1 of decoder.layers.0.cross"
    assert held["words"].startswith("Head 1 of decoder.layers.0.cross looks most from $a_b$ at $a_b$, ")


def test_a_notebook_shows_it_and_files_keep_it(tmp_path: Path) -> None:
    drawn = weights_figure(awkward())
    assert drawn._repr_svg_() == drawn.svg()  # the same drawing every time
    png = drawn._repr_png_()
    wide, high = struct.unpack(">II", png[16:24])
    assert wide > 500
    assert high > 300
    assert drawn.save(tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
    assert ElementTree.fromstring(drawn.save(tmp_path / "one.svg").read_text(encoding="utf-8")) is not None
    assert json.loads(drawn.save(tmp_path / "one.json").read_text(encoding="utf-8")) == json.loads(drawn.as_json())
    with pytest.raises(OptionError, match=r"written as \.png, \.svg or \.json; found 'one\.pdf'"):
        drawn.save(tmp_path / "one.pdf")


def every_figure() -> dict[str, Figure]:
    run = loud("transformer")
    return {
        "weights": weights_figure(read(run, TEXT).head("encoder.layers.1.attention", 0)),
        "statistics": statistics_figure(head_statistics(run, [TEXT]), "previous"),
        "importance": importance_figure(importance(run, [Pair(TEXT, "a bird sings")])),
        "alignment": alignment_figure([HeadAlignment("cross", 0, 0.25, 3), HeadAlignment("cross", 1, 0.5, 3)]),
        "similarity": similarity_figure(head_similarity(run, [TEXT])[0]),
        "rollout": rollout_figure(rollout(run, TEXT)),
        "depths": depths_figure(depths(run, TEXT, "a bird")),
        "stream": stream_figure(stream(run, TEXT, "a bird")),
        "evidence": evidence_figure(not_explanation(run, ["Hund"])),
    }


def test_every_figure_is_drawn_and_told() -> None:
    for name, drawn in every_figure().items():
        found = texts(drawn.svg())
        assert drawn.title in found, name
        assert drawn.words, name
        json.loads(drawn.as_json())
        if name == "importance":
            assert {"decoder.layers.1.cross", "encoder.layers.0.attention", "0", "1"} <= set(found)


def test_every_head_has_its_number_in_the_grid() -> None:
    run = loud("gpt")
    table = head_statistics(run, [TEXT])
    drawn = statistics_figure(table, "entropy")
    held = {(one["name"], one["head"]): one["value"] for one in json.loads(drawn.as_json())["values"]}
    assert held == {(one.name, one.head): one.entropy for one in table}
    assert {f"{one.entropy:.3g}" for one in table} <= set(texts(drawn.svg()))
    with pytest.raises(OptionError, match="no statistic is called 'sharpness'; available: entropy, "):
        statistics_figure(table, "sharpness")


def test_labels_fit_on_one_line() -> None:
    assert printable("a\tb\r\n") == "a\\tb\\r\\n"
    assert len(printable("y" * 99)) == 32


def test_a_model_without_layers_has_no_stream_to_draw() -> None:
    with pytest.raises(OptionError, match="there is no stream to draw"):
        stream_figure(stream(loud("luong"), TEXT))

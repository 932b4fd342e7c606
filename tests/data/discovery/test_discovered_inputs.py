"""Sounds, series, graphs and numbers to be estimated: recognised, counted as they are read, and asked about."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.data.discovery.found import GraphFacts, SeriesFacts, SoundFacts
from regard.data.modalities.audio.wav import wav_bytes
from tests.data.discovery.looked import look, refusal, row, sentence, table, told, write
from tests.graph_files import write_molecules, write_tu
from tests.sounds import tone_of, write_tones

# -- sounds -----------------------------------------------------------------------------------------------------


def test_sounds_in_a_folder_for_each_class(tmp_path: Path) -> None:
    write_tones(tmp_path / "tones", 12)
    (tmp_path / "tones" / "low" / "broken.wav").write_bytes(b"RIFF")
    found = look(tmp_path, "tones")
    assert (found.task, found.data["kind"], found.labels) == ("classification", "sounds", {"high": 12, "low": 12})
    assert found.inputs == SoundFacts("tones", 24, {2000: 24}, found.inputs.milliseconds)  # type: ignore[attr-defined]
    assert found.inputs.milliseconds[-1] == 320  # type: ignore[attr-defined]
    assert (found.skipped, found.examples) == (1, {"train": 20, "validation": 2, "test": 2})
    assert "left out: " in told(found)
    assert "broken.wav" in told(found)


def test_sounds_in_a_table_have_classes_or_numbers(tmp_path: Path) -> None:
    for number in range(24):
        (tmp_path / f"{number}.wav").write_bytes(wav_bytes(tone_of("low", 0.2, number), 2000))
    write(tmp_path, {
        "classes.csv": "path,label\n" + "".join(f"{number}.wav,{'ab'[number % 2]}\n" for number in range(24)),
        "numbers.csv": "path,decibel\n" + "".join(f"{number}.wav,-{number}.5\n" for number in range(24)),
    })  # fmt: skip
    classes = look(tmp_path, "classes.csv")
    assert (classes.task, classes.data["kind"], classes.data["sound"]) == ("classification", "sounds", "path")
    numbers = look(tmp_path, "numbers.csv")
    assert (numbers.task, numbers.data["label"], numbers.labels) == ("regression", "decibel", {})
    assert "numbers: median -12, 90 % are between -22.35 and -1.65" in numbers.observations


# -- series -----------------------------------------------------------------------------------------------------


def hours(count: int, *, header: str = "time,load,warmth,wind") -> str:
    start = np.datetime64("2024-01-01T00:00")
    lines = [f"{start + np.timedelta64(hour, 'h')},{50 + hour % 24}.5,{hour % 7},{'nsew'[hour % 4]}"
             for hour in range(count)]  # fmt: skip
    return "\n".join([header, *lines, ""])


def test_times_and_numbers_are_forecast(tmp_path: Path) -> None:
    write(tmp_path, {"load.csv": hours(400)})
    found = look(tmp_path, "load.csv")
    assert (found.task, found.data["kind"], found.data["values"]) == ("forecasting", "series", ["load", "warmth"])
    assert found.examples == {"train": 320, "validation": 40, "test": 40}
    facts = found.inputs
    assert isinstance(facts, SeriesFacts)
    assert (facts.channels, facts.step, facts.season, facts.steps.longest) == (("load", "warmth"), "1 hour", 24, 320)
    assert "no file is named for test: the last 10% of the time" in found.reasons


def test_times_without_a_clock_are_told(tmp_path: Path) -> None:
    days = np.datetime64("2024-01-01") + np.cumsum(np.random.default_rng(1).integers(1, 90, 60))
    write(tmp_path, {"visits.csv": "date,visits\n" + "".join(f"{day},{n}.5\n" for n, day in enumerate(days))})
    assert "the times follow no regular clock" in refusal(tmp_path, "visits.csv")


def test_a_date_beside_texts_and_labels_is_no_series(tmp_path: Path) -> None:
    rows = [f"2024-01-{1 + n % 28:02d},{sentence(n)},{'ab'[n % 2]}" for n in range(60)]
    write(tmp_path, {"a.csv": "\n".join(["date,text,label", *rows])})
    assert look(tmp_path, "a.csv").task == "classification"


def test_series_in_ts_files_have_classes(tmp_path: Path) -> None:
    head = "@problemName waves\n@timeStamps false\n@classLabel true up down\n@data\n"
    for split, count in (("TRAIN", 40), ("TEST", 10)):
        lines = [",".join(str((step + n) * (1 if n % 2 else -1)) for step in range(9)) for n in range(count)]
        ends = "".join(f"{line}:{'up' if n % 2 else 'down'}\n" for n, line in enumerate(lines))
        write(tmp_path, {f"Waves_{split}.ts": head + ends})
    found = look(tmp_path, "Waves_TRAIN.ts")
    assert (found.task, found.data["kind"], found.labels) == (
        "classification", "labelled-series", {"down": 20, "up": 20},
    )  # fmt: skip
    assert found.examples == {"train": 36, "validation": 4, "test": 10}
    assert found.data["test"] == str(tmp_path / "Waves_TEST.ts")


# -- graphs -----------------------------------------------------------------------------------------------------


def test_molecules_have_numbers_or_classes(tmp_path: Path) -> None:
    write_molecules(tmp_path / "mol.sdf", 70, "SOL")
    found = look(tmp_path, "mol.sdf")
    assert (found.task, found.data["kind"], found.data["label"]) == ("classification", "graphs", "SOL")
    assert isinstance(found.inputs, GraphFacts)
    assert found.inputs.nodes.longest == 8
    assert look(tmp_path, "mol.sdf", task="regression").task == "regression"
    assert "no graph says 'LOGP', which --label-column names; they say name, SOL" in refusal(
        tmp_path, "mol.sdf", label_column="LOGP"
    )


def test_a_folder_of_the_tu_format(tmp_path: Path) -> None:
    write_tu(tmp_path / "RINGS", 60)
    found = look(tmp_path, "RINGS")
    assert (found.task, found.labels) == ("classification", {"1": 36, "-1": 24})
    assert found.data["train"] == str(tmp_path / "RINGS")


def test_graphs_in_json_whose_label_is_not_clear_are_asked_about(tmp_path: Path) -> None:
    graphs = [
        {"nodes": 3 + n % 9, "edges": [[0, 1], [1, 2], [0, 2]][: 2 + n % 2], "colour": "ab"[n % 2],
         "size": "xy"[n % 3 % 2]}
        for n in range(80)
    ]  # fmt: skip
    write(tmp_path, {"graphs.jsonl": "".join(json.dumps(one) + "\n" for one in graphs)})
    message = refusal(tmp_path, "graphs.jsonl")
    assert "what is to be learned of each graph is not clear; of graphs the files say 'colour' (label)" in message
    assert "  --label-column size" in message
    assert look(tmp_path, "graphs.jsonl", label_column="colour").labels == {"a": 40, "b": 40}


def test_one_graph_is_told_with_a_recipe_to_start_from(tmp_path: Path) -> None:
    write(tmp_path, {
        "g/nodes.csv": "id,kind\n1,a\n2,b\n", "g/edges.csv": "source,target\n1,2\n",
        "c/cites.content": "p 0 1 x\nq 1 1 y\n", "c/cites.cites": "p q\n",
        "one.json": json.dumps({"nodes": [{"id": 1, "label": "a"}, {"id": 2, "label": "b"}], "edges": [[1, 2]]}),
    })  # fmt: skip
    for name in ("g", "c", "one.json"):
        message = refusal(tmp_path, name)
        assert "one graph, and from files alone only graphs with a class or a number each are learned from" in message
        assert "regard recipes show cora" in message


# -- numbers ----------------------------------------------------------------------------------------------------


def test_texts_beside_one_column_of_numbers_are_estimated(tmp_path: Path) -> None:
    write(tmp_path, {"prices.csv": "text,price\n" + "".join(f"{sentence(n)},{1.7 * n:.2f}\n" for n in range(100))})
    found = look(tmp_path, "prices.csv")
    assert (found.task, found.data["kind"], found.data["label"]) == ("regression", "labelled", "price")
    assert "'price' has numbers that are to be estimated, the only column of numbers" in found.reasons


def test_marks_are_classes_unless_they_are_to_be_estimated(tmp_path: Path) -> None:
    write(tmp_path, {"marks.csv": table(100, labels=("1", "2", "3", "4", "5"))})
    found = look(tmp_path, "marks.csv")
    assert found.task == "classification"
    assert "to have it estimated as a number: --task regression" in told(found)
    assert look(tmp_path, "marks.csv", task="regression").task == "regression"


def test_several_columns_of_numbers_are_asked_about(tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{1.7 * n:.2f},{0.3 * n:.3f}" for n in range(100)]
    write(tmp_path, {"a.csv": "\n".join(["text,price,weight", *rows])})
    assert "  --task regression --text-column text --label-column weight" in refusal(tmp_path, "a.csv")
    assert look(tmp_path, "a.csv", label_column="weight").data["label"] == "weight"
    assert look(tmp_path, "a.csv", label_column="weight", text_column="text").task == "regression"


def test_what_is_no_number_is_told_by_its_line(tmp_path: Path) -> None:
    rows = [f"{sentence(n)},{'much' if n == 30 else f'{1.7 * n:.2f}'}" for n in range(100)]
    write(tmp_path, {"a.csv": "\n".join(["text,price", *rows])})
    assert "line 32 has 'much', which is not a number" in refusal(tmp_path, "a.csv")


@pytest.mark.parametrize("value", ["7", "7.5"])
def test_one_number_everywhere_teaches_nothing(value: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": "".join(row(text=sentence(n), price=value) for n in range(40))})
    message = refusal(tmp_path, "a.jsonl", task="regression", label_column="price")
    assert "'price', which --label-column names, has no numbers to be estimated" in message

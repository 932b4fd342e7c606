"""Sounds from folders and tables: what is read, what is left out, and what the ledger says of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.core.config import parse
from regard.core.errors import DataError, RecipeError
from regard.data.ledger import Ledger
from regard.data.modalities.audio.sounds import LabelledSound, SoundFile, SpokenText
from regard.data.modalities.audio.wav import wav_bytes
from regard.data.sources.sounds import SoundFiles, SpeechFiles
from tests.sounds import RATE, tone_of, write_tones


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    ledger = Ledger()
    data = parse(SoundFiles, {"kind": "sounds", "train": str(write_tones(tmp_path / "tones", 3)), "validation_size": 0})
    corpus = data.load(1, ledger)
    found = corpus.splits["train"]
    assert [one.label for one in found] == ["high"] * 3 + ["low"] * 3
    assert {one.raw.rate for one in found} == {RATE}
    assert [one.raw.count for one in found[:3]] == [400, 460, 520]
    assert len({one.key() for one in found}) == 6
    assert ledger.unit([str(tmp_path / "tones")]) == "files"
    again = LabelledSound.from_record(found[1].record())
    assert again == found[1]
    assert again.key() == found[1].key()


def test_what_cannot_be_read_or_heard_is_left_out_and_named(tmp_path: Path) -> None:
    folder = write_tones(tmp_path / "tones", 2)
    whole = wav_bytes(tone_of("low", 0.2), RATE)
    (folder / "low" / "cut.wav").write_bytes(whole[:-100])
    (folder / "low" / "empty.wav").write_bytes(b"")
    (folder / "low" / "silent.wav").write_bytes(wav_bytes(np.zeros(100, np.float32), RATE))
    (folder / "high" / "notes.txt").write_text("nothing to hear")
    ledger = Ledger()
    corpus = parse(SoundFiles, {"kind": "sounds", "train": str(folder), "validation_size": 0}).load(1, ledger)
    assert len(corpus.splits["train"]) == 4
    told = {(Path(one.detail.split(": ")[0].split(" is ")[0]).name, one.reason) for one in ledger.exceptions}
    assert told == {
        ("cut.wav", "truncated"), ("empty.wav", "truncated"), ("silent.wav", "silent"),
        ("notes.txt", "not a readable sound"),
    }  # fmt: skip
    assert any("350 of 400 samples are there" in one.detail for one in ledger.exceptions)


def test_two_files_with_the_same_sound_are_duplicates(tmp_path: Path) -> None:
    folder = write_tones(tmp_path / "tones", 2)
    (folder / "low" / "again.wav").write_bytes((folder / "low" / "0.wav").read_bytes())
    ledger = Ledger()
    parse(SoundFiles, {"kind": "sounds", "train": str(folder), "validation_size": 0}).load(1, ledger)
    assert ledger.total("duplicated") == 1


def test_a_table_of_paths_and_texts(tmp_path: Path) -> None:
    write_tones(tmp_path / "tones", 1)
    (tmp_path / "said.csv").write_text(
        "sound,text\ntones/high/0.wav,hello\ntones/low/0.wav,\ntones/none.wav,gone\ntones/low/0.wav,low tone\n"
    )
    ledger = Ledger()
    data = parse(SpeechFiles, {"kind": "speech", "train": str(tmp_path / "said.csv"), "validation_size": 0})
    found = data.load(1, ledger).splits["train"]
    assert [one.target for one in found] == ["hello", "low tone"]
    assert found[0].sides() == (("hello",),)
    assert SpokenText.from_record(found[0].record()) == found[0]
    assert [(one.line, one.reason) for one in ledger.exceptions] == [(3, "no text"), (4, "not a readable sound")]


def test_a_table_of_paths_and_labels_with_columns_of_other_names(tmp_path: Path) -> None:
    write_tones(tmp_path / "tones", 2)
    (tmp_path / "table.tsv").write_text("clip\tclass\ntones/high/0.wav\thigh\ntones/low/1.wav\tlow\n")
    table = {"kind": "sounds", "train": str(tmp_path / "table.tsv"), "sound": "clip", "label": "class"}
    found = parse(SoundFiles, {**table, "validation_size": 0}).load(1, Ledger()).splits["train"]
    assert [(Path(one.source).name, one.label) for one in found] == [("0.wav", "high"), ("1.wav", "low")]


def test_folders_without_sounds_and_columns_without_effect_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "a.wav").write_bytes(b"")
    with pytest.raises(DataError, match="has no folder with sounds in it, but 1 sounds of its own"):
        parse(SoundFiles, {"kind": "sounds", "train": str(tmp_path / "loose")}).load(1, Ledger())
    (tmp_path / "loose" / "x").mkdir()
    (tmp_path / "loose" / "x" / "a.wav").write_text("no")
    with pytest.raises(DataError, match="none of 1 files is a readable sound"):
        parse(SoundFiles, {"kind": "sounds", "train": str(tmp_path / "loose")}).load(1, Ledger())
    with pytest.raises(RecipeError, match="folders for each class have no columns"):
        parse(SoundFiles, {"kind": "sounds", "train": "folder", "label": "class"})


def test_a_sound_is_kept_by_where_it_is_found() -> None:
    one = SoundFile("a.wav", 8000, 5, "digest")
    assert str(one) == "a.wav"
    assert one == SoundFile("a.wav", 8000, 5)

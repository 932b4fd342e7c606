"""Files that end in .ts: labelled series of one channel or several, of unequal lengths, and what may be wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from regard.core.errors import DataError
from regard.data.ledger import Ledger
from regard.data.modalities.series.series import LabelledSeries
from regard.data.modalities.series.ts_files import one_series, read_ts

HEAD = "#About it\n@problemName Toy\n@timeStamps false\n@univariate false\n@classLabel true high low\n@data\n"
DATA = "1,2,3:4,5,6:high\n\n7,?:8,9.5:low\n"


def ts(folder: Path, text: str, name: str = "toy.ts") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["toy.ts", "toy.ts.gz"])
def test_series_of_unequal_length_and_their_classes(name: str, tmp_path: Path) -> None:
    ledger = Ledger()
    first, second = read_ts(ts(tmp_path, HEAD + DATA, name), "train", ledger)
    assert first.raw.values_NC.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (first.label, first.line, second.label, second.line) == ("high", 7, "low", 9)
    np.testing.assert_array_equal(second.raw.values_NC, [[7, 8], [np.nan, 9.5]])
    assert (ledger.total("read"), ledger.total("kept")) == (2, 2)
    assert one_series(tmp_path / name, 2).values_NC.shape == (2, 2)


def test_a_labelled_series_survives_json(tmp_path: Path) -> None:
    _, second = read_ts(ts(tmp_path, HEAD + DATA), "train", Ledger())
    again = LabelledSeries.from_record(second.record())
    assert again.key() == second.key()
    assert (again.label, again.line, again.origin) == (second.label, second.line, second.origin)


@pytest.mark.parametrize(
    "data, message",
    [
        ("1,2:3,x:high\n", "line 7 has 'x', which is not a number"),
        ("1,2:3,4:middle\n", r"line 7 has the label 'middle', which @classLabel does not name \(high, low\)"),
        ("1,2:3:high\n", "line 7 has channels of 1 to 2 values; all must be equally long"),
        ("1:2:high\n1:high\n1:2:3:low\n", "line 8 has 1 channels, the first line has 2; line 9 has 3 channels"),
        ("high\n", "line 7 has no values before its label"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(data: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_ts(ts(tmp_path, HEAD + data), "train", Ledger())


def test_a_series_without_any_value_is_skipped(tmp_path: Path) -> None:
    ledger = Ledger()
    assert len(read_ts(ts(tmp_path, HEAD + DATA + "?,?:?,?:low\n"), "train", ledger)) == 2
    assert [(one.line, one.reason) for one in ledger.exceptions] == [(10, "no value is there")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1,2:high\n", "has no line @data"),
        (HEAD.replace("@timeStamps false", "@timeStamps true") + DATA, "line 3: values with a time before each"),
        (HEAD.replace("@classLabel true high low", "@classLabel false") + "1,2\n", "has no classes"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_ts(ts(tmp_path, text), "train", Ledger())


def test_one_of_several_series_is_asked_for_by_its_number(tmp_path: Path) -> None:
    path = ts(tmp_path, HEAD + DATA)
    with pytest.raises(DataError, match=r"holds 2 series; name one by its number, as .*toy.ts:1"):
        one_series(path, 0)
    with pytest.raises(DataError, match="holds 2 series, and none has the number 3"):
        one_series(path, 3)

"""What is measured, against plain counting; and no discoverer trips over what it does not know."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.data.discovery.found import Hints, LengthSummary, percent
from regard.data.discovery.given import GivenFiles, role_of, without_role
from regard.data.discovery.looking import discoverers
from regard.data.discovery.measuring import EvenSample, Repeats, text_facts
from tests.data.discovery.looked import write


@given(some.lists(some.tuples(some.sampled_from("abc"), some.sampled_from("xy")), max_size=12))
def test_repeats_are_those_that_counting_finds(pairs: list[tuple[str, str]]) -> None:
    repeats = Repeats()
    for key, answer in pairs:
        repeats.add(key, answer)
    found = repeats.counted()
    answers = Counter(key for key, _ in set(pairs))
    assert found.inputs == len({key for key, _ in pairs})
    assert found.answers == len({answer for _, answer in pairs})
    assert found.duplicates == len(pairs) - len(set(pairs))
    assert found.conflicts == sum(count > 1 for count in answers.values())


@pytest.mark.parametrize("period", [2, 3, 7, 10])
def test_a_sample_is_from_everywhere_and_has_no_rhythm_of_its_own(period: int) -> None:
    sample: EvenSample[int] = EvenSample(size=1000)
    for number in range(100_000):
        sample.add(number)
    kept = sample.things()
    assert 500 <= len(kept) <= 1000
    assert kept == sorted(kept)
    assert max(after - before for before, after in pairwise(kept)) < 5 * 100_000 / len(kept)
    shares = Counter(number % period for number in kept)
    assert max(shares.values()) - min(shares.values()) < 0.15 * len(kept) / period


def test_a_sample_of_large_things_is_smaller() -> None:
    sample: EvenSample[str] = EvenSample(size=1000, room=500)
    for _ in range(200):
        sample.add("x" * 10, 10)
    assert 20 <= len(sample.things()) <= 50


def test_lengths_scripts_and_words_are_those_of_the_texts() -> None:
    facts = text_facts("side", ["a bb ccc", "a \u0436\u0436", "\u00aa"], 30)
    assert facts.words == LengthSummary(2, 2.0, 3, 3, 3)
    assert facts.characters.longest == 8
    assert (facts.distinct_words, facts.words_measured) == (5, 6)
    assert facts.word_length == pytest.approx((1 + 2 + 3 + 1 + 2 + 1) / 6)
    assert facts.alphabet == len(set("a bb ccca \u0436\u0436\u00aa"))
    assert facts.characters_total == (8 + 4 + 1) * 10
    assert facts.scripts == {"Latin": pytest.approx(8 / 10), "Cyrillic": pytest.approx(2 / 10)}


def test_shares_are_never_rounded_to_nothing_or_all() -> None:
    told = {0.0: "0 %", 0.001: "under 1 %", 0.5: "50 %", 0.999: "over 99 %", 1.0: "100 %"}
    assert {share: percent(share) for share in told} == told


@pytest.mark.parametrize(
    ("name", "role", "rest"),
    [
        ("train.csv", "train", ".csv"), ("mails-train.csv", "train", "mails-.csv"), ("wiki.valid.tokens", "validation",
         "wiki..tokens"), ("test2016.de", "test", ".de"), ("dev_1.tsv", "validation", "_1.tsv"), ("contest.csv", "",
         "contest.csv"), ("Train.CSV", "train", ".CSV"), ("train-test.csv", "", "train-test.csv"),
    ],
)  # fmt: skip
def test_names_tell_splits(name: str, role: str, rest: str) -> None:
    assert (role_of(Path(name)), without_role(name)) == (role, rest)


ODD: dict[str, bytes] = {
    "a.json": b"\xff\xfe{", "b.json": b"", "c.csv": b"\x89PNG\r\n\x1a\n", "d": b"", "e.txt": b"(((",
    "f.txt": b"caf\xe9 \xe9\n", "g.gz": b"no gzip", "h-idx3": b"\0", "train.de": b"\xff", "train.en": b"\n",
    "i.jsonl": b"[1]\nnull\n", "j.tsv": b"\t\n\n",
}  # fmt: skip


def test_no_discoverer_trips_over_files_that_it_does_not_know(tmp_path: Path) -> None:
    write(tmp_path, {f"{folder}{name}": held for name, held in ODD.items() for folder in ("", "a/", "b/c/")})
    groups = [[tmp_path], [tmp_path / "train.de", tmp_path / "train.en"], *([tmp_path / name] for name in ODD)]
    for paths in groups:
        named = GivenFiles.of(paths)
        for one in discoverers():
            assert one.recognises(named, Hints()) in (True, False)

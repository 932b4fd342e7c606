"""The demonstration's page: complete, escaped, well-formed, and sufficient to itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from regard.inspection.figures.alignments import glued, joined, three_digits
from regard.inspection.figures.curves import curve_figure, ticks
from regard.inspection.reports.demo_page import AlignedPair, DemoReport, alignment_text, demo_page, score_text

NASTY = '<script>alert("x")</script>&\''
VOID = {"meta", "br", "hr", "link", "input", "img"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and refuses elements that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cat() -> AlignedPair:
    return AlignedPair(
        source_words=["the", "black", "cat"],
        target_words=["le", "chat"],
        weights_TS=[[0.9, 0.0625, 0.0375], [0.012345, 0.1, 0.887655]],
        reference="le chat noir",
    )


def report(*pairs: AlignedPair, title: str = "A demonstration") -> DemoReport:
    return DemoReport(
        title=title,
        pairs=pairs,
        scores={"exact_match": 0.9337, "compositional_exact_match": 0.5, "bleu": 41.26, "chrf": 60.0, "loss": 0.51234},
        facts={"head chosen": "layer 3, head 2"},
        curve=[(1, 7.25), (500, 1.5), (1000, 0.75)],
        validation_curve=[(500, 1.625), (1000, 0.8125)],
    )


def drawings(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]


def test_every_word_and_every_value_is_on_the_page() -> None:
    page = demo_page(report(cat()))
    texts = Reader(page).texts
    for word in ("the", "black", "cat", "le", "chat"):
        assert texts.count(word) == 2, f"{word} belongs in the lines and in the heat map"
    for title in ("le → the: 0.900", "le → black: 0.0625", "chat → the: 0.0123", "chat → cat: 0.888"):
        assert title in texts
    assert "the black cat" in texts
    assert "le chat" in texts
    assert "le chat noir" in texts


def test_scores_and_facts_are_in_words() -> None:
    texts = Reader(demo_page(report(cat()))).texts
    for expected in (
        "Exact match",
        "93.4\u202f%",
        "Exact match on new combinations",
        "50.0\u202f%",
        "BLEU",
        "41.3",
        "chrF",
    ):
        assert expected in texts
    assert "Head chosen" in texts
    assert "layer 3, head 2" in texts


def test_drawings_are_well_formed_and_named() -> None:
    page = demo_page(report(cat(), cat()))
    found = drawings(page)
    assert [drawing.get("class") for drawing in found] == ["links", "heat-map"] * 2 + ["curve"]
    assert page.count('download="') == len(found)
    assert all(drawing.get("aria-label") and drawing.get("role") for drawing in found)
    links, heat, curve = found[0], found[1], found[4]
    assert len(links.findall("path")) == 5, "the weight below the faintest is not drawn"
    assert len(heat.findall("g")) == 6
    assert len(curve.findall("circle")) == 2


def test_a_line_is_as_thick_as_its_weight() -> None:
    links = drawings(demo_page(report(cat())))[0]
    thickness = {(p.get("data-t"), p.get("data-s")): float(p.get("stroke-width", 0)) for p in links.findall("path")}
    assert max(thickness, key=thickness.__getitem__) == ("0", "0")
    assert thickness["1", "2"] > thickness["1", "1"] > thickness["0", "2"]


def test_markup_is_escaped_everywhere() -> None:
    pair = AlignedPair([NASTY, "b\x00\ud800"], [NASTY], [[0.75, 0.25]], reference=NASTY)
    nasty = DemoReport(title=NASTY, pairs=[pair], scores={NASTY: 1.0}, facts={NASTY: NASTY})
    page = demo_page(nasty)
    reader = Reader(page)
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert "<script>alert" not in page
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert len(drawings(page)) == 2
    page.encode("utf-8")


def test_the_page_needs_no_network() -> None:
    page = demo_page(report(cat()))
    assert not re.search(r"https?:|@import|url\(", page)
    named = [found for _, attributes in Reader(page).tags for key, found in dict(attributes).items()
             if key in ("src", "href")]  # fmt: skip
    assert named
    assert all(address.startswith("data:") for address in named)


@pytest.mark.parametrize(
    "empty",
    [
        DemoReport("", []),
        report(),
        report(AlignedPair([], [], [])),
        report(AlignedPair([], ["le"], [[]])),
        report(AlignedPair(["the"], [], [])),
        DemoReport("one point", [cat()], curve=[(0, 0.0)]),
        DemoReport("validation only", [], validation_curve=[(3, 2.0)]),
    ],
)
def test_emptiness_does_not_break_the_page(empty: DemoReport) -> None:
    page = demo_page(empty)
    Reader(page)
    drawings(page)


def test_what_is_not_finite_is_drawn_as_nothing_and_counted() -> None:
    broken = AlignedPair(["the"], ["le"], [[float("nan")]])
    page = demo_page(DemoReport("broken", [broken], curve=[(1, 2.0), (2, float("inf"))]))
    assert "Losses that are not finite numbers are left out: 1." in page
    assert 'data-weights="[[0.0000]]"' in page
    assert "le → the: nan" in Reader(page).texts


def test_weights_must_fit_the_words() -> None:
    with pytest.raises(AssertionError, match=r"rows of \[2\], the words need \[3\]"):
        AlignedPair(["a", "b", "c"], ["d"], [[0.5, 0.5]])


def test_alignment_text_names_the_strongest_source_word() -> None:
    assert alignment_text(cat()) == [("le", "the", 0.9), ("chat", "cat", 0.887655)]
    assert alignment_text(cat(), threshold=0.89) == [("le", "the", 0.9), ("chat", "", 0.887655)]
    assert alignment_text(AlignedPair(["a", "b"], ["c"], [[0.5, 0.5]])) == [("c", "a", 0.5)]
    assert alignment_text(AlignedPair([], ["c"], [[]])) == [("c", "", 0.0)]


def test_words_are_joined_as_one_writes_them() -> None:
    assert joined(["le", "chat", "s'", "est", "assis", ",", "là", "."]) == "le chat s'est assis, là."
    assert joined(["it", "'s", "(", "almost", ")", "here"]) == "it's (almost) here"
    assert joined([]) == ""
    assert not glued("", "a")


@pytest.mark.parametrize(
    "value, text", [(0.0, "0"), (1.0, "1.00"), (0.9, "0.900"), (0.012345, "0.0123"), (123.4, "123"), (7.25, "7.25")]
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert three_digits(value) == text


@pytest.mark.parametrize(
    "name, value, text",
    [("alignment_error_rate", 0.0412, "4.1\u202f%"), ("chrf", 98.07, "98.1"), ("perplexity", 3.14159, "3.14")],
)
def test_scores_are_written_in_their_own_unit(name: str, value: float, text: str) -> None:
    assert score_text(name, value) == text


def test_axes_have_round_numbers_that_reach_the_highest() -> None:
    assert ticks(7.25, 5) == [0, 2, 4, 6, 8]
    assert ticks(1000, 5) == [0, 200, 400, 600, 800, 1000]
    assert ticks(0.3, 5) == [0, 0.1, 0.2, 0.3]
    assert "step 1,000: 0.812" in curve_figure([], [(1000, 0.8125)])

"""Drawings that leave their page: complete, without variables, and behind a link that needs no network."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree

import pytest

from regard.inspection.figures.alignments import AlignedPair, heat_map, links_figure
from regard.inspection.figures.curves import curve_figure
from regard.inspection.figures.lines import Series, line_figure
from regard.inspection.figures.page_style import STYLE
from regard.inspection.figures.standalone import LIGHT, matrix_svg, save_link, standalone, with_save_links

PAIR = AlignedPair(["the", "<cat>"], ["le", "chat", "."], [[0.9, 0.1], [0.25, 0.75], [0.5, 0.5]])
LINES = line_figure([Series("a", [(1, 2.0), (2, 3.0)]), Series("b", [(1, 1.0)])], x_label="x", y_label="y",
                    title_for_screen_readers="two")  # fmt: skip
DRAWINGS = {
    "links": links_figure(PAIR),
    "heat map": heat_map(PAIR),
    "curve": curve_figure([(1, 2.0), (2, 1.0)], [(2, 1.5)]),
    "lines": LINES,
    "matrix": matrix_svg([[1.0, 0.0], [0.5, 0.5]], ["a", "<b>"], ["a", "<b>"], "weights & more"),
}
every_drawing = pytest.mark.parametrize("name", DRAWINGS)


@every_drawing
def test_a_drawing_is_a_file_that_any_program_understands(name: str) -> None:
    whole = standalone(DRAWINGS[name])
    root = ElementTree.fromstring(whole)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    _, _, width, height = root.attrib["viewBox"].split()
    assert (root.attrib["width"], root.attrib["height"]) == (width, height)
    assert not re.search(r"var\(|light-dark|tabindex", whole)
    (style,) = root.iter("{http://www.w3.org/2000/svg}style")
    assert LIGHT["accent"] in str(style.text)
    texts = [one for one in ElementTree.fromstring(DRAWINGS[name]).iter() if one.tag.endswith("text")]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}text"))) == len(texts) > 0


def test_colours_of_the_page_are_those_of_the_file() -> None:
    for name, colour in LIGHT.items():
        assert f"--{name}: {colour};" in STYLE


def test_a_link_holds_the_whole_file() -> None:
    link = save_link(standalone(LINES), "How far: a & b?")
    assert 'download="how-far-a-b.svg"' in link
    assert "How far: a &amp; b?" in link
    data = re.search(r'href="data:image/svg\+xml;base64,([^"]+)"', link)
    assert data is not None
    assert base64.b64decode(data[1]).decode("utf-8") == standalone(LINES)


def test_every_drawing_of_a_part_has_a_link_and_several_are_numbered() -> None:
    assert re.findall('download="([^"]+)"', with_save_links(f"<p>x</p>{LINES}", "costs")) == ["costs.svg"]
    several = with_save_links(LINES + DRAWINGS["curve"], "costs")
    assert re.findall('download="([^"]+)"', several) == ["costs-1.svg", "costs-2.svg"]
    assert with_save_links("", "costs") == ""


def test_a_matrix_has_its_tokens_beside_it() -> None:
    root = ElementTree.fromstring(DRAWINGS["matrix"])
    assert [one.text for one in root.iter("text")] == ["a", "<b>", "a", "<b>"]
    assert len(list(root.iter("image"))) == 1

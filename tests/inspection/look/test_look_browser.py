"""The pages in a real browser: clicks, values against tensors, keyboard, narrow screens, dark colours, no network."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.attention.formulas import attention
from regard.core.files import write_text
from regard.inspection.heads.reading import Reading, read
from regard.inspection.look.gathering import look
from regard.inspection.look.page import idea_page, look_page
from tests.inspection.browsing import Seen, opened
from tests.inspection.loud_runs import OTHER, TAGGER, TEXT, headed_run, loud

TABS = ("Tokens", "Heads", "Walk", "Decoding", "Depths", "Statistics", "Embeddings")
HOSTILE = "</script><img src=x onerror='window.bad = 1'><b>&amp;"
SVG = "{http://www.w3.org/2000/svg}"
CLOSE = 5.5e-3  # half of the third digit, and what packing takes


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_text(folder / "translator.html", look_page(look(loud("transformer"), [TEXT, OTHER], ["a dog", "the cat"])))
    write_text(folder / "writer.html", look_page(look(loud("gpt"), [TEXT])))
    write_text(folder / "idea.html", idea_page())
    hostile = look(loud("gpt"), [TEXT])
    text = hostile.data["texts"][0]
    text["text"] = hostile.data["run"]["name"] = HOSTILE
    text["tokens"] = text["predicts"] = [HOSTILE] * len(text["tokens"])
    for step in text["steps"]:
        step["candidates"] = [[HOSTILE, chance] for _, chance in step["candidates"]]
    text["depths"]["best"] = [[HOSTILE] * len(row) for row in text["depths"]["best"]]
    write_text(folder / "hostile.html", look_page(hostile))
    return folder


@pytest.fixture(scope="module")
def exact() -> Reading:
    return read(loud("transformer"), TEXT, "a dog")


def choose(seen: Seen, name: str, head: int) -> None:
    seen.page.get_by_label("attention", exact=True).select_option(label=name)
    seen.page.get_by_label("head", exact=True).select_option(label=str(head))


def number(shown: str) -> float:
    return float(shown.replace("−", "-"))


def test_every_view_opens_without_network_and_without_complaint(browser: Any, pages: Path) -> None:
    for name, tabs in (("translator", TABS), ("writer", TABS)):
        seen = opened(browser, pages / f"{name}.html")
        seen.check_tabs(tabs)
        assert seen.requests == [(pages / f"{name}.html").as_uri()]
        assert seen.complaints == []


def saved(seen: Seen, button: Any) -> ElementTree.Element:
    """What the browser hands over: a file that is whole."""
    with seen.page.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename.endswith(".svg")
    return ElementTree.fromstring(Path(waiting.value.path()).read_text(encoding="utf-8"))


def texts_of(figure: ElementTree.Element) -> list[str]:
    return [(one.text or "").strip() for one in figure.iter(f"{SVG}text")]


def test_every_figure_can_be_saved_as_svg(browser: Any, pages: Path) -> None:
    for name in ("translator", "hostile"):
        for tab in TABS:
            seen = opened(browser, pages / f"{name}.html")  # anew: after ten files a browser asks
            seen.tab(tab)
            buttons = seen.page.locator(".saves button").all()
            assert buttons
            for button in buttons:
                figure = saved(seen, button)
                assert min(float(figure.attrib[side]) for side in ("width", "height")) > 40
                assert len(list(figure.iter())) > 10
                assert not list(figure.iter(f"{SVG}script"))
            assert seen.requests == [(pages / f"{name}.html").as_uri()]
            assert seen.complaints == []
            seen.page.context.close()


def test_a_saved_matrix_holds_the_tensors_values(browser: Any, pages: Path, exact: Reading) -> None:
    seen = opened(browser, pages / "translator.html")
    seen.tab("Heads")
    choose(seen, "decoder.layers.1.cross", 1)
    figure = saved(seen, seen.page.locator(".saves button").last)
    squares = [str(one.text).rpartition(": ")[2] for one in figure.iter(f"{SVG}title") if "→" in str(one.text)]
    weights = [weight for row in exact.head("decoder.layers.1.cross", 1).weights_TS for weight in row]
    assert [number(one) for one in squares] == pytest.approx(weights, rel=CLOSE)


def test_saved_tokens_are_texts_and_lines(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "translator.html")
    figure = saved(seen, seen.page.locator(".saves button").first)
    assert set(seen.texts(".right .token .word")) <= set(texts_of(figure))
    lines = list(figure.iter(f"{SVG}path"))
    assert len(lines) == seen.page.locator(".lines path").count() > 5
    assert all(one.attrib["stroke"].startswith("rgb") and one.attrib["fill"] == "none" for one in lines)


def test_the_idea_is_saved_as_it_stands(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "idea.html")
    for button in seen.page.locator(".saves button").all():
        assert "mat" in texts_of(saved(seen, button))
    assert seen.complaints == []


def test_pointing_at_a_token_shows_the_tensors_values(browser: Any, pages: Path, exact: Reading) -> None:
    seen = opened(browser, pages / "translator.html")
    choose(seen, "decoder.layers.1.cross", 1)
    weights_TS = exact.head("decoder.layers.1.cross", 1).weights_TS
    seen.page.locator(".left .token").nth(3).hover()
    shown = {place: number(text) for place, text in enumerate(seen.texts(".right .token .number")) if text}
    assert shown == pytest.approx({s: weights_TS[3][s] for s in shown}, rel=CLOSE)
    assert sum(shown.values()) == pytest.approx(1.0, abs=0.02)
    assert seen.text(".left .token.held .word") == exact.predicts[3]
    seen.page.locator(".right .token").nth(2).hover()
    looked = {place: number(text) for place, text in enumerate(seen.texts(".left .token .number")) if text}
    assert looked == pytest.approx({t: weights_TS[t][2] for t in looked}, rel=CLOSE)
    assert "is looked at by" in seen.text(".told")


def test_a_matrix_tells_the_exact_value_of_the_cell_under_the_mouse(browser: Any, pages: Path, exact: Reading) -> None:
    seen = opened(browser, pages / "translator.html")
    seen.tab("Heads")
    seen.page.get_by_role("button", name="encoder.layers.1.attention, head 0", exact=True).click()
    assert seen.text(".head-title") == "encoder.layers.1.attention, head 0"
    weights_TS = exact.head("encoder.layers.1.attention", 0).weights_TS
    box = seen.page.locator("canvas.matrix").bounding_box()
    met = set()
    for right, down in ((0.5, 0.5), (0.8, 0.4), (0.45, 0.8), (0.6, 0.65)):
        seen.page.mouse.move(box["x"] + right * 400 + 60, box["y"] + down * box["height"])
        row, column = (int(part.split()[-1]) for part in seen.text(".value .quiet").split(","))
        assert number(seen.text(".value strong")) == pytest.approx(weights_TS[row][column], rel=CLOSE)
        met.add((row, column))
    assert len(met) > 2
    seen.page.locator("canvas.matrix").focus()
    before = seen.text(".value .quiet")
    seen.page.keyboard.press("ArrowLeft")
    seen.page.keyboard.press("ArrowUp")
    assert seen.text(".value .quiet") != before


def test_what_comes_later_is_masked(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "writer.html")
    seen.tab("Heads")
    seen.page.locator("canvas.matrix").focus()
    seen.page.keyboard.press("End")
    assert seen.text(".value strong") == "masked"


def test_the_walk_adds_up(browser: Any, pages: Path, exact: Reading) -> None:
    seen = opened(browser, pages / "translator.html")
    choose(seen, "decoder.layers.0.attention", 1)
    seen.tab("Walk")
    seen.page.get_by_label("The query of").select_option("4")
    weights = [number(text) for text in seen.texts(".walk .weight")]
    assert weights == pytest.approx(exact.head("decoder.layers.0.attention", 1).weights_TS[4], rel=CLOSE, abs=1e-6)
    rows = [row.split("\t") for row in seen.texts(".walk tbody tr")]
    for row in rows:
        raw, scaled = number(row[2]), number(row[3])
        assert scaled == pytest.approx(raw / 12**0.5, rel=2e-2, abs=1e-3)  # two heads of 24: d_k = 12
    assert sum("−∞" in row for line in rows for row in line) == len(rows) - 5


def test_keys_go_from_view_to_view_and_from_head_to_head(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "translator.html")
    seen.page.get_by_role("tab", name="Tokens").focus()
    seen.page.keyboard.press("ArrowRight")
    assert seen.page.get_by_role("tab", name="Heads").get_attribute("aria-selected") == "true"
    first = seen.text(".head-title")
    seen.page.keyboard.press("p")
    assert seen.text(".head-title") != first
    seen.page.locator(".thumb[aria-pressed=true]").focus()
    seen.page.keyboard.press("ArrowLeft")
    pressed = seen.page.locator(".thumb[aria-pressed=true]")
    assert pressed.count() == 1
    assert pressed.get_attribute("aria-label") == seen.text(".head-title")
    seen.tab("Tokens")
    seen.page.locator(".left .token[tabindex='0']").focus()
    held = seen.text(".token.held")
    seen.page.keyboard.press("ArrowUp")
    assert seen.text(".token.held") != held


def test_a_tagger_tells_the_tag_of_every_word(browser: Any, tmp_path: Path) -> None:
    run = headed_run(tmp_path / "run", TAGGER)
    write_text(tmp_path / "tagger.html", look_page(look(run, ["ein Vogel singt"])))
    seen = opened(browser, tmp_path / "tagger.html")
    seen.tab("Answer")
    word = run.task.tag(run.session(), ["ein Vogel singt"])[0].words[1]
    seen.page.get_by_role("button", name="Vogel").click()
    assert seen.text(".candidates h3") == "What “Vogel” is"
    assert seen.text(".candidates .word") == word.tag
    assert number(seen.text(".candidates .value")) == pytest.approx(word.probability, rel=CLOSE)
    assert seen.complaints == []


def test_another_text_is_another_page(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "translator.html")
    seen.page.get_by_label("Text", exact=True).select_option(label=OTHER)
    assert seen.text("h1") == OTHER
    assert "".join(seen.texts(".left .token .word")[:3]) == "the"
    assert seen.complaints == []


@pytest.mark.parametrize("name", ["translator", "idea"])
def test_a_telephone_shows_it_without_scrolling_sideways(browser: Any, pages: Path, name: str) -> None:
    seen = opened(browser, pages / f"{name}.html", width=380, touch=True)
    tabs = seen.page.get_by_role("tab").all()
    for tab in tabs or [None]:
        if tab is not None:
            tab.tap()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 380


def test_colours_follow_the_system_and_the_switch(browser: Any, pages: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(browser, pages / "writer.html", colours=colours) for colours in ("light", "dark"))
    bright, night = light.page.evaluate(ground), dark.page.evaluate(ground)
    assert bright != night
    dark.page.get_by_role("button", name="Light colours").click()
    assert dark.page.evaluate(ground) == bright
    dark.page.get_by_role("button", name="Dark colours").click()
    assert dark.page.evaluate(ground) == night


def test_markup_in_tokens_stays_text(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "hostile.html")
    for tab in TABS:
        seen.tab(tab)
    assert seen.page.evaluate("[window.bad, document.querySelectorAll('img, b:not(.vector b)').length]") == [None, 0]
    assert seen.text("h1") == HOSTILE
    assert seen.complaints == []


def idea_numbers(seen: Seen, name: str) -> torch.Tensor:
    cells = seen.page.locator(f".drag[data-table={name}]").all_inner_texts()
    return torch.tensor([number(text) for text in cells]).view(6, 4)


def idea_weights(seen: Seen) -> torch.Tensor:
    return torch.tensor([float(text.replace("·", "0")) for text in seen.texts("[data-weight]")])


def test_the_idea_follows_the_formula_as_numbers_are_dragged(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "idea.html")
    cell = seen.page.locator(".drag[data-table=query][data-row='1'][data-part='2']")
    box = cell.bounding_box()
    seen.page.mouse.move(box["x"] + 5, box["y"] + 20)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 5, box["y"] - 40)
    seen.page.mouse.up()
    cell.press("ArrowUp")
    assert number(cell.inner_text()) == pytest.approx(2.1)
    seen.page.locator("[data-choice='mask:future']").click()
    q, k, v = (idea_numbers(seen, name) for name in ("query", "key", "value"))
    triangle = torch.ones(6, 6, dtype=torch.bool).tril()
    expected = attention(q, k, torch.eye(6), triangle)
    assert idea_weights(seen).view(6, 6) == pytest.approx(expected, abs=0.0051)
    heard = torch.tensor([number(text) for text in seen.texts(".idea-output .weigh")]).view(6, 4)
    assert heard == pytest.approx(expected @ v, abs=0.0051)
    seen.page.locator("[data-choice='heads:2']").click()
    halves = torch.stack([attention(q[:, at], k[:, at], torch.eye(6), triangle) for at in (slice(2), slice(2, 4))])
    assert idea_weights(seen).view(2, 6, 6) == pytest.approx(halves, abs=0.0051)
    assert seen.complaints == []


def test_the_idea_at_temperature_0_is_a_lookup(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "idea.html")
    seen.page.get_by_label("temperature").fill("0")
    assert set(idea_weights(seen).tolist()) <= {0.0, 0.5, 1.0}
    assert "this is a lookup" in seen.text(".sentence")
    seen.page.locator("[data-choice='matrices:1']").click()
    assert seen.page.locator(".drag[data-table=query]").count() == 0
    x = idea_numbers(seen, "value")
    scores = x @ x.T
    assert torch.equal(scores, scores.T)
    best = (scores == scores.amax(1, keepdim=True)).float()
    assert idea_weights(seen).view(6, 6) == pytest.approx(best / best.sum(1, keepdim=True), abs=0.0051)

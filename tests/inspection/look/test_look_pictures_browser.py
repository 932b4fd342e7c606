"""Pages about pictures in a real browser: pointing, holding, keys, several pictures, narrow screens, no network."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.core.files import write_text
from regard.core.taps import record
from regard.inspection.look.gathering import look
from regard.inspection.look.heads import Wanted
from regard.inspection.look.page import look_page
from regard.inspection.probes import probe
from tests.inspection.browsing import Seen, opened
from tests.inspection.picture_runs import picture_run, pictures

TABS = ("Picture", "Layers", "Heads", "Walk", "Statistics")
LAST = "body.layers.1.attention"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    write_text(folder / "three.html", look_page(look(picture_run(), pictures())))
    write_text(folder / "bare.html", look_page(look(picture_run(class_token=False), pictures()[:1])))
    write_text(folder / "few.html", look_page(look(picture_run(), pictures()[:1], wanted=Wanted((1,), (0,)))))
    return folder


def weights(position: int, head: int) -> list[float]:
    """What a position reads in the last layer, from the tensors."""
    asked = probe(picture_run(), pictures()[0])
    with torch.inference_mode(), record(picture_run().model, LAST) as seen:
        asked.run(picture_run().model)
    return seen[LAST].weights[0, head, position].tolist()


def point(seen: Seen, row: int, column: int) -> None:
    """At the middle of a patch of the large picture, counted from 0."""
    box = seen.page.locator("canvas.big").bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * (column + 0.5) / 4, box["y"] + box["height"] * (row + 0.5) / 4)


def listed(seen: Seen) -> dict[str, float]:
    words, values = seen.texts(".strongest .word"), seen.texts(".strongest .value")
    return {word: float(value.replace("−", "-")) for word, value in zip(words, values, strict=True)}


def expected(position: int, head: int) -> dict[str, float]:
    row = weights(position, head)
    found = {f"row {place // 4 + 1}, column {place % 4 + 1}": weight for place, weight in enumerate(row[1:])}
    return {**found, "class token": row[0]}


def test_every_view_opens_without_network_and_without_complaint(browser: Any, pages: Path) -> None:
    for name in ("three", "bare", "few"):
        for colours in ("light", "dark"):
            seen = opened(browser, pages / f"{name}.html", colours=colours)
            seen.check_tabs(TABS)
            assert seen.requests == [(pages / f"{name}.html").as_uri()]
            assert seen.complaints == []


def test_pictures_under_heat_can_be_saved_as_svg(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html")
    for tab in ("Picture", "Layers"):
        seen.tab(tab)
        for button in seen.page.locator(".saves button").all():
            with seen.page.expect_download() as waiting:
                button.click()
            figure = ElementTree.fromstring(Path(waiting.value.path()).read_text(encoding="utf-8"))
            pictures = list(figure.iter("{http://www.w3.org/2000/svg}image"))
            assert pictures
            assert all(one.attrib["href"].startswith("data:image/png;base64,") for one in pictures)
    assert seen.complaints == []


def test_a_patch_that_is_pointed_at_shows_what_it_reads(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html")
    seen.page.get_by_label("attention", exact=True).select_option(label=LAST)
    seen.page.get_by_label("head", exact=True).select_option(label="2")
    assert seen.text(".strongest h3") == "The class token reads most"
    found = listed(seen)
    assert found == pytest.approx({place: expected(0, 2)[place] for place in found}, rel=6e-3)
    point(seen, 1, 2)
    assert seen.text(".strongest h3") == "The patch in row 2, column 3 reads most"
    found, own = listed(seen), expected(1 + 4 + 2, 2)
    assert found == pytest.approx({place: own[place] for place in found}, rel=6e-3)
    assert max(found, key=found.__getitem__) == max(own, key=own.__getitem__)
    seen.page.mouse.move(2, 2)
    assert seen.text(".strongest h3") == "The class token reads most"


def test_a_patch_is_held_by_a_click_and_moved_by_keys(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html")
    point(seen, 0, 0)
    seen.page.mouse.down()
    seen.page.mouse.up()
    point(seen, 3, 3)  # what is held stays
    assert seen.text(".strongest h3") == "The patch in row 1, column 1 reads most"
    seen.page.locator("canvas.big").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        seen.page.keyboard.press(key)
    assert seen.text(".strongest h3") == "The patch in row 2, column 3 reads most"
    seen.tab("Layers")  # where it is still held
    assert seen.text("#view-rollout .readers output") == "the patch in row 2, column 3"
    seen.page.locator("#view-rollout").get_by_role("button", name="all patches").click()
    seen.tab("Picture")
    assert seen.text(".strongest h3") == "All patches read most"
    seen.page.locator("canvas.big").focus()
    seen.page.keyboard.press("Escape")
    assert seen.text(".strongest h3") == "The class token reads most"


def painted(seen: Seen, selector: str) -> list[int]:
    """The colours of a canvas."""
    script = "one => Array.from(one.getContext('2d').getImageData(0, 0, one.width, one.height).data)"
    return seen.page.locator(selector).first.evaluate(script)


def test_every_head_follows_and_heat_can_be_taken_away(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html")
    before, thumb = painted(seen, "canvas.big"), painted(seen, ".heats .thumb canvas")
    point(seen, 2, 1)
    assert painted(seen, ".heats .thumb canvas") != thumb
    seen.page.mouse.move(2, 2)
    assert painted(seen, "canvas.big") == before
    seen.page.get_by_label("smooth").check()
    assert painted(seen, "canvas.big") != before
    seen.page.get_by_label("heat").fill("0")
    bare = seen.page.locator("canvas.big").evaluate(
        "one => Array.from(one.getContext('2d').getImageData(1, 1, 1, 1).data)"
    )
    pixels_HWC = probe(picture_run(), pictures()[0]).pixels_HWC
    assert pixels_HWC is not None
    assert bare == pytest.approx([*pixels_HWC[0, 0].tolist(), 255], abs=2)


def test_one_of_several_pictures_is_chosen(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html")
    assert seen.text("h1") == pictures()[0].name
    choices = seen.page.locator(".choice")
    assert choices.count() == 3
    choices.nth(2).click()
    assert seen.text("h1") == pictures()[2].name
    label = picture_run().answers([pictures()[2]])[0][0].text
    assert seen.text(".seen-top .word") == label
    assert choices.nth(2).get_attribute("aria-pressed") == "true"


def test_what_is_not_here_in_full_is_a_thumbnail_with_its_command(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "few.html")
    thumbs = seen.page.locator(".heats .thumb")
    assert thumbs.count() == 6
    assert seen.page.locator(".heats .thumb.partial").count() == 5
    thumbs.nth(1).click()
    assert "--layers 0 --heads 1" in seen.text(".strongest code")
    seen.tab("Statistics")
    seen.page.get_by_role("button", name=f"{LAST} 0").click()
    assert seen.page.get_by_role("tabpanel", name="Picture").is_visible()


def test_without_a_class_token_all_patches_look(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "bare.html")
    assert seen.text(".strongest h3") == "All patches read most"
    assert seen.texts(".readers button")[:1] == ["all patches"]
    assert "class token" not in seen.text(".strongest")


def test_a_narrow_screen_is_enough(browser: Any, pages: Path) -> None:
    seen = opened(browser, pages / "three.html", width=390, touch=True)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    seen.page.locator("canvas.big").tap(position={"x": 20, "y": 20})
    assert seen.text(".strongest h3") == "The patch in row 1, column 1 reads most"

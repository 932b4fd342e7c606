"""``regard look``: pages are written where they are wanted, and what cannot be shown is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard


def test_a_run_becomes_a_page(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    told = regard("look", run, "the cat sleeps", "--out", page, "--json").json
    text = page.read_text(encoding="utf-8")
    assert told == {"page": str(page), "bytes": len(text.encode()), "left_out": []}
    assert "the cat sleeps" in text


def test_without_a_text_it_looks_at_the_validation_data(run: Path, tmp_path: Path) -> None:
    assert regard("look", run, "--out", tmp_path / "page.html").lines[-1] == f"page: {tmp_path / 'page.html'}"


def test_chosen_heads_alone_are_in_full_and_drawn(run: Path, tmp_path: Path) -> None:
    done = regard("look", run, "the cat sleeps", "--layers", "0", "--heads", "1", "--out", tmp_path / "page.html",
                  "--png", tmp_path / "figures")  # fmt: skip
    assert "3 of 10 heads are here in full" in done.out
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == [
        "entropy.png", "text-1-decoder.layers.0.attention-1.png", "text-1-decoder.layers.0.cross-1.png",
        "text-1-depths.png", "text-1-encoder.layers.0.attention-1.png",
    ]  # fmt: skip
    assert all((tmp_path / "figures" / name).read_bytes().startswith(b"\x89PNG") for name in drawn)


def test_figures_are_drawn_as_svg_too(run: Path, tmp_path: Path) -> None:
    done = regard("look", run, "the cat sleeps", "--layers", "0", "--heads", "1", "--out", tmp_path / "page.html",
                  "--svg", tmp_path / "figures")  # fmt: skip
    assert done.code == 0, done.err
    drawn = sorted((tmp_path / "figures").iterdir())
    assert len(drawn) == 5
    assert all("<svg" in path.read_text(encoding="utf-8") for path in drawn)


def test_one_figure_is_written_without_a_page(run: Path, tmp_path: Path) -> None:
    name, out = "text-1-decoder.layers.0.cross-1", tmp_path / "head.svg"
    before = sorted(run.iterdir())
    told = regard("look", run, "the cat sleeps", "--figure", name, "--out", out, "--json").json
    assert told == {"figure": str(out), "name": name}
    assert "sleeps" in out.read_text(encoding="utf-8")
    assert sorted(run.iterdir()) == before
    unknown = regard("look", run, "the cat sleeps", "--figure", "text-1-depth", "--out", out).error
    assert "there is no figure 'text-1-depth' (did you mean 'text-1-depths'?); there are entropy, text-1-" in unknown


def test_the_idea_needs_no_run(tmp_path: Path) -> None:
    regard("look", "--idea", "--out", tmp_path / "idea.html").lines  # noqa: B018
    assert "definiteness" in (tmp_path / "idea.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a run folder, as regard look runs/first, or ask for the idea alone"),
        (("--idea", "--heads", "1"), "--idea is a page by itself; leave out"),
        (("RUN", "a cat", "--heads", "1,x"), "--heads takes numbers from 0 on, separated by commas, as 0,3; found 'x'"),
        (("RUN", "a cat", "--heads", ""), "--heads takes numbers from 0 on, separated by commas, as 0,3; found ''"),
        (("RUN", "a cat", "--layers", ""), "--layers takes numbers from 0 on"),
        (("--idea", "--layers", ""), "--idea is a page by itself; leave out"),
        (("RUN", "a cat", " "), "text 2 is empty; give it some words, or leave it out"),
        (("RUN", "a cat", "--target", ""), "--target 1 is empty; give it some words, or leave it out"),
        (("RUN", "a cat", "--heads", "7"), "the model does not have: head 7 (there are 0 to 1)"),
        (("RUN", "a cat", "--figure", "entropy"), "--figure is written where --out says, as .svg, .png, .json"),
        (("RUN", "a cat", "--figure", "entropy", "--out", "x.html"), "as .svg, .png, .json: --out figure.svg"),
        (("RUN", "a cat", "--figure", "entropy", "--out", "x.svg", "--svg", "all"), "--png and --svg write all"),
        (("RUN", "a cat", "--out", "page.pdf"), "the page is written as HTML; give --out a name such as page.html"),
        (("RUN", "--target", "le chat"), "--target is the answer to a text; give the text too"),
        (("RUN", "a cat", "a dog", "--target", "le chat"), "2 texts against 1 targets; give one for each, in order"),
    ],
)
def test_what_cannot_be_shown_is_said(run: Path, arguments: tuple[str, ...], message: str) -> None:
    given = [run if word == "RUN" else word for word in arguments]
    assert message in regard("look", *given).error.replace("\n", " ")

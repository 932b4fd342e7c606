"""What a newcomer meets first: help with examples, the recipes, colour that can be turned off."""

from __future__ import annotations

import os
import pty
import subprocess
import tomllib

import pytest
from command import REGARD, regard

from regard import __version__
from regard.core.config import parse
from regard.runs.recipe import Recipe, recipes

VERBS = (
    "demo", "train", "evaluate", "predict", "compare", "check", "import", "export", "search", "recipes",
    "measure", "measure attention", "prune",
    "recipes list", "recipes show",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_verb_shows_examples(verb: str, option: str) -> None:
    found = regard(*verb.split(), option)
    after = found.out.partition("Example")[2].splitlines()[1:]
    examples = [line.strip() for line in after if f"regard {verb}" in line]
    assert found.code == 0
    assert examples, found.out
    assert all(len(example) < 79 for example in examples), "an example that is folded cannot be copied"


def test_the_first_page_names_every_verb_and_where_to_start() -> None:
    found = regard("--help").out
    for word in ("demo", "train", "evaluate", "predict", "compare", "recipes", "Start with: regard demo"):
        assert word in found
    assert "<bool>" not in regard("predict", "--help").out.replace("Show this message", "").partition("--help")[0]


def test_the_version() -> None:
    assert regard("--version").out == f"regard {__version__}\n"


def test_an_unknown_verb_is_a_matter_of_usage() -> None:
    found = regard("trian")
    assert (found.code, found.out) == (2, "")
    assert "train" in found.err


def test_recipes_are_listed_one_a_line_with_what_they_are() -> None:
    written, found = regard("recipes", "list").lines, regard("recipes", "list", "--json").json
    lines = [line.removeprefix("  ") for line in written if line.startswith("  ")]
    headings = [line for line in written if not line.startswith("  ")]
    titles = [heading.partition(": ")[0] for heading in headings]
    assert {heading.rpartition(": ")[2] for heading in headings} == set(found["groups"])
    order = ["texts", "pictures", "graphs", "series", "sounds", "videos"]
    assert titles == sorted(titles, key=order.index), "like beside like"
    pictures = written[written.index("pictures") : written.index("graphs")]
    assert any(line.startswith("  digits-pixels ") for line in pictures), "though a GPT reads them as signs"
    assert "digits-pixels" in found["modalities"]["text"]
    assert "fashion" in found["modalities"]["image"]
    described = [line.split(maxsplit=1) for line in lines]
    assert sorted(name for name, _ in described) == sorted(recipes())
    assert all(found["recipes"][name] == description for name, description in described)


def test_a_recipe_is_shown_as_shipped_and_in_full() -> None:
    assert regard("recipes", "show", "reverse").out == recipes()["reverse"].read_text(encoding="utf-8")
    full = tomllib.loads(regard("recipes", "show", "reverse", "--full").out)
    assert parse(Recipe, full) == Recipe.read("reverse")
    assert full["training"]["clip"] == 1.0
    assert regard("recipes", "show", "reverse", "--full", "--json").json == {"name": "reverse", "recipe": full}


def test_an_unknown_recipe_names_the_nearest() -> None:
    assert "did you mean 'reverse'?" in regard("recipes", "show", "revers").error


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """Standard error of a command that believes to speak to a person."""
    ours, theirs = pty.openpty()
    without = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    subprocess.run(
        [REGARD, *arguments], stderr=theirs, stdout=subprocess.DEVNULL,
        env={**without, "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(theirs)
    with os.fdopen(ours, "rb") as terminal:
        return terminal.read1(10_000).decode()


RED = "\x1b[1;31m"


def test_an_error_is_red_unless_colour_is_unwanted() -> None:
    wrong = ("recipes", "show", "revers")
    assert RED in on_a_terminal(*wrong)
    for plain in (on_a_terminal(*wrong, NO_COLOR="1"), on_a_terminal(*wrong, "--no-color")):
        assert "31m" not in plain
        assert "there is no recipe 'revers'" in plain

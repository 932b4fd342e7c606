"""Puts a page together: style, script and data in one file that fetches nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from regard.inspection.figures.alignments import escaped
from regard.inspection.look.gathering import Look

LOOK_SCRIPTS = (
    "parts.js", "colours.js", "saving.js", "numbers.js", "state.js", "views/tokens.js", "views/graph.js", "matrix.js",
    "views/heads.js", "views/walk.js", "pictures.js", "views/picture.js", "views/rollout.js", "views/decoding.js",
    "views/beam_tree.js", "views/depths.js", "views/experts.js", "views/statistics.js", "views/entering.js", "look.js",
)  # fmt: skip
IDEA_SCRIPTS = ("parts.js", "colours.js", "saving.js", "idea_attention.js", "idea.js")


def look_page(seen: Look) -> str:
    """The whole page; every token is data in it, and becomes text, never markup."""
    title = f"{seen.data['run']['name']}: a look inside"
    first = seen.data["texts"][0]
    own = first["heads"][first["first"]].get("key", "")
    late = {one["key"] for text in seen.data["texts"] for one in text["heads"] if "key" in one} - {own}
    late |= {f"{key}.walk" for key in late}
    held = f'<script type="application/json" id="look">{data_text(seen.data)}</script>\n'
    held += _numbers({key: text for key, text in seen.numbers.items() if key not in late})
    after = _numbers({key: text for key, text in seen.numbers.items() if key in late})
    return page(title, ("look.css",), LOOK_SCRIPTS, held, after)


def _numbers(numbers: Mapping[str, str]) -> str:
    """Long numbers in elements that nothing runs and nobody sees."""
    opening = '<script type="text/plain" id="n:'
    return "\n".join(f'{opening}{escaped(key)}">{text}</script>' for key, text in numbers.items())


def idea_page() -> str:
    """Queries, keys and values of one sentence, to be dragged; weights and output follow."""
    return page("The idea of attention", ("look.css", "idea.css"), IDEA_SCRIPTS)


def page(title: str, styles: tuple[str, ...], scripts: tuple[str, ...], held: str = "", after: str = "") -> str:
    """Scripts share one scope and run between what they need at once and what they may wait for."""
    joined = "\n".join(map(asset, scripts))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; '
        "script-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{escaped(title)}</title>\n<style>\n{''.join(map(asset, styles))}</style>\n</head>\n<body>\n"
        "<main></main>\n<noscript>This page draws with JavaScript, all of which is inside it.</noscript>\n"
        f'{held}\n<script>\n"use strict";\n(() => {{\n{joined}\n}})();\n</script>\n{after}\n</body>\n</html>\n'
    )


def asset(name: str) -> str:
    """A script or style sheet of the package."""
    return files("regard.inspection.look").joinpath("assets", name).read_text(encoding="utf-8")


def data_text(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the element it stands in, whatever a token says."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")

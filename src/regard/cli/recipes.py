"""``regard recipes``: lists and shows the shipped recipes."""

from __future__ import annotations

import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import typer

from regard.cli.console import JSON_OPTION, console, escape_markup, flag, notes, say, write_json
from regard.core.config import nearest
from regard.core.errors import RecipeError

HELP = """The shipped recipes: list them, show one.

\b
Examples:
  regard recipes list
  regard recipes show reverse
  regard recipes show reverse --full > mine.toml
"""

app = typer.Typer(help=HELP, short_help="The shipped recipes: list them, show one.", no_args_is_help=True)


FOLDER = Path(str(resources.files("regard"))) / "recipes"
USUAL = "text"
"""What a recipe reads that does not say so."""
TITLES = {
    USUAL: "texts", "image": "pictures", "graph": "graphs", "series": "series", "audio": "sounds", "video": "videos",
}  # fmt: skip
"""Of what is read, in the order of the list."""
SETS = FOLDER / "sets.toml"


def _shipped() -> dict[str, Path]:
    """By name; found without importing what recipes are parsed with, so that the list appears at once."""
    return {path.stem: path for path in sorted(FOLDER.rglob("*.toml")) if path != SETS}


def _headings(groups: Mapping[str, Sequence[str]], modality_of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What stands above each group, and its name: groups that read the same are together. A group belongs to what most
    of its recipes read, so that a picture that is read as signs is found among pictures."""
    counts = {group: Counter(modality_of[name] for name in names) for group, names in groups.items()}
    usual = {group: own.most_common(1)[0][0] for group, own in counts.items()}
    for modality in dict.fromkeys((*TITLES, *usual.values())):
        title = TITLES.get(modality, modality)
        for group in groups:
            if usual[group] == modality:
                yield group if group == title else f"{title}: {group}", group


@app.command("list")
def list_recipes(as_json: bool = JSON_OPTION) -> None:
    """List the shipped recipes, by what they read and what for.

    \b
    Example:
      regard recipes list
    """
    found = {name: tomllib.loads(path.read_text(encoding="utf-8")) for name, path in _shipped().items()}
    described = {name: str(tree.get("description", "")) for name, tree in found.items()}
    sets = tomllib.loads(SETS.read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {}
    modalities: dict[str, list[str]] = {USUAL: []}
    for name, path in _shipped().items():
        groups.setdefault(path.parent.name.replace("-", " "), []).append(name)
        modalities.setdefault(found[name].get("input", {}).get("kind", USUAL), []).append(name)
    if as_json:
        write_json({"recipes": described, "groups": groups, "modalities": modalities, "sets": sets})
        return
    column = max(map(len, described)) + 2
    room = console.width if console.is_terminal else sys.maxsize
    for heading, group in _headings(groups, {name: kind for kind, own in modalities.items() for name in own}):
        say(f"[dim]{heading}[/dim]")
        for name in groups[group]:
            line = textwrap.fill(f"  {name:<{column}}{described[name]}", room, subsequent_indent=" " * (column + 2))
            say(f"  [bold]{name}[/bold]{escape_markup(line.removeprefix(f'  {name}'))}")
    for name, members in sets.items():
        say(f"[dim]regard compare {name}: {', '.join(members)}[/dim]", to=notes)


@app.command("show")
def show_recipe(
    name: str = typer.Argument(help="A shipped recipe."),
    full: bool = flag("--full", "Write out every default, and what became of it (auto: the data decides)."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Show a recipe, as shipped or complete.

    \b
    Examples:
      regard recipes show reverse
      regard recipes show reverse --full > mine.toml
    """
    shipped = _shipped()
    if name not in shipped:
        raise RecipeError(f"there is no recipe {name!r}{nearest(name, shipped)}; shipped recipes: {', '.join(shipped)}")
    text = shipped[name].read_text(encoding="utf-8")
    if full:
        from regard.runs.recipe import Recipe

        text = Recipe.read(name).settled_without_data().to_toml()
    if as_json:
        write_json({"name": name, "recipe": tomllib.loads(text)})
    else:
        sys.stdout.write(text)

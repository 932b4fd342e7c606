"""``regard look``: a page that shows what happens inside a model on a text, and one on the idea of attention."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.console import JSON_OPTION, counting, escape_markup, flag, say, write_json
from regard.cli.options.strategy import given_options
from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.files import write_text

if TYPE_CHECKING:
    from regard.inspection.look.figures import Drawing

FIGURES = (".svg", ".png", ".json")

EXAMPLES = """\b
Examples:
  regard look runs/first "the cat sat on the mat" --open
  regard look runs/first "the cat sat" "the dog sleeps" --out look.html
  regard look runs/first "the cat sat" --target "le chat était assis"
  regard look runs/shapes cross.png circle.png --png figures
  regard look runs/first "the cat sat" --figure text-1-depths --out depths.svg
  regard look runs/long "a long text …" --layers 3,4 --heads 0
  regard look --idea --open
"""


def look(
    run: Path = typer.Argument(None, help="Run folder."),
    texts: list[str] = typer.Argument(
        None, help="Texts or pictures to look at; default: an example of the validation data.", show_default=False
    ),
    target: list[str] = typer.Option(
        [], "--target", metavar="TEXT", help="Force a translation model to this answer; one per text."
    ),
    out: Path = typer.Option(
        None, "--out", metavar="FILE", help="Output page or figure; default: look.html in the run folder."
    ),
    open_: bool = flag("--open", "Open the page in the browser."),
    png: Path = typer.Option(None, "--png", metavar="FOLDER", help="Also write figures as PNG, one per chosen head."),
    svg: Path = typer.Option(None, "--svg", metavar="FOLDER", help="Also write figures as SVG, one per chosen head."),
    figure: str = typer.Option(
        None, "--figure", metavar="NAME",
        help="Write this figure alone, no page; --out names a .svg, .png or .json. An unknown name lists all.",
    ),
    layers: str = typer.Option(None, "--layers", metavar="N,…", help="Show only these layers in full, from 0."),
    heads: str = typer.Option(None, "--heads", metavar="N,…", help="Show only these heads in full, from 0."),
    idea: bool = flag("--idea", "Write an interactive page about the idea of attention; needs no run."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write a page that shows what happens inside a model: one file, no network."""
    from regard.inspection.look.heads import Wanted

    if idea:
        others = given_options({"png": png, "svg": svg, "figure": figure, "layers": layers, "heads": heads})
        if run is not None or target or others:
            raise OptionError("--idea is a page by itself; leave out run, texts and all options but --out and --open")
        from regard.inspection.look.page import idea_page

        _finish(out or Path("idea.html"), idea_page(), [], open_=open_, as_json=as_json)
        return
    if run is None:
        raise OptionError("name a run folder, as regard look runs/first, or ask for the idea alone: regard look --idea")
    from regard.cli.predicting.inputs import check_filled, readable
    from regard.inspection.look.figures import Drawings
    from regard.inspection.look.gathering import look as look_inside
    from regard.inspection.look.page import look_page
    from regard.inspection.probes import split_probes
    from regard.runs.load import load

    folders = {kind: folder for kind, folder in (("png", png), ("svg", svg)) if folder is not None}
    if figure is not None:
        check_figure_file(out, folders)
    loaded = load(run)
    if target and not texts:
        raise OptionError("--target is the answer to a text; give the text too")
    wanted = Wanted(numbers(layers, "--layers"), numbers(heads, "--heads"))
    check_filled(texts or [], "text")
    check_filled(target, "--target")
    given = readable(texts) if texts else split_probes(loaded, "validation", examples=1)
    drawn = Drawings(wanted) if folders or figure is not None else None
    with counting("looking") as progress:
        found = look_inside(loaded, given, readable(target), wanted=wanted, progress=progress, watch=drawn)
    made = [] if drawn is None else drawn.finished(found.statistics)
    if figure is not None:
        draw_one(made, figure, out, open_=open_, as_json=as_json)
        return
    for kind, folder in folders.items():
        draw(made, folder, kind)
    _finish(out or run / "look.html", look_page(found), found.left_out, open_=open_, as_json=as_json)


def numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Numbers counted from 0, separated by commas; none where the option was not given."""
    parts = [] if text is None else [part.strip() for part in text.split(",")]
    wrong = [part for part in parts if not part.isdecimal()]
    if wrong:
        raise OptionError(f"{option} takes numbers from 0 on, separated by commas, as 0,3; found {', '.join(wrong)!r}")
    return tuple(dict.fromkeys(map(int, parts)))


def check_figure_file(out: Path | None, folders: Mapping[str, Path]) -> None:
    """Before anything is computed."""
    if out is None or out.suffix not in FIGURES:
        raise OptionError(f"--figure is written where --out says, as {', '.join(FIGURES)}: --out figure.svg")
    if folders:
        raise OptionError("--figure writes one figure, --png and --svg write all; give one of them")


def draw_one(made: list[Drawing], name: str, out: Path, *, open_: bool, as_json: bool) -> None:
    """The figure of this name; where there is none, the names that there are."""
    figures = dict(made)
    if name not in figures:
        names = ", ".join(figures) or "none: its attention has no weights that can be drawn"
        raise OptionError(f"there is no figure {name!r}{nearest(name, figures)}; there are {names}")
    figures[name]().save(out)
    if as_json:
        write_json({"figure": str(out), "name": name})
    else:
        say(escape_markup(f"figure: {out}"))
    if open_:
        webbrowser.open(out.resolve().as_uri())


def draw(made: list[Drawing], folder: Path, kind: str) -> None:
    """Every figure under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    with counting("drawing") as progress:
        for number, (name, figure) in enumerate(made, start=1):
            figure().save(folder / f"{name}.{kind}")
            progress(number, len(made))


def _finish(path: Path, page: str, left_out: list[str], *, open_: bool, as_json: bool) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"the page is written as HTML; give --out a name such as {path.with_suffix('.html').name}")
    write_text(path, page)
    if as_json:
        write_json({"page": str(path), "bytes": len(page.encode()), "left_out": left_out})
    else:
        for sentence in left_out:
            say(escape_markup(sentence), style="dim")
        say(escape_markup(f"page: {path}"))
    if open_:
        webbrowser.open(path.resolve().as_uri())


look.__doc__ = f"{look.__doc__}\n\n{EXAMPLES}"

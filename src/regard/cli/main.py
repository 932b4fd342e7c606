"""The command line: ``regard VERB``, one file a verb; nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys
from typing import Any

import typer
import typer.core

from regard.cli import (
    check,
    compare,
    demo,
    evaluate,
    export,
    import_,
    init,
    look,
    measure,
    predict,
    prune,
    recipes,
    search,
    train,
)  # fmt: skip
from regard.cli.console import check_output, discard_output, escape_markup, flag, notes, say, without_colour
from regard.core.errors import RegardError

STOPPED = "stopped before it was done: nothing is left half-written, and the same command begins again"


class Verbs(typer.core.TyperGroup):
    """All verbs; Ctrl-C that none of them meets itself ends in a sentence, where typer says nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say(STOPPED, to=notes)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="regard",
    cls=Verbs,
    help="Train attention models, and look inside them.",
    epilog="Start with: regard demo     Your own data: regard train FILE --out RUN     Recipes: regard recipes list",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from regard import __version__

        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def options(
    no_color: bool = flag("--no-color", "Turn colour off (like the environment variable NO_COLOR)."),
    debug: bool = flag("--debug", "Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", metavar="", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    if no_color:
        without_colour()


app.command()(demo.demo)
app.command()(train.train)
app.command()(init.init)
app.command()(evaluate.evaluate)
app.command()(predict.predict)
app.command()(search.search)
app.command()(compare.compare)
app.command()(prune.prune)
app.command()(look.look)
app.command()(check.check)
app.command("import")(import_.import_)
app.command()(export.export)
app.add_typer(measure.app, name="measure")
app.add_typer(recipes.app, name="recipes")


def main(arguments: list[str] | None = None) -> Any:
    """Runs a verb; an error of the user's is printed without a traceback and exits with 1."""
    given = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in given
    # Global options may stand anywhere: people add them at the end of the line that just failed.
    given = [word for word in ("--debug", "--no-color") if word in given] + [
        word for word in given if word not in ("--debug", "--no-color")
    ]
    try:
        check_output()
        try:
            app(given, prog_name="regard", obj=given)
        finally:
            sys.stdout.flush()  # here and not at exit, so that a reader who left early is noticed here
    except BrokenPipeError:
        discard_output()
        raise SystemExit(0) from None
    except (RegardError, OSError) as error:
        if debug:
            raise
        say(f"[bold red]error:[/bold red] {escape_markup(_in_words(error))}", to=notes)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        say(STOPPED, to=notes)
        raise SystemExit(130) from None


def _in_words(error: RegardError | OSError) -> str:
    """Ours say it all; the system's say only that something is wrong with a file."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}; choose another path, or make this one usable"
    return str(error)


if __name__ == "__main__":
    main()

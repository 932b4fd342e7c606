"""The command line: ``regard VERB``, one file a verb; nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys
from typing import Any

import typer

from regard.cli import demo, evaluate, predict, recipes, train
from regard.cli.console import notes, without_colour
from regard.core.errors import RegardError

app = typer.Typer(
    name="regard",
    help="Train, open up and serve attention models.",
    epilog="Start with: regard demo",
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
    no_color: bool = typer.Option(False, "--no-color", help="No colour (the variable NO_COLOR does the same)."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    if no_color:
        without_colour()


app.command()(demo.demo)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(predict.predict)
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
        app(given, prog_name="regard")
    except RegardError as error:
        if debug:
            raise
        notes.print("[bold red]error:[/bold red]", end=" ")
        notes.print(str(error), markup=False)
        raise SystemExit(1) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        notes.print("stopped")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()

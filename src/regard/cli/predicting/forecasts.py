"""How forecasts are shown: a line for each step and channel, and a drawing with the interval where one is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from regard.cli.console import escape_markup
from regard.cli.predicting.rendering import marked
from regard.core.errors import OptionError

if TYPE_CHECKING:
    from regard.cli.predicting.answering import Answered
    from regard.core.answers import NumbersAnswer

ENDINGS = (".svg", ".png", ".json")


@dataclass(frozen=True)
class Steps:
    """The time, the channel, the median and the ends of the interval, parted by tabs; an empty line between inputs."""

    names: ClassVar[Sequence[str]] = ("inputs", "outputs", "forecasts")

    def shown(self, one: Answered) -> str:
        lines = [""] if one.number > 1 else []
        for answer in cast("Sequence[NumbersAnswer]", one.answers):
            middle = answer.levels.index(0.5)
            for time, values_CQ in zip(answer.times, answer.values_HCQ, strict=True):
                for name, values_Q in zip(answer.channels, values_CQ, strict=True):
                    ends = "".join(f"\t[dim]{end:.6g}[/dim]" for end in (values_Q[0], values_Q[-1]))
                    lines.append(f"{escape_markup(time)}\t{escape_markup(name)}\t[bold]{values_Q[middle]:.6g}[/bold]{ends}")
        return marked(lines)

    def record(self, one: Answered) -> dict[str, Any]:
        from regard.inspection.figures.forecasts import as_data

        answer = cast("NumbersAnswer", one.answers[0])
        medians = {name: answer.medians_HC[:, place].tolist() for place, name in enumerate(answer.channels)}
        alone = next(iter(medians.values())) if len(medians) == 1 else medians
        return {"inputs": one.text, "outputs": alone, "forecasts": as_data(answer)}


def draw_forecasts(answered: Sequence[Answered], file: Path) -> None:
    from regard.inspection.figures.forecasts import forecast_figure

    names = [Path(one.text).name for one in answered]
    forecast_figure(names, [cast("NumbersAnswer", one.answers[0]) for one in answered]).save(file)


def check_figure(file: Path) -> None:
    """Before anything is computed."""
    if file.suffix not in ENDINGS:
        raise OptionError(f"--figure is written as {', '.join(ENDINGS)}; found {file.name!r}")
    if file.suffix != ".json":
        from regard.inspection.figures.figure import matplotlib

        matplotlib()

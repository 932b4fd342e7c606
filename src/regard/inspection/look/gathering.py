"""Collects everything that a page shows about a run on some texts, as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from regard.core.probe import Probe
from regard.core.seams.task import Progress
from regard.inspection.flow.depths import depths_of
from regard.inspection.flow.experts import Routing, router_names, routing_of
from regard.inspection.heads.names import check_has_attention
from regard.inspection.heads.patches import PatchStatistics, PatchTable
from regard.inspection.heads.statistics import HeadStatistics, HeadTable
from regard.inspection.look.choosing import beam_tree, classes, steps
from regard.inspection.look.entering import entering
from regard.inspection.look.heads import Wanted, check_choice, shown_heads
from regard.inspection.look.packing import three
from regard.inspection.look.picturing import picture_of
from regard.inspection.probes import probes
from regard.inspection.recording import Record, recorded
from regard.runs.load import Run

SHORT = 100  # signs of a text that is repeated in a command


@dataclass
class Look:
    """The page's JSON, and the long numbers beside it by name; ``statistics`` are those of all heads."""

    data: dict[str, Any]
    numbers: dict[str, str] = field(default_factory=dict)
    statistics: Sequence[HeadStatistics | PatchStatistics] = ()

    @property
    def left_out(self) -> list[str]:
        return [sentence for text in self.data["texts"] for sentence in text["left_out"]]


def look(
    run: Run,
    texts: Sequence[str | Probe],
    targets: Sequence[str] = (),
    *,
    wanted: Wanted | None = None,
    progress: Progress | None = None,
    watch: Callable[[Record], None] | None = None,
) -> Look:
    """What happens inside the run's model on these texts; a translator is forced to a target, or to its own answer.

    The model works once on each; ``watch`` is shown every pass, for those who want to draw more of it.
    """
    wanted = wanted or Wanted()
    check_has_attention(run.model)
    check_choice(run, wanted)
    asked = probes(run, texts, targets)
    found = Look({"run": _facts(run), "texts": []})
    table = PatchTable(run.model, asked) if asked[0].axis.shape else HeadTable(run.model, asked)
    for number, one in enumerate(asked):
        seen = recorded(run.model, one, router_names(run.model))
        _add(run, found, seen, wanted, f"t{number}.", 1 / len(asked))
        table.add(one, seen.attention)
        if watch is not None:
            watch(seen)
        if progress is not None:
            progress(number + 1, len(asked))
    found.statistics = table.statistics()
    found.data["statistics"] = [_statistics(one) for one in found.statistics]
    return found


def _add(run: Run, found: Look, seen: Record, wanted: Wanted, prefix: str, share: float) -> None:
    asked = seen.probe
    shown = shlex.quote(asked.text) if len(asked.text) <= SHORT else run.modalities.input.name.upper()
    command = f"regard look {shlex.quote(str(run.folder.path))} {shown}"
    heads = shown_heads(run, seen, wanted, prefix, share, command)
    picture = picture_of(seen, heads, prefix)
    pictures, numbers = entering(seen, prefix)
    found.numbers |= heads.numbers | numbers
    found.data["texts"].append(
        {
            "text": asked.text,
            "picture": picture,
            "graph": drawn_graph(asked),
            "command": command,
            "source": asked.source_axis.labels,
            "tokens": asked.axis.labels,
            "predicts": list(asked.predicts),
            "attentions": heads.attentions,
            "heads": heads.heads,
            "reads": heads.reads,
            "first": heads.first if picture is None else picture["first"],
            "steps": steps(seen),
            "classes": classes(seen),
            "beam": beam_tree(run, asked),
            "depths": _depths(seen),
            "experts": [_experts(one) for one in routing_of(seen)],
            "entering": pictures,
            "left_out": heads.left_out,
        }
    )


def drawn_graph(asked: Probe) -> dict[str, Any] | None:
    """Where the nodes of a graph stand, which are joined, and which of them is asked about."""
    if asked.drawing is None:
        return None
    places, edges = asked.drawing.places_N2, asked.drawing.edges_E2
    return {"places": [list(map(three, row)) for row in places.tolist()], "edges": edges.tolist(), "asked": asked.asked}


def _depths(seen: Record) -> dict[str, Any] | None:
    """Nothing of a model whose layers do not follow one another."""
    if not seen.states:
        return None
    found = depths_of(seen)
    return {
        "names": found.names,
        "at": seen.probe.asked,
        "best": found.best,
        "probability": [list(map(three, row)) for row in found.probability],
        "final": found.final,
        "final_probability": [list(map(three, row)) for row in found.final_probability],
        "final_rank": found.final_rank,
        "sentences": [found.sentence(place) for place in range(len(found.tokens))],
    }


def _experts(one: Routing) -> dict[str, Any]:
    return {
        "name": one.name,
        "tokens": one.tokens,
        "weights": [list(map(three, row)) for row in one.weights_NE],
        "load": list(map(three, one.load)),
        "sentence": one.sentence,
    }


def _statistics(one: HeadStatistics | PatchStatistics) -> dict[str, Any]:
    numbers = {name: three(value) for name, value in asdict(one).items() if isinstance(value, float)}
    return {"name": one.name, "head": one.head, "sentence": one.sentence, **numbers}


def _facts(run: Run) -> dict[str, Any]:
    return {
        "name": run.recipe.name or run.folder.path.name,
        "kind": run.recipe.model.kind,
        "task": run.recipe.task.kind,
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
    }

"""All that a page shows of a run on some texts, as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from regard.core.errors import OptionError
from regard.core.task import Progress
from regard.data.modalities.text.enclosing import SEPARATOR
from regard.inspection.asking import UNKNOWN, Question, questions
from regard.inspection.depths import depths_of
from regard.inspection.head_names import refuse_without_attention
from regard.inspection.head_statistics import MEANS, head_statistics
from regard.inspection.look.choosing import beam_tree, classes, steps, tags
from regard.inspection.look.entering import entering
from regard.inspection.look.heads import Wanted, refuse_unknown_choice, shown_heads
from regard.inspection.look.packing import three
from regard.layers.headed import Headed
from regard.runs.load import Run

SHORT = 100  # signs of a text that is repeated in a command


@dataclass
class Look:
    """The page's JSON, and the long numbers beside it by name."""

    data: dict[str, Any]
    numbers: dict[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> list[str]:
        return [sentence for text in self.data["texts"] for sentence in text["left_out"]]


def look(
    run: Run,
    texts: Sequence[str | Question],
    targets: Sequence[str] = (),
    *,
    wanted: Wanted | None = None,
    progress: Progress | None = None,
) -> Look:
    """What happens inside the run's model on these texts; a translator is forced to a target, or to its own answer."""
    wanted = wanted or Wanted()
    refuse_without_attention(run.model)
    refuse_unknown_choice(run, wanted)
    asked = questions(run, texts, targets)
    found = Look({"run": _facts(run), "texts": []})
    for number, (given, one) in enumerate(zip(texts, asked)):
        text = given if isinstance(given, str) else _spelled(run, one)
        _add(run, found, text, one, wanted, f"t{number}.", 1 / len(asked))
        if progress is not None:
            progress(number + 1, len(asked) + 1)
    found.data["statistics"] = _statistics(run, asked)
    if progress is not None:
        progress(len(asked) + 1, len(asked) + 1)
    return found


def _add(run: Run, found: Look, text: str, asked: Question, wanted: Wanted, prefix: str, share: float) -> None:
    token = run.vocabularies.target.token
    shown = shlex.quote(text) if len(text) <= SHORT else "TEXT"
    command = f"regard look {shlex.quote(str(run.folder.path))} {shown}"
    heads = shown_heads(run, asked, wanted, prefix, share, command)
    pictures, numbers = entering(run, asked, prefix)
    speaks = not isinstance(run.model, Headed)  # a head on a body answers for the text, or in other symbols
    found.numbers |= heads.numbers | numbers
    found.data["texts"].append(
        {
            "text": text,
            "command": command,
            "source": asked.source,
            "tokens": asked.tokens,
            "predicts": ["" if id == UNKNOWN else token(id) for id in asked.expected],
            "attentions": heads.attentions,
            "heads": heads.heads,
            "reads": heads.reads,
            "first": heads.first,
            "steps": steps(run, asked) if speaks else tags(run, text),
            "classes": classes(run, text),
            "beam": beam_tree(run, asked),
            "depths": _depths(run, asked) if speaks else None,
            "entering": pictures,
            "left_out": heads.left_out,
        }
    )


def _spelled(run: Run, asked: Question) -> str:
    """The text behind a question that came from data."""
    if asked.source_ids:
        return run.vocabularies.source.decode(list(asked.source_ids[:-1]))
    if not isinstance(run.model, Headed):
        return run.vocabularies.target.decode(list(asked.ids))
    ends = [place for place, id in enumerate(asked.ids) if id == asked.closing]
    parts = [asked.ids[start:stop] for start, stop in pairwise((0, *(end + 1 for end in ends), len(asked.ids)))]
    return SEPARATOR.join(run.vocabularies.target.decode(list(part)) for part in parts if part)


def _depths(run: Run, asked: Question) -> dict[str, Any] | None:
    try:
        found = depths_of(run, asked)
    except OptionError:  # a model whose layers do not follow one another
        return None
    return {
        "names": found.names,
        "at": asked.asked,
        "best": found.best,
        "probability": [list(map(three, row)) for row in found.probability],
        "final": found.final,
        "final_probability": [list(map(three, row)) for row in found.final_probability],
        "final_rank": found.final_rank,
        "sentences": [found.sentence(place) for place in range(len(found.tokens))],
    }


def _statistics(run: Run, asked: Sequence[Question]) -> list[dict[str, Any]]:
    names = (*MEANS, "by_distance", "by_place")
    return [
        {"name": one.name, "head": one.head, "sentence": one.sentence}
        | {name: three(getattr(one, name)) for name in names}
        for one in head_statistics(run, asked)
    ]


def _facts(run: Run) -> dict[str, Any]:
    return {
        "name": run.recipe.name or run.folder.path.name,
        "kind": run.recipe.model.kind,
        "task": run.recipe.task.kind,
        "parameters": sum(weight.numel() for weight in run.model.parameters()),
    }

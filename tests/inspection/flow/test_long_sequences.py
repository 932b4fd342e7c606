"""Where a family breaks: found by training, told in a sentence that follows from the numbers."""

from xml.etree import ElementTree

from regard.inspection.flow.long_sequences import FAMILIES, LongSequences, long_sequences, recipe
from regard.runs.recipe import Recipe

TINY = {name: {**FAMILIES[name], "width": 16} for name in ("RNN", "Transformer")}
TINY["Transformer"]["feed_forward"] = {"kind": "plain", "width": 32}


def test_every_family_is_trained_at_every_length() -> None:
    told: list[str] = []
    found = long_sequences("recall", (4, 7), TINY, steps=3, batch_tokens=64, examples=60, report=told.append)
    assert told == [f"{family}: recall of {length} symbols" for family in TINY for length in (4, 7)]
    assert list(found.accuracies) == list(TINY)
    assert all(0 <= accuracy <= 1 for curve in found.accuracies.values() for accuracy in curve)
    figure = ElementTree.fromstring(found.figure())
    assert figure.attrib["role"] == "img"


def test_a_break_is_the_first_length_below_nine_in_ten() -> None:
    found = LongSequences("copy", 300, (10, 20, 50), {"RNN": (0.95, 0.5, 0.91), "Transformer": (1.0, 0.99, 0.9)})
    assert (found.breaks_at("RNN"), found.breaks_at("Transformer")) == (20, None)
    assert found.sentence.startswith("Copy after 300 steps: RNN breaks at 20, Transformer holds to 50")
    assert found.as_dict()["breaks_at"] == {"RNN": 20, "Transformer": None}


def test_the_recipes_are_whole_at_both_ends() -> None:
    for length in (10, 500):
        for problem in ("copy", "middle", "recall"):
            made = Recipe.of(recipe(problem, length, FAMILIES["GRU"], 300, 2048, 4000, 1))  # type: ignore[arg-type]
            assert (made.data.min_length, made.data.max_length) == (length, length)  # type: ignore[attr-defined]
            assert made.task.max_length >= length + 2  # type: ignore[attr-defined]

"""Strategies are chosen by kind, limits follow their rule, and wrong values are refused in words."""

import pytest
from pydantic import ValidationError

from regard.core.config import Config, parse, to_toml
from regard.core.errors import RecipeError
from regard.decoding import STRATEGIES
from regard.decoding.options import Beam, Greedy, Sampling


@pytest.mark.parametrize("kind, cls", [("greedy", Greedy), ("beam", Beam), ("sampling", Sampling)])
def test_every_kind_resolves_and_builds(kind: str, cls: type[Config]) -> None:
    assert STRATEGIES.resolve(kind) is cls
    options = cls()
    assert options.kind == kind
    assert callable(options.build())
    assert f'kind = "{kind}"' in to_toml(options)


def test_the_default_is_a_beam_of_five() -> None:
    assert STRATEGIES.make() == Beam(size=5, length_penalty=1.0, n_best=1, max_length=0)


def test_a_limit_depends_on_the_sentence_only() -> None:
    assert [Beam().limit(length) for length in (0, 1, 30)] == [10, 12, 70]
    assert Greedy(max_length=7).limit(100) == 7


def test_rows_of_a_sentence() -> None:
    assert (Greedy().rows, Beam(size=4).rows, Sampling(n_best=3).rows) == (1, 4, 3)


@pytest.mark.parametrize(
    "cls, tree, message",
    [
        (Beam, {"size": 0}, "size: Input should be greater than or equal to 1, found 0"),
        (Beam, {"size": 2, "n_best": 3}, "n_best is 3, but a beam of size 2 .* set size to 3 or more"),
        (Beam, {"length_penalty": -0.1}, "length_penalty: .* greater than or equal to 0, found -0.1"),
        (Beam, {"length_penalty": float("nan")}, "length_penalty: .*found nan"),
        (Beam, {"stop": "early"}, "stop: Input should be 'exact', 'likely' or 'full', found 'early'"),
        (Beam, {"beam_size": 3}, r"beam_size: unknown key \(did you mean 'size'"),
        (Greedy, {"max_length": -1}, "max_length: Input should be greater than or equal to 0, found -1"),
        (Sampling, {"temperature": 0.0}, 'found 0.0, expected 0.001 to 1000; .* kind = "greedy"'),
        (Sampling, {"temperature": float("nan")}, "temperature: .*found nan"),
        (Sampling, {"top_p": 0.0}, "top_p: Input should be greater than 0, found 0.0"),
        (Sampling, {"min_p": 1.5}, "min_p: Input should be less than or equal to 1, found 1.5"),
        (Sampling, {"seed": -1}, "seed: Input should be greater than or equal to 0, found -1"),
    ],
)
def test_wrong_values_are_refused_in_words(cls: type[Config], tree: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(cls, tree)


def test_frozen() -> None:
    with pytest.raises(ValidationError):
        Beam().size = 3

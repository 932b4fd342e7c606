"""Configuration: every problem at once, the nearest key by name, choices by kind, overrides by path."""

import datetime
import re
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pydantic import Field, SerializeAsAny, ValidationError, model_validator

from regard.core.config import Choices, Config, Part, override, parse, read_toml, to_toml
from regard.core.errors import RecipeError
from regard.runs.recipe import Recipe, recipes


class Shape(Part):
    """What every shape can do."""

    @abstractmethod
    def area(self) -> float: ...


class Circle(Shape):
    kind: str = "circle"
    radius: float = Field(1.0, gt=0)

    def area(self) -> float:
        return 3 * self.radius**2


class Square(Shape):
    kind: str = "square"
    side: int = 2
    corners: tuple[str, ...] = ("a", "b")

    def area(self) -> float:
        return self.side**2


class Outside(Shape):
    """A part that the package does not know; named by its address."""

    loudness: int = 11

    def area(self) -> float:
        return 0.0


class NoShape(Part):
    """A configuration, but of something else."""


class Unfinished(Shape):
    """A shape that does not say how large it is."""


class NotAPart:
    """Not a configuration, though it can be imported."""


SHAPES = Choices("shape", Shape, "circle", {"circle": f"{__name__}:Circle", "square": f"{__name__}:Square"})


class Inner(Config):
    steps: int = 3
    rate: float = 0.5

    @model_validator(mode="after")
    def _fits(self) -> "Inner":
        if self.steps == 13:
            raise ValueError("13 steps are unlucky; take 14")
        return self


class Outer(Config):
    name: str = ""
    quiet: bool = False
    sizes: tuple[int, ...] = (1, 2)
    training: Inner = Inner()
    shape: Annotated[SerializeAsAny[Shape], SHAPES] = Field(default_factory=SHAPES.make)


def complaint(tree: dict[str, Any]) -> str:
    with pytest.raises(RecipeError) as caught:
        parse(Outer, tree, where="mine.toml")
    return str(caught.value)


def test_a_tree_becomes_a_frozen_configuration() -> None:
    made = parse(Outer, {"name": "x", "sizes": [3, 5], "training": {"steps": 7}, "shape": {"radius": 2.5}})
    assert (made.name, made.sizes, made.training.steps, made.training.rate) == ("x", (3, 5), 7, 0.5)
    assert made.shape == Circle(radius=2.5)
    with pytest.raises(ValidationError, match="frozen"):
        made.training.steps = 8


def test_an_unknown_key_names_the_nearest_and_all_valid_ones() -> None:
    assert complaint({"training": {"stesp": 3}}) == (
        "mine.toml: training.stesp: unknown key (did you mean 'steps'?); valid here: steps, rate"
    )
    assert complaint({"zzzzz": 1}) == (
        "mine.toml: zzzzz: unknown key; valid here: name, quiet, sizes, training, shape"
    )


def test_an_unknown_key_of_a_choice_names_that_choices_keys() -> None:
    assert "shape.sides: unknown key (did you mean 'side'?); valid here: kind, side, corners" in complaint(
        {"shape": {"kind": "square", "sides": 3}}
    )


@pytest.mark.parametrize(
    "tree, message",
    [
        ({"training": {"steps": "7"}}, "training.steps: Input should be a valid integer, found '7'"),
        ({"training": {"steps": 7.5}}, "training.steps: Input should be a valid integer, found 7.5"),
        ({"training": {"steps": True}}, "training.steps: Input should be a valid integer, found True"),
        ({"training": {"rate": "fast"}}, "training.rate: Input should be a valid number, found 'fast'"),
        ({"name": 3}, "name: Input should be a valid string, found 3"),
        ({"quiet": 1}, "quiet: Input should be a valid boolean, found 1"),
        ({"sizes": [1, "b"]}, "sizes.1: Input should be a valid integer, found 'b'"),
        ({"training": 5}, "training: a table is expected, found 5"),
        ({"shape": "circle"}, "shape: a table is expected, found 'circle'"),
        ({"shape": {"radius": 0.0}}, "shape.radius: Input should be greater than 0, found 0.0"),
        ({"training": {"steps": 13}}, "training: 13 steps are unlucky; take 14"),
    ],
)
def test_an_ill_typed_value_says_where_what_and_found_what(tree: dict[str, Any], message: str) -> None:
    assert complaint(tree) == f"mine.toml: {message}"


def test_a_whole_number_may_stand_for_a_real_one() -> None:
    assert parse(Outer, {"training": {"rate": 2}}).training.rate == 2.0


def test_all_problems_are_told_at_once() -> None:
    lines = complaint(
        {"nmae": "x", "training": {"steps": "many", "rate": "fast"}, "shape": {"kind": "circel"}}
    ).splitlines()
    assert lines[0] == "mine.toml: 4 problems"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  - nmae", "  - training.steps", "  - training.rate", "  - shape.kind",
    ]  # fmt: skip


def test_an_unknown_kind_lists_the_known_ones() -> None:
    assert complaint({"shape": {"kind": "circel"}}) == (
        "mine.toml: shape.kind: unknown shape kind 'circel' (did you mean 'circle'?); known: circle, square, "
        'or a part of your own as "package.module:Class"'
    )


def test_a_choice_without_a_kind_is_the_default_one() -> None:
    assert SHAPES.kinds() == ("circle", "square")
    assert SHAPES.make() == Circle()
    assert parse(Outer, {}).shape == Circle()
    assert parse(Outer, {"shape": {"kind": "square", "corners": ["x"]}}).shape == Square(corners=("x",))


def test_a_part_from_outside_is_named_by_its_address_and_survives_a_round_trip() -> None:
    address = f"{__name__}:Outside"
    made = parse(Outer, {"shape": {"kind": address, "loudness": 7}})
    assert isinstance(made.shape, Outside)
    assert (made.shape.kind, made.shape.loudness) == (address, 7)
    again = parse(Outer, override({}, [f"shape.kind={address}"]))
    assert isinstance(again.shape, Outside)
    assert f'kind = "{address}"' in to_toml(made)


@pytest.mark.parametrize(
    "address, message",
    [
        ("no_such_package.parts:Thing", "shape kind 'no_such_package.parts:Thing' cannot be imported: No module named"),
        (f"{__name__}:Missing", f"shape kind '{__name__}:Missing' cannot be imported: module"),
        (f"{__name__}:NotAPart", f"but a subclass of {__name__}.Shape is needed: name the configuration class"),
        (f"{__name__}:NoShape", f"but a subclass of {__name__}.Shape is needed: name the configuration class"),
        (f"{__name__}:complaint", f"but a subclass of {__name__}.Shape is needed"),
        (f"{__name__}:Unfinished", f"Unfinished' does not define area; {__name__}.Shape says what each of them takes"),
    ],
)
def test_an_outside_part_that_cannot_be_used_says_why(address: str, message: str) -> None:
    assert message in complaint({"shape": {"kind": address}})


def test_every_choice_of_the_package_can_be_imported_and_made() -> None:
    for field in Recipe.model_fields.values():
        for note in field.metadata:
            if isinstance(note, Choices):
                for kind in note.kinds():
                    assert note.resolve(kind).model_fields["kind"].default == kind
                assert note.make().kind == note.default


@pytest.mark.parametrize("name", sorted(recipes()))
def test_a_recipe_written_out_and_read_again_is_the_same(name: str, tmp_path: Path) -> None:
    recipe = Recipe.read(name)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    again = Recipe.read(tmp_path / "recipe.toml")
    assert again == recipe
    assert again.to_toml() == recipe.to_toml()


@settings(max_examples=40, deadline=None)
@given(text=some.text(alphabet=some.characters(codec="utf-8")))
def test_any_text_survives_the_round_trip(text: str) -> None:
    made = Outer(name=text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_text", lambda self, encoding: to_toml(made))
        assert parse(Outer, read_toml(Path("x"))) == made


@pytest.mark.parametrize(
    "text, value",
    [
        ("3", 3),
        ("3e-4", 3e-4),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ('"7"', "7"),
        ("rotary", "rotary"),
        ("some words, and = signs", "some words, and = signs"),
        ("/a/path.txt", "/a/path.txt"),
        ("", ""),
        (" 5 ", 5),
        ("2017-06-12", datetime.date(2017, 6, 12)),
    ],
)
def test_an_override_is_a_toml_value_or_else_a_string(text: str, value: Any) -> None:
    assert override({}, [f"a.b={text}"]) == {"a": {"b": value}}


def test_overrides_go_by_path_in_order_and_leave_the_given_tree_alone() -> None:
    tree = {"training": {"steps": 1, "rate": 0.1}, "name": "x"}
    assert override(tree, ["training.steps=5", "training.steps=7", "deep.er.key=1"]) == {
        "training": {"steps": 7, "rate": 0.1},
        "name": "x",
        "deep": {"er": {"key": 1}},
    }
    assert tree == {"training": {"steps": 1, "rate": 0.1}, "name": "x"}


def test_a_new_kind_replaces_its_table_and_the_same_kind_does_not() -> None:
    tree = {"shape": {"kind": "circle", "radius": 3.0}}
    assert override(tree, ["shape.kind=square", "shape.side=5"]) == {"shape": {"kind": "square", "side": 5}}
    assert override(tree, ["shape.kind=circle"]) == tree
    assert parse(Outer, override(tree, ["shape.kind=square"])).shape == Square()


@pytest.mark.parametrize(
    "setting, message",
    [
        ("steps", "--set steps: expected path.to.key=value, as in training.steps=100"),
        ("=5", "--set =5: expected path.to.key=value"),
        ("a..b=5", "--set a..b=5: expected path.to.key=value"),
        ("name.first=5", "--set name.first=5: 'name' is the value 'x', not a table"),
    ],
)
def test_an_override_that_cannot_be_applied_says_why(setting: str, message: str) -> None:
    with pytest.raises(RecipeError, match=re.escape(message)):
        override({"name": "x"}, [setting])


def test_a_file_that_is_not_toml_or_not_utf_8_says_so(tmp_path: Path) -> None:
    broken, latin = tmp_path / "broken.toml", tmp_path / "latin.toml"
    broken.write_text("name = \n", encoding="utf-8")
    latin.write_bytes('name = "caf\xe9"'.encode("latin-1"))
    with pytest.raises(RecipeError, match=r"broken\.toml is not valid TOML: .*line 1"):
        read_toml(broken)
    with pytest.raises(RecipeError, match=r"latin\.toml is not UTF-8 \(byte 11\); save it as UTF-8"):
        read_toml(latin)


def test_a_recipe_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(RecipeError, match=r"there is no recipe 'multi3k' \(did you mean 'multi30k'\?\); shipped"):
        Recipe.read("multi3k")


def test_naming_the_kind_that_a_table_has_by_default_keeps_its_other_keys() -> None:
    tree = {"model": {"width": 96, "feed_forward": {"width": 48}}}
    kept = Recipe.of(tree, ["model.feed_forward.kind=plain", "model.kind=transformer"])
    assert kept.model.width == 96
    assert kept.model.feed_forward.width == 48


def test_another_kind_than_the_default_replaces_a_table_that_names_none() -> None:
    tree = {"model": {"width": 96, "position": {"max_length": 77}}}
    assert Recipe.of(tree, ["model.position.kind=rotary"]).model.position.kind == "rotary"

"""Recipes: one TOML file describes one experiment completely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny

from regard.core.config import Config, Part, nearest, override, parse, read_toml, to_toml
from regard.core.errors import RecipeError
from regard.data import DATA, TOKENIZERS
from regard.decoding import STRATEGIES
from regard.decoding.options import Strategy
from regard.models import MODELS, ModelPart
from regard.runs.starting import StartConfig
from regard.tasks import TASKS
from regard.training.loop import TrainingConfig

SETS = "sets.toml"


class Recipe(Config):
    """Everything that a run depends on; what is not said here has a default, written out in the run folder."""

    name: str = ""
    description: str = ""
    seed: int = Field(1, ge=0)
    data_seed: int = Field(0, ge=0)  # which sentences are drawn or set aside; 0: as ``seed``
    device: str = "auto"
    data: Annotated[SerializeAsAny[Part], DATA] = Field(default_factory=DATA.make)
    tokenizer: Annotated[SerializeAsAny[Part], TOKENIZERS] = Field(default_factory=TOKENIZERS.make)
    model: Annotated[SerializeAsAny[ModelPart], MODELS] = Field(default_factory=MODELS.make)
    task: Annotated[SerializeAsAny[Part], TASKS] = Field(default_factory=TASKS.make)
    start: StartConfig = Field(default_factory=lambda: StartConfig())
    training: TrainingConfig = Field(default_factory=lambda: TrainingConfig())
    decoding: Annotated[SerializeAsAny[Strategy], STRATEGIES] = Field(default_factory=STRATEGIES.make)

    def to_toml(self) -> str:
        return to_toml(self)

    @classmethod
    def read(cls, recipe: str | Path, settings: Iterable[str] = ()) -> Recipe:
        """A shipped recipe by name, or a file, with ``--set`` overrides."""
        path = find(recipe)
        tree = override(read_toml(path), settings, cls)
        tree.setdefault("name", path.stem)
        return parse(cls, tree, where=str(recipe))

    @classmethod
    def of(cls, recipe: Recipe | Mapping[str, Any] | str | Path, settings: Iterable[str] = ()) -> Recipe:
        """Whatever names a recipe: itself, a tree of tables, a shipped name, or a file."""
        if isinstance(recipe, Recipe):
            recipe = recipe.model_dump()
        if isinstance(recipe, Mapping):
            return parse(cls, override(recipe, settings, cls))
        return cls.read(recipe, settings)


def shipped_folder() -> Path:
    return Path(str(resources.files("regard"))) / "recipes"


def recipes() -> dict[str, Path]:
    """The shipped recipes by name."""
    return {path.stem: path for path in sorted(shipped_folder().rglob("*.toml")) if path.name != SETS}


def recipe_sets() -> dict[str, tuple[str, ...]]:
    """Shipped sets of recipes that are meant to be compared, by name, in the order of their story."""
    return {name: tuple(members) for name, members in read_toml(shipped_folder() / SETS).items()}


def find(recipe: str | Path) -> Path:
    """The file behind a recipe's name or path."""
    shipped = recipes()
    if str(recipe) in shipped:
        return shipped[str(recipe)]
    path = Path(recipe).expanduser()
    if path.is_file():
        return path
    raise RecipeError(
        f"there is no recipe {str(recipe)!r}{nearest(str(recipe), shipped)}; shipped are "
        f"{', '.join(shipped)}; a file of your own is named by its path"
    )

"""Recipes: one TOML file describes one experiment completely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SerializeAsAny

from regard.core import rules
from regard.core.auto import filled
from regard.core.config import (
    Config,
    drop_overridden,
    drop_unused,
    nearest,
    override,
    parse,
    read_toml,
    set_paths,
    to_toml,
)
from regard.core.errors import RecipeError
from regard.data import DATA, TOKENIZERS, DataPart, TokenizerPart
from regard.data.modalities import MODALITIES, ModalityPart
from regard.data.readers import missing_files
from regard.decoding import STRATEGIES
from regard.decoding.options import Strategy
from regard.models import MODELS, ModelPart
from regard.runs.formats.upgrade import FORMAT, check_renamed, read_recipe, read_run_recipe, upgraded
from regard.runs.starting import StartConfig
from regard.runs.teaching import TeacherConfig
from regard.tasks import TASKS, TaskPart
from regard.training.config import Extent, TrainingConfig

SETS = "sets.toml"
SAYS_SOMETHING = ("data", "model", "task")
"""Tables of which a recipe has at least one; nobody meant a file that has none."""


class Recipe(Config):
    """Everything that a run depends on; what is not said here has a default, written out in the run folder."""

    format: int = Field(FORMAT, ge=FORMAT, le=FORMAT)  # of the recipe; older ones are upgraded as they are read
    name: str = ""
    description: str = ""
    seed: int = Field(1, ge=0)
    data_seed: int = Field(0, ge=0)  # which sentences are drawn or set aside; 0: as ``seed``
    device: str = "auto"
    data: Annotated[SerializeAsAny[DataPart], DATA] = Field(default_factory=DATA.make)
    input: Annotated[SerializeAsAny[ModalityPart], MODALITIES] = Field(default_factory=MODALITIES.make)
    tokenizer: Annotated[SerializeAsAny[TokenizerPart], TOKENIZERS] = Field(default_factory=TOKENIZERS.make)
    model: Annotated[SerializeAsAny[ModelPart], MODELS] = Field(default_factory=MODELS.make)
    task: Annotated[SerializeAsAny[TaskPart], TASKS] = Field(default_factory=TASKS.make)
    start: StartConfig = Field(default_factory=lambda: StartConfig())
    teacher: TeacherConfig = Field(default_factory=lambda: TeacherConfig())
    training: TrainingConfig = Field(default_factory=lambda: TrainingConfig())
    decoding: Annotated[SerializeAsAny[Strategy], STRATEGIES] = Field(default_factory=STRATEGIES.make)

    def check_fit(self) -> None:
        """Refuses a task that this model is none for."""
        if self.task.needs not in self.model.roles:
            raise RecipeError(misfit(self.task, self.model))

    @property
    def answers_in_text(self) -> bool:
        """Whether something that is no text is answered in texts, which then have a tokenizer of their own."""
        return self.task.writes_text and not self.input.is_text

    def unused(self) -> dict[str, str]:
        unused: dict[str, str] = {}
        if not self.task.generates:
            unused["decoding"] = f"task.kind = {self.task.kind!r} does not write its answers token by token"
        if self.answers_in_text:
            unused["tokenizer.joint"] = "texts are written here, and none are read"
        elif not self.input.is_text:
            unused["tokenizer"] = f"where input.kind = {self.input.kind!r} no text is read or written"
        elif self.task.one_sided:
            unused["tokenizer.joint"] = f"task.kind = {self.task.kind!r} has texts of one kind only"
        return unused

    def example(self) -> str:
        """What ``regard predict`` might be asked, as it is typed."""
        return self.task.example(self.tokenizer) or self.input.example

    def tables(self) -> dict[str, Any]:
        """Every default that the run uses written out; tables that it does not use are left out."""
        return self.model_dump(exclude={"input"} if self.input.is_text else None)

    def to_toml(self) -> str:
        return to_toml(self.tables())

    def settled(self, extent: Extent, parameters: Callable[[], int]) -> Recipe:
        """The same for so much data, every "auto" decided: what the run folder keeps. ``parameters`` counts those of
        the model, where a rule asks for them."""
        training = self.training.settled(self.model.width, extent)
        model = self.model.settled(lambda: rules.dropout(training.epochs(extent), parameters(), extent.positions))
        return self.model_copy(update={"training": training, "model": model})

    def settled_without_data(self) -> Recipe:
        """What can be decided before the data is read; the rest stays "auto"."""
        training = self.training.model_copy(update=self.training.settled_course(self.model.width))
        model = self.model.model_copy(update=self.model.settled_sizes())
        return self.model_copy(update={"training": training, "model": model})

    def as_decided(self, held: Mapping[str, Any]) -> Recipe:
        """The same with what a run's own recipe decided where this one says "auto"."""
        return parse(Recipe, filled(self.tables(), held))

    @classmethod
    def read(cls, recipe: str | Path, settings: Iterable[str] = ()) -> Recipe:
        """A shipped recipe by name, or a file, with ``--set`` overrides."""
        path, settings = find(recipe), list(settings)
        held = read_recipe(path)
        if not any(table in held.tree or keys_below(table, settings) for table in SAYS_SOMETHING):
            raise RecipeError(
                f"{path} says nothing of what is learned: it has none of the tables {', '.join(SAYS_SOMETHING)}; write "
                "one (see: regard recipes show small-world), or have one written: regard init FILE --out recipe.toml"
            )
        tree = override({"name": path.stem, **held.tree}, settings, cls)
        return cls._parsed(tree, str(recipe), held.base, settings, whole=held.whole)

    @classmethod
    def of_run(cls, path: Path) -> Recipe:
        """The recipe of a run folder, as it stands there."""
        return parse(cls, read_run_recipe(path), str(path), drop_unused)

    @classmethod
    def _parsed(
        cls, tree: Mapping[str, Any], where: str, base: Path, settings: Sequence[str], *, whole: bool
    ) -> Recipe:
        """A tree of today's format, with absolute paths to its data; tables that would have no effect are refused.

        A ``whole`` one was written out with every key, so that nobody meant anything by those without effect.
        """
        check_renamed(tree, where)
        made = parse(cls, tree, where, drop_overridden(settings, whole=whole))
        made.check_fit()
        return made.model_copy(update={"data": made.data.located(base, keys_below("data", settings))})

    @classmethod
    def of(cls, recipe: Recipe | Mapping[str, Any] | str | Path, settings: Iterable[str] = ()) -> Recipe:
        """Whatever names a recipe: itself, a tree of tables, a shipped name, or a file."""
        settings = list(settings)
        if isinstance(recipe, Recipe):
            if not settings:
                return recipe
            recipe = recipe.tables()
        if isinstance(recipe, Mapping):
            tree, whole = override(upgraded(recipe), settings, cls), "format" in recipe
            return cls._parsed(tree, "recipe", Path.cwd(), settings, whole=whole)
        return cls.read(recipe, settings)


def misfit(task: TaskPart, model: ModelPart) -> str:
    """Why a model is none for a task, and which are."""
    models = [kind for kind in MODELS.kinds() if task.needs in MODELS.resolve(kind).roles]
    tasks = [kind for kind in TASKS.kinds() if TASKS.resolve(kind).needs in model.roles]
    return (
        f"task.kind = {task.kind!r} needs a model that {task.needs.value}, which model.kind = {model.kind!r} does not; "
        f"choose model.kind = {' or '.join(map(repr, models))}, or another task.kind: {', '.join(tasks)}"
    )


def keys_below(table: str, settings: Iterable[str]) -> list[str]:
    """The keys of a table that settings such as ``data.train=x`` change; "" stands for the whole table."""
    within = [path for path in set_paths(settings) if f"{path}.".startswith(f"{table}.")]
    return [path.removeprefix(table).removeprefix(".") for path in within]


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
    if path.suffix not in ("", ".toml") or len(path.parts) > 1:
        raise missing_files([path], "Or name a shipped recipe (see: regard recipes list)")
    raise RecipeError(
        f"there is no recipe {str(recipe)!r}{nearest(str(recipe), shipped)}; shipped recipes: "
        f"{', '.join(shipped)}; a file of your own is named by its path"
    )

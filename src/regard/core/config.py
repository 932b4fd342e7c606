"""Configuration: frozen models, choices by ``kind``, overrides by path, and errors that name the nearest key.

A choice is an object with its own fields. ``Choices`` is a table from a kind to the class that is
configured, written as ``"package.module:Class"`` so that naming a choice imports nothing; a part from
outside the package is named in a recipe by such a string itself.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo

from regard.core.errors import RecipeError, enumerate_problems

PRESET = "preset"
LARGEST = 2**63 - 1
WHOLE_NUMBERS = f"whole numbers go from {-LARGEST - 1} to {LARGEST}"


class Config(BaseModel):
    """A frozen group of settings. Unknown keys fail; a number is not a string; sequences are tuples.

    What is ``unused`` beside the other settings is refused where it is written out, and is not written out here.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, allow_inf_nan=False
    )

    def unused(self) -> Mapping[str, str]:
        """Keys that have no effect beside the others, each with the reason; "table.key" is one of a table in this."""
        return {}

    @model_validator(mode="after")
    def _check_unused(self) -> Self:
        check_used(self, self.unused())
        return self

    @model_serializer(mode="wrap")
    def _without_unused_keys(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without(handler(self), self.unused())


class Part(Config):
    """Settings of something that can be chosen by ``kind``.

    ``presets`` are published settings by name: ``preset = "gpt2"`` in a table stands for all of them; what else the
    table says takes their place.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})

    kind: str = ""


AnyConfig = TypeVar("AnyConfig", bound=Config)
AnyPart = TypeVar("AnyPart", bound=Part)


class Choices(Generic[AnyPart]):
    """The alternatives at one place of a recipe; used as metadata of a field: ``Annotated[BasePart, CHOICES]``.

    Every alternative is a subclass of ``base``, which declares what all of them can do.
    """

    def __init__(self, what: str, base: type[AnyPart], default: str, table: Mapping[str, str]) -> None:
        self.what = what
        self.base = base
        self.default = default
        self.table = dict(table)

    def kinds(self) -> tuple[str, ...]:
        return tuple(self.table)

    def with_default(self, default: str) -> Choices[AnyPart]:
        """The same alternatives where another one is usual."""
        return Choices(self.what, self.base, default, self.table)

    def but(self, **table: str) -> Choices[AnyPart]:
        """The same alternatives, some of them with defaults of their own."""
        return Choices(self.what, self.base, self.default, {**self.table, **table})

    def without(self, *kinds: str) -> Choices[AnyPart]:
        """All alternatives but these."""
        kept = {kind: address for kind, address in self.table.items() if kind not in kinds}
        return Choices(self.what, self.base, self.default, kept)

    def only(self, *kinds: str) -> Choices[AnyPart]:
        """Some of the alternatives, the first of them by default."""
        return Choices(self.what, self.base, kinds[0], {kind: self.table[kind] for kind in kinds})

    def resolve(self, kind: str) -> type[AnyPart]:
        """The configuration class behind a kind, or behind ``package.module:Class``."""
        address = self.table.get(kind, kind)
        if ":" not in address:
            raise RecipeError(
                f"unknown {self.what} kind {kind!r}{nearest(kind, self.table)}; "
                f"known: {', '.join(self.table)}, or a part of your own as \"package.module:Class\""
            )
        module_name, _, class_name = address.partition(":")
        try:
            found = getattr(importlib.import_module(module_name), class_name)
        except (ImportError, AttributeError) as error:
            raise RecipeError(
                f"{self.what} kind {kind!r} cannot be imported: {error}; "
                "check the spelling, and that the package is installed or on PYTHONPATH"
            ) from error
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise RecipeError(
                f"{self.what} kind {kind!r} is {found!r}, but a subclass of {self.base.__module__}."
                f"{self.base.__qualname__} is needed: name the configuration class, the one with build()"
            )
        if inspect.isabstract(found):
            raise RecipeError(
                f"{self.what} kind {kind!r} does not define {', '.join(sorted(found.__abstractmethods__))}; "
                f"{self.base.__module__}.{self.base.__qualname__} says what each of them takes and gives"
            )
        return found

    def make(self) -> AnyPart:
        """The default choice with its own defaults."""
        return self.resolve(self.default)(kind=self.default)


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


class Unused(ValueError):
    """Keys of a table that have no effect beside its others, each with the reason; raised by its validators."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__(". ".join(f"{key} has no effect: {why}; leave it out" for key, why in reasons.items()))
        self.keys = tuple(reasons)


DropsUnused = Callable[[str, Sequence[str]], bool]
"""Whether keys of a table that have no effect are left out instead of refused. The table's path ends in a dot."""


def refuse_unused(table: str, keys: Sequence[str]) -> bool:
    """Where somebody writes a recipe: whoever says something without effect should know."""
    return False


def drop_unused(table: str, keys: Sequence[str]) -> bool:
    """Where a recipe was written out whole, with every key: nobody meant anything by those."""
    return True


def drop_overridden(settings: Iterable[str], *, whole: bool = False) -> DropsUnused:
    """What a table says makes way for a setting that leaves it without effect, unless it was set itself; what a recipe
    says that was written out ``whole`` makes way for anything."""
    paths = set_paths(settings)

    def drops_unused(table: str, keys: Sequence[str]) -> bool:
        own = [f"{table}{key}." for key in keys]
        was_set = [path for path in paths for key in own if key.startswith(f"{path}.") or f"{path}.".startswith(key)]
        return not was_set and (whole or any(path.startswith(table) for path in paths))

    return drops_unused


def set_paths(settings: Iterable[str]) -> list[str]:
    """The paths that settings such as ``data.train=x`` change."""
    return [setting.partition("=")[0].strip() for setting in settings]


def check_used(config: Config, unused: Mapping[str, str]) -> None:
    """Refuses keys that have no effect, each with the reason, where they are written out."""
    written = {key: why for key, why in unused.items() if is_written(config, key)}
    if written:
        raise Unused(written)


def is_written(config: Config, path: str) -> bool:
    """Whether a key of a table, or of one in it, was said and is not a default."""
    key, _, rest = path.partition(".")
    if key not in config.model_fields_set:
        return False
    return not rest or is_written(dict(config)[key], rest)


def without(tree: Mapping[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """The tree without these keys, "table.key" being one of a table in it."""
    made = dict(tree)
    for path in paths:
        key, _, rest = path.partition(".")
        if rest and isinstance(made.get(key), Mapping):
            made[key] = without(made[key], [rest])
        elif not rest:
            made.pop(key, None)
    return made


def parse(
    cls: type[AnyConfig], tree: Mapping[str, Any], where: str = "recipe", drops_unused: DropsUnused = refuse_unused
) -> AnyConfig:
    """Validates a tree of tables into a configuration, or raises one error that lists every problem."""
    problems = [f"{path}: {WHOLE_NUMBERS}, found {number}" for path, number in _oversized(tree)]
    made = None if problems else _parse(cls, tree, "", problems, drops_unused)
    if problems or made is None:
        raise RecipeError(enumerate_problems(where, problems))
    return made


def _oversized(value: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Whole numbers that no library takes, each with its place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _oversized(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _oversized(inner, path)
    elif isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        yield path, value


def _parse(
    cls: type[AnyConfig], tree: Mapping[str, Any], path: str, problems: list[str], drops_unused: DropsUnused
) -> AnyConfig | None:
    values: dict[str, Any] = {}
    healthy = True
    if PRESET in tree and issubclass(cls, Part) and cls.presets:
        tree = _with_preset(cls, tree, path, problems)
    for key, value in tree.items():
        field = cls.model_fields.get(key)
        here = f"{path}{key}"
        if field is None:
            problems.append(f"{here}: unknown key{nearest(key, cls.model_fields)}; valid here: "
                            f"{', '.join(cls.model_fields)}")
            healthy = False
            continue
        before = len(problems)
        values[key] = _parse_value(field, value, here, problems, drops_unused)
        healthy &= len(problems) == before
    if not healthy:
        return None
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        unused = [key for detail in error.errors() for key in _unused_keys(detail)]
        dropped = [key for key in unused if drops_unused(path, [key])]
        if dropped:
            return _parse(cls, without(tree, dropped), path, problems, drops_unused)
        problems += [_in_words(path, detail) for detail in error.errors()]
        return None


def _with_preset(cls: type[Part], tree: Mapping[str, Any], path: str, problems: list[str]) -> Mapping[str, Any]:
    """The tree with the settings of its preset, where it does not say otherwise itself."""
    name, rest = tree[PRESET], {key: value for key, value in tree.items() if key != PRESET}
    if name not in cls.presets:
        told = f"unknown preset {name!r}{nearest(str(name), cls.presets)}; known: {', '.join(cls.presets)}"
        problems.append(f"{path}{PRESET}: {told}")
        return rest
    return _merged(cls.presets[name], rest)


def _merged(usual: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of tables as one; a table of another kind takes the usual one's place whole."""
    made = {**usual, **given}
    for key in usual.keys() & given.keys():
        before, after = usual[key], given[key]
        are_tables = isinstance(before, Mapping) and isinstance(after, Mapping)
        if are_tables and after.get("kind") in (None, before.get("kind")):
            made[key] = _merged(before, after)
    return made


def _unused_keys(detail: Any) -> tuple[str, ...]:
    error = detail.get("ctx", {}).get("error")
    return error.keys if isinstance(error, Unused) and not detail["loc"] else ()


def _parse_value(field: FieldInfo, value: Any, here: str, problems: list[str], drops_unused: DropsUnused) -> Any:
    target = _table_type(field, value, here, problems)
    if target is None:
        return _tuples(value)
    if not isinstance(value, Mapping):
        problems.append(f"{here}: a table is expected, found {value!r}")
        return value
    return _parse(target, value, f"{here}.", problems, drops_unused)


def _table_type(field: FieldInfo, value: Any, here: str, problems: list[str]) -> type[Config] | None:
    choices = next((note for note in field.metadata if isinstance(note, Choices)), None)
    if choices is not None:
        kind = value.get("kind", choices.default) if isinstance(value, Mapping) else choices.default
        try:
            return choices.resolve(str(kind))
        except RecipeError as error:
            problems.append(f"{here}.kind: {error}")
            return None
    if isinstance(field.annotation, type) and issubclass(field.annotation, Config):
        return field.annotation
    return None


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


def _in_words(path: str, detail: Any) -> str:
    where = path + ".".join(str(step) for step in detail["loc"])
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] in ("missing", "value_error"):
        return f"{where.rstrip('.')}: {message}" if where else message
    return f"{where.rstrip('.')}: {message}, found {detail['input']!r}"


def override(
    tree: Mapping[str, Any], settings: Iterable[str], cls: type[Config] | None = None
) -> dict[str, Any]:
    """Applies ``a.b.c=value`` settings to a tree of tables; a new ``kind`` replaces the table it stands in.

    With the class that the tree is for, a table that names no kind counts as one of the default kind.
    """
    result = _copy(tree)
    for setting in settings:
        path, equals, text = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise RecipeError(f"--set {setting}: expected path.to.key=value, as in training.steps=100")
        table = result
        for key in keys[:-1]:
            inner = table.setdefault(key, {})
            if not isinstance(inner, dict):
                raise RecipeError(f"--set {setting}: {key!r} is the value {inner!r}, not a table")
            table = inner
        value = _toml_value(text.strip())
        if keys[-1] == "kind" and table.get("kind", _default_kind(cls, result, keys[:-1])) != value:
            table.clear()
        table[keys[-1]] = value
    return result


def _default_kind(cls: type[Config] | None, tree: Mapping[str, Any], path: list[str]) -> str | None:
    """The kind that a table at this path has where it says none."""
    default: str | None = None
    for key in path:
        field = cls.model_fields.get(key) if cls is not None else None
        if field is None:
            return None
        tree = tree.get(key, {})
        default = next((note.default for note in field.metadata if isinstance(note, Choices)), None)
        cls = _table_type(field, tree, "", [])
    return default


def _copy(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in tree.items()}


def _toml_value(text: str) -> Any:
    """The text as a TOML value, else as a plain string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path} is not valid TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    except (RecursionError, ValueError):
        raise RecipeError(f"{path} is not valid TOML: it is nested too deeply, or has a number without end") from None
    except OSError as error:
        raise RecipeError(f"{path} cannot be read: {error.strerror}") from error


def to_toml(config: Config | Mapping[str, Any]) -> str:
    """The complete configuration, every default written out; or a tree of tables as it is."""
    return tomli_w.dumps(config.model_dump() if isinstance(config, Config) else dict(config))

"""Settings that may be "auto": numbers that follow from the rest of a recipe and from its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

WORD = "auto"
AUTO: Any = WORD
"""The default of a setting that is decided later; in Python it is ``UNDECIDED`` until then."""
UNDECIDED = -1
"""No setting of this type may be negative, so that it stays a number for whoever reads it."""

AnyNumber = TypeVar("AnyNumber", int, float)


@dataclass(frozen=True, slots=True)
class Auto:
    """Beside the type of a field, ``Annotated[int, Auto(ge=1)]``: a number within bounds, or "auto"."""

    ge: float | None = None
    gt: float | None = None
    lt: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        least = 0 if self.ge is None and self.gt is None else self.ge
        number: CoreSchema
        if source is int:
            number = core_schema.int_schema(strict=True, ge=whole(least), gt=whole(self.gt), lt=whole(self.lt))
        else:
            number = core_schema.float_schema(strict=True, ge=least, gt=self.gt, lt=self.lt, allow_inf_nan=False)
        return core_schema.no_info_wrap_validator_function(
            _read, number, serialization=core_schema.plain_serializer_function_ser_schema(_written)
        )


def whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _read(value: Any, number: Callable[[Any], Any]) -> Any:
    return UNDECIDED if value == WORD else number(value)


def _written(value: Any) -> Any:
    return WORD if is_auto(value) else value


def is_auto(value: float) -> bool:
    """Whether a setting is still to be decided."""
    return value == UNDECIDED


def decided(value: AnyNumber, otherwise: Callable[[], AnyNumber]) -> AnyNumber:
    """The setting as it was written, else what ``otherwise`` finds."""
    return otherwise() if is_auto(value) else value


def filled(tree: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    """A tree of tables whose "auto" values are those of another one, where that has them."""
    return {
        key: filled(value, held.get(key, {})) if isinstance(value, Mapping)
        else held.get(key, value) if value == WORD else value
        for key, value in tree.items()
    }  # fmt: skip

"""The question to the user where the columns of a table leave open what is to be learned."""

from __future__ import annotations

from collections.abc import Sequence

from regard.core.errors import DataError
from regard.data.discovery.tables.columns import Column

COLUMNS_SHOWN = 12
BOTH_SIDES = "--source-column X --target-column Y"


class Columns:
    """The columns of a table by kind, and errors that list what the user might say about them."""

    def __init__(self, where: str, columns: Sequence[Column]) -> None:
        self.where = where
        self.by_name = {column.name: column for column in columns}
        self.names = [column.name for column in columns if column.kind not in ("empty", "constant")]

    def of(self, *kinds: str) -> list[str]:
        return [name for name in self.names if self.by_name[name].kind in kinds]

    def unclear(self, what: str = "what is to be learned is not clear") -> DataError:
        texts, short, numbers = self.of("text"), self.of("short"), self.of("number")
        nested = self.of("object", "list")
        if not texts and not short and (numbers or nested):
            return self.unlearnable(nested)
        ways = []
        for name in texts[:2] or self.of("label")[:2]:
            rest = [other for other in (*self.of("label"), *short) if other != name]
            ways += [f"--text-column {quoted(name)} --label-column {quoted(other)}" for other in rest]
        whole = [*texts, *short, *numbers, *self.of("date", "address", "label")]
        if len(whole) >= 2:
            ways.append(f"--task translation --source-column {quoted(whole[0])} --target-column {quoted(whole[1])}")
        ways += [f"--task language-model --text-column {quoted(name)}" for name in (texts or short)[:2]]
        ways += [f"--task regression --text-column {quoted(one)} --label-column {quoted(number)}"
                 for one in (texts or short)[:1] for number in numbers[:3]]  # fmt: skip
        return self.ask(what, ways or [BOTH_SIDES, "--text-column X --label-column Y"])

    def unlearnable(self, nested: Sequence[str]) -> DataError:
        seen = self.seen()
        if nested:
            told = ", ".join(map(repr, nested))
            return DataError(
                f"{self.where}: {told} holds lists or objects, and no column has texts; write their texts under keys "
                f"of their own, e.g. with: jq -c '.{nested[0]}' {self.where} > flat.jsonl. Its columns: {seen}"
            )
        return DataError(
            f"{self.where}: no column has texts, paths of pictures or sounds, or times; tables of measurements alone "
            f"cannot be learned from. Its columns: {seen}"
        )

    def seen(self) -> str:
        told = [column.describe() for column in self.by_name.values()]
        more = f" and {len(told) - COLUMNS_SHOWN:,} more" if told[COLUMNS_SHOWN:] else ""
        return "; ".join(told[:COLUMNS_SHOWN]) + more

    def ask(self, what: str, ways: Sequence[str]) -> DataError:
        told = "\n".join(f"  {way}" for way in dict.fromkeys(ways))
        return DataError(f"{self.where}: {what}. Its columns: {self.seen()}. Say which with one of:\n{told}")


def hardly_recur(column: Column) -> str:
    """Why a column that is called as labels are has none."""
    return (
        f"{column.name!r} is called as labels are, but {column.distinct:,} of {column.filled:,} values are different, "
        "so there is little to learn about each of them as a label"
    )


def quoted(name: str) -> str:
    """As it is typed in a shell."""
    return name if name.replace("_", "").replace("-", "").isalnum() else f"'{name}'"

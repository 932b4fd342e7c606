"""Chooses the columns of a table to learn from: by the hints of the user, their names, and their contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from regard.core.config import nearest
from regard.core.errors import DataError
from regard.data.discovery.found import Hints, option
from regard.data.discovery.tables.asking import BOTH_SIDES, Columns, hardly_recur, quoted
from regard.data.discovery.tables.columns import Column
from regard.data.discovery.tables.names import (
    LABELS,
    ONLY_LABELS,
    PICTURES,
    SOUNDS,
    TEXTS,
    TWO_TEXTS,
    first_known,
    known_pair,
)
from regard.data.discovery.tables.structured import REGRESSION, STRUCTURED, Alike, Choice, never

CLASSIFICATION, TRANSLATION, EMBEDDING = "classification", "translation", "embedding"
LANGUAGE_MODELS = ("language-model", "masked-language-model")
PAIRED = (TRANSLATION, EMBEDDING)
OF_INPUTS = (CLASSIFICATION, REGRESSION)
TABLE_TASKS = (CLASSIFICATION, REGRESSION, TRANSLATION, EMBEDDING, *STRUCTURED, *LANGUAGE_MODELS)
MOST_LABELS = 10_000
ANY_TEXT = ("text", "short", "number", "date", "address", "key")
"""Kinds of columns that may be one side of a pair, if their names say so or the user does."""


class Chooser:
    """Decides for one table, or raises an error that lists what the user might say."""

    def __init__(self, where: str, columns: Sequence[Column], hints: Hints, alike: Alike = never) -> None:
        self.where, self.hints, self.alike = where, hints, alike
        held = Columns(where, texts_by_name(columns))
        self.columns, self.names = held.by_name, held.names
        self.of, self.ask, self.unclear = held.of, held.ask, held.unclear
        for name, value in hints.columns().items():
            if value not in self.columns:
                raise DataError(
                    f"{where} has no column {value!r}{nearest(value, self.columns)}, which {option(name)} names; it "
                    f"has: {', '.join(self.columns)}"
                )

    # -- the way to a choice ------------------------------------------------------------------------------------

    def choose(self) -> Choice:
        hints, task = self.hints, self.task()
        if hints.source_column or hints.target_column or task in PAIRED:
            return self.pairs(task or TRANSLATION)
        open_to = (task,) if task else STRUCTURED if not hints.columns() else ()
        for structured in open_to:
            found = STRUCTURED[structured](self.where, self.columns, self.alike) if structured in STRUCTURED else None
            if isinstance(found, Choice):
                return found
            if found and task:
                raise DataError(found)
        if task in LANGUAGE_MODELS:
            return self.texts_alone(task)
        if task in OF_INPUTS or hints.label_column or hints.second_column:
            return self.labelled(task)
        return self.by_content()

    def task(self) -> str:
        """The one that was wished for; what does not go with the named columns is refused."""
        hints = self.hints
        named = set(hints.columns())
        both_sides, labels = {"source_column", "target_column"} & named, {"second_column", "label_column"} & named
        if both_sides and (labels or "text_column" in named):
            raise DataError(
                f"{self.where}: {', '.join(map(option, sorted(named)))} do not go together; a translation has "
                f"{BOTH_SIDES}, a classification --text-column X --label-column Y"
            )
        fits = {"source_column": PAIRED, "target_column": PAIRED, "label_column": OF_INPUTS,
                "second_column": OF_INPUTS, "text_column": (*OF_INPUTS, *LANGUAGE_MODELS)}  # fmt: skip
        idle = [name for name in hints.columns() if hints.task and hints.task not in fits[name]]
        if idle:
            raise DataError(
                f"{', '.join(map(option, idle))} has no effect with --task {hints.task}; leave it out, or name "
                f"another task: {', '.join(fits[idle[0]])}"
            )
        return hints.task

    def by_content(self) -> Choice:
        """With nothing said, or a column of texts at the most."""
        texts, labels, others = self.of("text"), self.of("label"), self.of("short", "number")
        pair = known_pair(self.of(*ANY_TEXT)) if texts else None
        if self.of("picture", "sound") and (labels or self.of("number")) and not texts:
            return self.labelled()
        if pair and not labels and {*pair} == {*texts} and not self.hints.text_column:
            return self.pairs(TRANSLATION)  # whatever numbers are beside, such as how frequent a word is
        if texts and not labels and len(self.of("number")) == 1 and not self.of("short"):
            return self.labelled(REGRESSION)
        if pair and not labels and set(texts) <= set(pair) and not self.hints.text_column:
            return self.pairs(TRANSLATION)
        called = first_known(self.of("text", "short", "key"), ONLY_LABELS)
        if called and not labels and called != self.hints.text_column:
            raise self.unclear(hardly_recur(self.columns[called]))
        if self.hints.text_column or len(texts) == 1:
            if labels:
                return self.labelled()
            if same := first_known([one.name for one in self.columns.values() if one.kind == "constant"], LABELS):
                raise self.unclear(f"{same!r} is the same in all rows, so there is nothing to classify by it")
            if not others and len(self.of("date", "address")) != 1:  # a single one may be what is to be written
                return self.texts_alone("language-model")
            raise self.unclear()
        if len(texts) == 2 and not labels and not others:
            return self.pairs(TRANSLATION)
        if len(texts) >= 2 and labels:
            return self.labelled()
        raise self.unclear()

    # -- each task's columns ------------------------------------------------------------------------------------

    def pairs(self, task: str) -> Choice:
        hints = self.hints
        source, target = hints.source_column, hints.target_column
        known = known_pair(self.of(*ANY_TEXT, "label"))
        candidates = self.sides(1 if source or target else 2, (source, target))
        if known and set(self.of("text")) <= set(known):
            candidates = [*known]
        if source and target:
            reasons = ["you named both columns"]
        elif source or target:
            if len(candidates) != 1:
                candidates = [name for name in self.names if name not in (source, target)]
            if len(candidates) != 1:
                raise self.ask(f"which column goes with {source or target!r} is not clear", [BOTH_SIDES])
            reasons = [f"{candidates[0]!r} is the only other column of texts"]
            source, target = source or candidates[0], target or candidates[0]
        else:
            if len(candidates) < 2 or len(candidates) > 2:
                what = "no two columns of texts" if len(candidates) < 2 else f"{len(candidates)} columns of texts"
                ways = [f"--source-column {quoted(one)} --target-column {quoted(other)}" for one, other
                        in permutations(candidates[:3], 2)]  # fmt: skip
                raise self.ask(f"{what} for a source and a target", ways or [BOTH_SIDES])
            source, target = candidates
            why = "by their names" if known else f"since {source!r} comes first"
            other = f"--source-column {quoted(target)} --target-column {quoted(source)}"
            reasons = [f"two columns of texts: from {source!r} to {target!r}, {why}; for the other way: {other}"]
        if source == target:
            raise DataError(f"--source-column and --target-column both name {source!r}; name two columns")
        return Choice(task, "pairs", {"source_column": source, "target_column": target}, tuple(reasons))

    def sides(self, needed: int, named: Sequence[str]) -> list[str]:
        """The columns that are most likely sides of a pair: so many as are needed, or more if they are alike."""
        found: list[str] = []
        for kinds in (("text", "short"), ("number", "date", "address"), ("label",), ("key",)):
            if len(found) < needed:
                found += [name for name in self.of(*kinds) if name not in named]
        return found

    def labelled(self, task: str = "") -> Choice:
        hints = self.hints
        label, why, task = self.number() if task == REGRESSION else self.label_or_number(task)
        if not hints.text_column and self.of("picture", "sound") and not self.of("text"):
            return self.by_path(task, label, why)
        text, second, reason = self.text_for(label)
        columns = {"text": text, "label": label} | ({"second": second} if second else {})
        return Choice(task, "labelled", columns, (why, reason))

    def label_or_number(self, task: str) -> tuple[str, str, str]:
        """A class, unless what is named, or all that there is, is a number."""
        wished = self.hints.label_column
        numbers = self.of("number")
        if not task and (wished in numbers or (not wished and not self.of("label") and len(numbers) == 1)):
            return self.number()
        label, why = self.label()
        return label, why, CLASSIFICATION

    def number(self) -> tuple[str, str, str]:
        """The column of the numbers to be estimated, and why."""
        wished = self.hints.label_column
        numbers = [name for name in self.of("number", "label") if self.columns[name].numeric]
        whole = [name for name in numbers if self.columns[name].kind == "number"] or numbers
        if wished and wished not in numbers:
            raise DataError(
                f"{self.where}: {wished!r}, which --label-column names, has no numbers to be estimated"
                + (f"; these have: {', '.join(numbers)}" if numbers else "")
            )
        label = wished or (whole[0] if len(whole) == 1 else first_known(whole, LABELS))
        if not label:
            ways = [f"--task {REGRESSION} --label-column {quoted(name)}" for name in whole]
            told = ", ".join(map(repr, whole))
            what = f"{len(whole)} columns have numbers: {told}" if whole else "no column has numbers"
            raise self.ask(what, ways or ["--text-column X --label-column Y"])
        why = "you named it" if wished else "the only column of numbers" if len(whole) == 1 else "by its name"
        return label, f"{label!r} has numbers that are to be estimated, {why}", REGRESSION

    def label(self) -> tuple[str, str]:
        wished = self.hints.label_column
        if wished:
            self.check_labels(wished)
            return wished, f"you named {wished!r} for the labels"
        labels = [name for name in self.of("label") if name != self.hints.text_column]
        known = first_known(labels, LABELS)
        if len(labels) == 1:
            other = "" if known else "; to have them written as texts instead: --task translation"
            other += f"; to have it estimated as a number: --task {REGRESSION}" * self.columns[labels[0]].numeric
            return labels[0], f"{labels[0]!r} has few short values that recur: labels{other}"
        if not labels:
            raise self.unclear("no column has few short values that recur, as labels do")
        if known and sum(bool(first_known([name], LABELS)) for name in labels) == 1:
            return known, f"of {', '.join(map(repr, labels))}, which all may be labels, {known!r} is one by its name"
        ways = [f"--label-column {quoted(name)}" for name in labels]
        raise self.ask(f"{len(labels)} columns may be labels: {', '.join(map(repr, labels))}", ways)

    def check_labels(self, name: str) -> None:
        column = self.columns[name]
        if (column.distinct > max(1, column.filled // 2) and column.filled >= 20) or column.distinct > MOST_LABELS:
            raise DataError(
                f"{self.where}: {name!r} has {column.distinct:,} different values in {column.filled:,} rows, so there "
                "is little to learn about each of them as a label. Name another column with --label-column; or, if "
                f"these are texts to be written: --task translation --source-column X --target-column {quoted(name)}"
            )

    def text_for(self, label: str) -> tuple[str, str, str]:
        """The column of the texts, perhaps of second ones, and why."""
        text, second = self.hints.text_column, self.hints.second_column
        others = [name for name in self.of("text") if name not in (label, text, second)]
        if text:
            return text, second, f"you named {text!r} for the texts"
        if second and len(others) == 1:
            return others[0], second, f"{others[0]!r} is the only other column of texts"
        if not others:
            others = [name for name in self.of("short", "label", "number") if name != label]
        if len(others) == 1:
            return others[0], "", f"{others[0]!r} has the texts"
        known = first_known(others, TEXTS)
        two = known_pair(others, TWO_TEXTS)
        if two and len(others) == 2:
            return *two, f"the label is about two texts, {two[0]!r} and {two[1]!r}, by their names"
        if known and sum(bool(first_known([name], TEXTS)) for name in others) == 1:
            return known, "", f"of {', '.join(map(repr, others))}, {known!r} has the texts by its name"
        if not others:
            raise self.ask("no column has texts", ["--text-column X"])
        ways = [f"--text-column {quoted(name)} --label-column {quoted(label)}" for name in others]
        if len(others) == 2:
            first, other = map(quoted, others)
            both = f"--text-column {first} --second-column {other} --label-column {quoted(label)}"
            across = f"--task translation --source-column {first} --target-column {other}"
            ways += [f"{both} (the label is about both)", across]
        raise self.ask(f"{len(others)} columns have texts: {', '.join(map(repr, others))}", ways)

    def by_path(self, task: str, label: str, why: str) -> Choice:
        """What a picture or a sound is said to be, by its path."""
        kind, key, usual = ("picture", "image", PICTURES) if self.of("picture") else ("sound", "sound", SOUNDS)
        paths = self.of(kind)
        path = paths[0] if len(paths) == 1 else first_known(paths, usual)
        if not path:
            told = ", ".join(map(repr, paths))
            raise DataError(
                f"{self.where}: {len(paths)} columns have paths of {kind}s: {told}; call the right one {key}"
            )
        return Choice(task, f"{kind}s", {key: path, "label": label}, (f"{path!r} has paths of {kind}s", why))

    def texts_alone(self, task: str) -> Choice:
        texts = [self.hints.text_column] if self.hints.text_column else self.of("text") or self.of("short")
        known = texts[0] if len(texts) == 1 else first_known(texts, TEXTS)
        if not known:
            what = f"{len(texts)} columns have texts" if texts else "no column has texts"
            raise self.ask(what, [f"--task {task} --text-column {quoted(name)}" for name in texts or self.names])
        return Choice(task, "text-table", {"text": known}, (f"{known!r} has texts, each of which is a document",))


def texts_by_name(columns: Sequence[Column]) -> list[Column]:
    """With no texts among the columns, one that is called so has them, even if they recur as labels do."""
    if any(column.kind == "text" for column in columns):
        return [*columns]
    called = first_known([column.name for column in columns if column.kind in ("label", "short")], TEXTS)
    return [replace(column, kind="text") if column.name == called else column for column in columns]

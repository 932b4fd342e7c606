"""Tables whose columns are known by their names: questions with contexts and answers, words with tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from regard.data.discovery.tables.columns import Column
from regard.data.discovery.tables.names import ANSWERS, CONTEXTS, QUESTIONS, TAGS, WORDS, first_known

REGRESSION = "regression"
Alike: TypeAlias = Callable[[str, str], bool]
"""Whether two columns have as many words in each row."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A task, and the columns that it takes, under the keys of [data] that name them; ``kind`` is that of [data]."""

    task: str
    kind: str
    columns: Mapping[str, str]
    reasons: tuple[str, ...]


def never(first: str, second: str) -> bool:
    return False


def questions(where: str, columns: Mapping[str, Column], alike: Alike) -> Choice | str:
    """The three columns, or what is missing."""
    found = [first_known([*columns], known) for known in (QUESTIONS, CONTEXTS, ANSWERS)]
    if not all(found):
        return (
            f"{where}: question answering needs the columns question, context and answer; it has {', '.join(columns)}. "
            "Rename them"
        )
    keys = dict(zip(("question", "context", "answer"), found))
    return Choice("question-answering", "questions", keys, ("questions, contexts and answers, by their names",))


def tagged(where: str, columns: Mapping[str, Column], alike: Alike) -> Choice | str:
    """Two columns of lists, or of texts with as many words in each row; or what is missing."""
    lists = [name for name, column in columns.items() if column.kind == "list"]
    texts = [name for name, column in columns.items() if column.kind in ("text", "short", "label")]
    both = lists if len(lists) > 1 else texts
    words = first_known(both, WORDS)
    tags = first_known([name for name in both if name != words], TAGS)
    if len(lists) == 2 and words and not tags:
        tags = next(name for name in lists if name != words)
    if not (words and tags) or (both is texts and not alike(words, tags)):
        return (
            f"{where}: tagging needs a column of words and one of tags, as many in each row, called words and tags (or "
            f"tokens, ner_tags, pos_tags); it has {', '.join(columns)}. Rename them"
        )
    reason = f"{words!r} has the words of a sentence and {tags!r} their tags"
    return Choice("tagging", "tagged", {"words": words, "tags": tags}, (reason,))


STRUCTURED: Mapping[str, Callable[[str, Mapping[str, Column], Alike], Choice | str]] = {
    "question-answering": questions,
    "tagging": tagged,
}
"""By task: the columns that it needs, or a sentence that says what is missing."""

"""Examples with a label, with tags, with questions, or of texts alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable


class Example(Protocol):
    """Something to learn from; ``line`` and ``origin`` say where it was read.

    Law: two examples with the same ``key()`` ask the same, whatever is to be answered; with the same ``answer()`` too
    they are duplicates. Both are cheap enough to be asked of every example.
    """

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...

    def key(self) -> Hashable:
        """What is given: a text, the digest of a picture."""
        ...

    def answer(self) -> Hashable:
        """What is to be said about it."""
        ...


@runtime_checkable
class HasTexts(Protocol):
    """An example that tokenizers can learn from."""

    def sides(self) -> tuple[Iterable[str], ...]:
        """Its texts: one group where all are of one kind, two (source, target) where each side may have its own."""
        ...


class Recordable(Example, Protocol):
    """An example that a run folder can keep: a validation split that was set aside is written there.

    Law: ``from_record(record())`` is the same example, also after a way through JSON.
    """

    def record(self) -> dict[str, Any]: ...

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self: ...


AnyExample = TypeVar("AnyExample", bound=Example)
Raw = TypeVar("Raw", bound=Hashable)


@runtime_checkable
class HasLabel(Protocol):
    """An input of any modality and the class that it belongs to."""

    @property
    def input(self) -> Any:
        """What the modality encodes."""
        ...

    @property
    def label(self) -> str: ...

    @property
    def group(self) -> str:
        """A part of the data to score apart."""
        ...

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...

    @property
    def source(self) -> str:
        """The input as it is named in lists of errors: the text, or a path."""
        ...


@runtime_checkable
class HasTarget(Protocol):
    """An example that goes from one text to another, be that a sentence or the name of a class."""

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Recorded:
    """An example that is kept field by field."""

    def record(self) -> dict[str, Any]:
        return asdict(self)


class OfClass:
    """What is to be said of an example, where that is the class that it belongs to."""

    __slots__ = ()
    label: str

    @property
    def target(self) -> str:
        return self.label

    def answer(self) -> Hashable:
        return self.label


class OneInput(Generic[Raw]):
    """An example with one input, which is not a text."""

    __slots__ = ()
    raw: Raw

    @property
    def input(self) -> Raw:
        return self.raw

    @property
    def source(self) -> str:
        return str(self.raw)


@dataclass(frozen=True, slots=True)
class OneLabelled(OneInput[Raw], OfClass):
    """One input, and the class that it belongs to; ``line`` is its place in ``origin``, from 1."""

    raw: Raw
    label: str
    group: str = ""
    line: int = 0
    origin: str = ""


class InTexts(ABC):
    """An example that is read as one side, however many texts there are in it."""

    __slots__ = ()

    @abstractmethod
    def texts(self) -> tuple[str, ...]: ...

    def sides(self) -> tuple[Iterable[str], ...]:
        return (self.texts(),)


@dataclass(frozen=True, slots=True)
class Labelled(OfClass, InTexts, Generic[Raw]):
    """Something, or two of its kind, and the class that it belongs to; ``group`` names a part of the data to score
    apart. What is labelled is a text here; any other hashable input will do."""

    raw: Raw
    label: str
    second: Raw | str = ""  # "": there is none
    group: str = ""
    line: int = 0
    origin: str = ""

    @property
    def text(self) -> Raw:
        """Another name of what is labelled, where that is a text."""
        return self.raw

    @property
    def source(self) -> str:
        return f"{self.raw}\t{self.second}" if self.second else str(self.raw)

    @property
    def input(self) -> Any:
        """What a modality encodes: one, or two together."""
        return (self.raw, self.second) if self.second else (self.raw,)

    def key(self) -> Hashable:
        return (self.raw, self.second) if self.second else self.raw

    def texts(self) -> tuple[str, ...]:
        return (str(self.raw), str(self.second)) if self.second else (str(self.raw),)

    def record(self) -> dict[str, Any]:
        fields = asdict(self)
        return {"text": fields.pop("raw"), **fields}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        return cls(fields.pop("text"), **fields)


@dataclass(frozen=True, slots=True)
class Unlabelled(Recorded, InTexts):
    """A text of which nothing is to be said."""

    text: str
    line: int = 0
    origin: str = ""

    def key(self) -> Hashable:
        return self.text

    def answer(self) -> Hashable:
        return ""

    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        return cls(**record)


@dataclass(frozen=True, slots=True)
class Tagged(Recorded, InTexts):
    """A sentence in words, and a tag for each of them."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    line: int = 0
    origin: str = ""

    @property
    def source(self) -> str:
        return " ".join(self.words)

    @property
    def target(self) -> str:
        return " ".join(self.tags)

    def key(self) -> Hashable:
        return self.source

    def answer(self) -> Hashable:
        return self.target

    def texts(self) -> tuple[str, ...]:
        return (self.source,)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        return cls(tuple(fields.pop("words")), tuple(fields.pop("tags")), **fields)


def unfit(one: Tagged) -> str:
    """What is wrong with a sentence; nothing where words and tags go together."""
    if len(one.words) != len(one.tags):
        return f"{len(one.words)} words and {len(one.tags)} tags"
    empty = [name for name, own in (("word", one.words), ("tag", one.tags)) if "" in own]
    return f"an empty {' and an empty '.join(empty)}" if empty else ""


class Reference(NamedTuple):
    """An answer, and at which character of the context it starts."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class QuestionExample(Recorded, InTexts):
    """A question about a context, and its answers; none: the context does not say."""

    question: str
    context: str
    answers: tuple[Reference, ...] = ()
    line: int = 0
    origin: str = ""

    @property
    def source(self) -> str:
        return f"{self.question}\t{self.context}"

    @property
    def target(self) -> str:
        return self.answers[0].text if self.answers else ""

    def key(self) -> Hashable:
        return self.question, self.context

    def answer(self) -> Hashable:
        return self.target

    def texts(self) -> tuple[str, ...]:
        return self.question, self.context

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        fields = dict(record)
        answers = tuple(Reference(*answer) for answer in fields.pop("answers"))
        return cls(fields.pop("question"), fields.pop("context"), answers, **fields)

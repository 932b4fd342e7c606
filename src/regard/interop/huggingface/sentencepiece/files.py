"""Files of SentencePiece (Kudo and Richardson 2018): pieces, their scores, and how a text is made normal before."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from regard.core.errors import RunError, enumerate_problems

ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
READ = ("unigram", "bpe")
VARINT, WIDE, BYTES, NARROW = 0, 1, 2, 5
"""How a value of a protocol buffer lies in the file: by its own length, in 8 bytes, after its length, in 4 bytes."""


class Kind(IntEnum):
    """What a piece is for, by the file's numbers."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class SentencePiece(NamedTuple):
    """One of tens of thousands."""

    text: str
    score: float
    kind: Kind


@dataclass(frozen=True, slots=True)
class PieceModel:
    """A file's content. ``charsmap`` holds the replacements of signs, compiled; empty: none."""

    pieces: tuple[SentencePiece, ...]
    algorithm: str
    charsmap: bytes
    adds_space: bool  # before every text
    strips_spaces: bool  # at both ends, and all but one of several
    escapes_spaces: bool  # as "▁"
    byte_fallback: bool

    def of_kind(self, *kinds: Kind) -> list[SentencePiece]:
        return [piece for piece in self.pieces if piece.kind in kinds]


def read_pieces(path: Path) -> PieceModel:
    """Refuses a file that is damaged, or whose texts the tokenizers library would take apart otherwise."""
    try:
        model, whitespace_last = _model(path.read_bytes())
    except (ValueError, IndexError, struct.error) as error:
        raise RunError(f"{path} is not a whole SentencePiece model ({error}); download it again") from error
    problems = []
    if model.algorithm not in READ:
        problems.append(f"its model_type is {model.algorithm}; read are {' and '.join(READ)}")
    if whitespace_last:
        problems.append("treat_whitespace_as_suffix = true; only spaces before words are read")
    if len(model.of_kind(Kind.UNKNOWN)) != 1:
        problems.append("it has not one piece for what is unknown, which every model has")
    if problems:
        raise RunError(enumerate_problems(f"{path} cannot be followed", problems))
    return model


def _model(data: bytes) -> tuple[PieceModel, bool]:
    pieces, trainer, normalizer = [], dict[int, int | bytes](), dict[int, int | bytes]()
    for field, value in _fields(data):
        if field == 1:
            pieces.append(_piece(_held(value)))
        elif field == 2:
            trainer |= dict(_fields(_held(value)))
        elif field == 3:
            normalizer |= dict(_fields(_held(value)))
    if not pieces:
        raise ValueError("it holds no pieces")
    number = trainer.get(3, 1)
    model = PieceModel(
        pieces=tuple(pieces),
        algorithm=ALGORITHMS.get(_number(number), f"number {number!r}"),
        charsmap=_held(normalizer.get(2, b"")),
        adds_space=bool(normalizer.get(3, 1)),
        strips_spaces=bool(normalizer.get(4, 1)),
        escapes_spaces=bool(normalizer.get(5, 1)),
        byte_fallback=bool(trainer.get(35, 0)),
    )
    return model, bool(trainer.get(24, 0))


def _piece(data: bytes) -> SentencePiece:
    found = dict(_fields(data))
    if 1 not in found:
        raise ValueError("a piece has no text")
    (score,) = struct.unpack("<f", _held(found.get(2, bytes(4))))
    return SentencePiece(_held(found[1]).decode("utf-8"), score, Kind(_number(found.get(3, 1))))


def _held(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("found a number where bytes are expected")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError("found bytes where a number is expected")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer, one by one: number and value; floats are left as their bytes."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        field, form = key >> 3, key & 7
        if form == VARINT:
            value, place = _varint(data, place)
            yield field, value
            continue
        if form == BYTES:
            length, place = _varint(data, place)
        elif form in (WIDE, NARROW):
            length = 8 if form == WIDE else 4
        else:
            raise ValueError(f"form {form} of a value is not known")
        if place + length > len(data):
            raise ValueError("it ends too early")
        yield field, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise ValueError("it ends too early")
        byte, place = data[place], place + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number does not end")

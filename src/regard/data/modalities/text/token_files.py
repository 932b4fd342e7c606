"""Tokens of a whole corpus in one memory-mapped file: tokenised once, larger than memory, there at once again."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regard.core.errors import DataError
from regard.core.files import read_json, write_atomically, write_json
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.texts import Text

FORMAT = 1
BATCH = 1 << 21
"""Characters that are tokenised together, on all cores."""


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A stream of documents, <eos> before the first and after each that ends; numbers as narrow as the vocabulary."""

    path: Path
    dtype: str
    tokens: int
    characters: int
    documents: int

    def open(self) -> np.ndarray:
        if not self.tokens:
            return np.zeros(0, self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", shape=(self.tokens,))


def cache_folder() -> Path:
    """Where token files are kept: ``REGARD_CACHE``, else ``regard`` in the user's cache folder."""
    own = os.environ.get("REGARD_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def token_file(texts: Sequence[Text], tokenizer: Tokenizer) -> TokenFile:
    """The tokens of these texts, from the cache where the same texts met the same tokenizer before."""
    lines = any(text.lines for text in texts)
    fingerprint = hashlib.sha256(f"{FORMAT}|{lines}|{tokenizer.raw.to_str()}".encode())
    for text in texts:
        fingerprint.update(f"|{text.key()}|{text.ends}".encode())
    path = cache_folder() / "tokens" / f"{fingerprint.hexdigest()[:32]}.bin"
    about = path.with_suffix(".json")
    if about.is_file() and path.is_file():
        made = TokenFile(path, **read_json(about))
        if path.stat().st_size == made.tokens * np.dtype(made.dtype).itemsize:
            return made
    counts = [0, 0, 0]
    dtype = "uint16" if tokenizer.size <= 1 << 16 else "uint32"

    def write(part: Path) -> None:
        with part.open("wb") as file:
            for tokens, characters, documents in encoded(texts, tokenizer):
                np.asarray(tokens, dtype).tofile(file)
                for place, more in enumerate((len(tokens), characters, documents)):
                    counts[place] += more

    write_atomically(path, write)
    made = TokenFile(path, dtype, *counts)
    write_json(about, {name: value for name, value in asdict(made).items() if name != "path"})
    return made


class TokenFiles:
    """The tokens of each split of running text; a split's file is made when it is first asked for."""

    def __init__(self, splits: Mapping[str, Sequence[Text]], tokenizer: Tokenizer) -> None:
        self.splits, self.tokenizer = splits, tokenizer
        self._made: dict[str, TokenFile] = {}

    def __getitem__(self, split: str) -> TokenFile:
        if split not in self._made:
            self._made[split] = token_file(self.splits[split], self.tokenizer)
        return self._made[split]


class FirstTokens(NamedTuple):
    """The beginning of a stream, or all of it, and how much that is, in words."""

    tokens_N: np.ndarray
    told: str


def first_tokens(texts: Sequence[Text], tokenizer: Tokenizer, most: int) -> FirstTokens:
    """At most so many tokens of a stream, of which no more is read than they take."""
    parts: list[np.ndarray] = []
    size = 0
    for tokens, _, _ in encoded(texts, tokenizer):
        parts.append(tokens.astype(np.int64))
        size += len(tokens)
        if size > most:
            return FirstTokens(np.concatenate(parts)[:most], f"the first {most:,} tokens")
    return FirstTokens(np.concatenate(parts), f"{size:,} tokens")


def encoded(texts: Sequence[Text], tokenizer: Tokenizer) -> Iterator[tuple[np.ndarray, int, int]]:
    """Tokens with the characters that they stand for and the documents that end with them, batch by batch."""
    if tokenizer.specials.eos < 0:
        raise DataError("the tokenizer has no symbol that closes a document; running text needs one: tokenizer.eos")
    end = np.array([tokenizer.specials.eos], np.uint32)
    yield end, 0, 0
    pieces = (piece for text in texts for piece in (line_pieces(text) if text.lines else block_pieces(text, tokenizer)))
    for batch in batches(pieces):
        made = zip(tokenizer.encode_arrays([piece.text for piece in batch]), batch, strict=True)
        parts = [part for own, piece in made for part in ((own, end) if piece.ends else (own,))]
        yield np.concatenate(parts), sum(piece.characters for piece in batch), sum(piece.ends for piece in batch)


def batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """Pieces together as long as they have fewer than ``BATCH`` characters; no batch is empty."""
    held: list[Piece] = []
    characters = 0
    for piece in pieces:
        held.append(piece)
        characters += piece.characters
        if characters >= BATCH:
            yield held
            held, characters = [], 0
    if held:
        yield held


class Piece(NamedTuple):
    """What is tokenised at once, the characters that it stands for, and whether a document ends with it."""

    text: str
    characters: int
    ends: bool


def block_pieces(text: Text, tokenizer: Tokenizer) -> Iterator[Piece]:
    """A document's blocks; the space that a tokenizer puts before every text is taken off those that have one."""
    blocks = text.blocks() if tokenizer.joins_blocks else iter(["".join(text.blocks())])
    block, first = next(blocks, ""), True
    while block:
        following = next(blocks, "")
        fed = block[1:] if tokenizer.prepends_space and not first else block
        yield Piece(fed, len(block), text.ends and not following)
        block, first = following, False


def line_pieces(text: Text) -> Iterator[Piece]:
    """Every line that is not empty is a document."""
    held = ""
    for block in itertools.chain(text.blocks(), ["\n"]):
        *whole, held = (held + block).split("\n")
        for line in whole:
            if line.strip():
                yield Piece(line, len(line) + 1, True)

"""Tokenizers: words, characters, bytes or byte pairs; what they take apart they put together again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tokenizers as library
from pydantic import Field
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, trainers

from regard.core.errors import DataError, RecipeError, RunError
from regard.core.files import write_text
from regard.core.symbols import AROUND_FOREIGN, OUR_SPECIALS, SPECIAL_SYMBOLS, UNK, Specials
from regard.data import TokenizerPart
from regard.data.modalities.text.sign_tables import EVERY_SIGN, SignTable, byte_of_sign, sign_table

# Threads in this process, but none in its forks, where the library's thread pool would hang or warn.
if "TOKENIZERS_PARALLELISM" not in os.environ:
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: os.environ.update(TOKENIZERS_PARALLELISM="false"))

# A word takes the space before it along. "l'homme" is "l'" and "homme", "don't" is "don" and "'t"; hyphens
# and the points inside numbers hold a word together; every other sign, and every further space, stands alone.
_LETTER = r"[\p{L}\p{M}\p{N}_]"
_ENDING = r"(?:s|t|re|ve|m|ll|d)(?!\p{L})"
_WORD = (
    rf" ?{_LETTER}+['’](?=\p{{L}})(?!{_ENDING})"
    rf"| ?['’]{_ENDING}"
    r"| ?\p{N}+(?:[.,]\p{N}+)+"
    rf"| ?{_LETTER}+(?:-{_LETTER}+)*"
    r"| ?[^\s\p{L}\p{M}\p{N}_]"
    r"|\s"
)
_CODE = r"\r?\n[ \t]*| ?_*\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s"
LARGEST_VOCABULARY = 1_000_000
_SMALLEST_BPE = len(SPECIAL_SYMBOLS) + 256
MASK_SYMBOL = "<mask>"


class Piece(NamedTuple):
    """A piece of a text and its place in it, without the spaces around.

    The piece belongs to the word in which ``start`` lies; a space that became a piece of its own has an empty
    place, at the start of what follows it.
    """

    token: str
    start: int
    stop: int


class Tokenizer:
    """Text to numbers and back. Law: ``decode(encode(text)) == text`` for any text of known pieces.

    Wraps a ``tokenizers.Tokenizer``, which is at ``raw`` and is saved as its ``tokenizer.json``. The ids 0 to
    3 are the special symbols (those of an imported one are in ``specials``); none of them comes from a text that
    merely spells one.
    """

    def __init__(self, raw: library.Tokenizer, specials: Specials = OUR_SPECIALS) -> None:
        self.raw = raw
        self.specials = specials
        # Not part of the library's file, so it is set here for a trained and for a loaded tokenizer alike.
        raw.encode_special_tokens = True
        decoder = json.dumps(json.loads(raw.to_str())["decoder"])
        self._bytes = byte_of_sign() if "ByteLevel" in decoder else {}

    @cached_property
    def prepends_space(self) -> bool:
        """Whether a text is read with one more space before it."""
        normalizer = self.raw.normalizer
        return normalizer is not None and normalizer.normalize_str("a") == " a"

    @cached_property
    def joins_blocks(self) -> bool:
        """Whether a text cut before a single space gives the same pieces as the whole: true of those made here."""
        kinds = json.dumps(json.loads(self.raw.to_str())["pre_tokenizer"])
        known = ('"ByteLevel"', '"Split"', '"BertPreTokenizer"')
        return '"Metaspace"' not in kinds and any(kind in kinds for kind in known)

    @property
    def size(self) -> int:
        """How many ids there are, the special symbols included."""
        return self.raw.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        return self.raw.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [made.ids for made in self.raw.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The same ids, for many and long texts."""
        if self._table is not None:
            return [self._table.encode(text) for text in texts]
        return [np.array(ids, np.uint32) for ids in self.encode_batch(texts)]

    @cached_property
    def _table(self) -> SignTable | None:
        return sign_table(self.raw)

    def decode(self, ids: Iterable[int]) -> str:
        """The text; <pad>, <sos> and <eos> are left out, <unk> is shown."""
        return self.raw.decode(list(ids), skip_special_tokens=True)

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        return self.raw.decode_batch([list(ids) for ids in batch], skip_special_tokens=True)

    def pieces(self, text: str) -> list[Piece]:
        made = self.raw.encode(text, add_special_tokens=False)
        return [Piece(self.token(id), *_trim(text, *place)) for id, place in zip(made.ids, made.offsets)]

    def token(self, id: int) -> str:
        """The piece as a person reads it: a space as "▁", bytes that are no whole character as "\\xc3"."""
        token = self.raw.id_to_token(id)
        if token is None:
            raise IndexError(f"id {id} is not in a vocabulary of {self.size}")
        if id in self.specials.known():
            return token
        if self._bytes and all(sign in self._bytes for sign in token):
            spelled = bytes(self._bytes[sign] for sign in token)
            token = spelled.decode("utf-8", errors="backslashreplace")
        return token.replace(" ", "▁").strip("".join(AROUND_FOREIGN))

    def save(self, path: Path) -> None:
        write_text(path, self.raw.to_str(pretty=True))

    @classmethod
    def load(cls, path: Path, specials: Specials | None = None) -> Tokenizer:
        """Without ``specials`` it must be one of ours; an imported one says where its special symbols stand."""
        if not path.is_file():
            raise RunError(f"no tokenizer at {path}; the run folder is not complete")
        try:
            raw = library.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as error:  # the library raises nothing more special
            raise RunError(f"{path} is not a tokenizer file of the tokenizers library: {error}") from error
        found = tuple(raw.id_to_token(id) for id in range(len(SPECIAL_SYMBOLS)))
        if specials is None and found != SPECIAL_SYMBOLS:
            raise RunError(
                f"{path}: the ids 0 to 3 are {found}, expected {SPECIAL_SYMBOLS}; it was not made by Regard"
            )
        return cls(raw, specials or OUR_SPECIALS)


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and text[start].isspace():
        start += 1
    return start, stop


class ImportedTokenizer(TokenizerPart):
    """One that came with somebody else's model; its special symbols stand where they stood there (−1: not at all)."""

    numbers_alike = True

    kind: str = "imported"
    pad: int = Field(default=-1, ge=-1)
    sos: int = Field(default=-1, ge=-1)
    eos: int = Field(default=-1, ge=-1)
    unk: int = Field(default=-1, ge=-1)
    opening: int = Field(default=-1, ge=-1)  # stands before every text
    mask: int = Field(default=-1, ge=-1)  # stands for a word to be guessed

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raise RecipeError(
            "an imported tokenizer is not trained; choose tokenizer.kind = \"bpe\" (or word, character, byte), "
            "or start from the imported run"
        )

    def specials(self) -> Specials:
        return Specials(self.pad, self.sos, self.eos, self.unk, self.opening, self.mask)


class ByteTokenizer(TokenizerPart):
    """Every byte of the UTF-8 text is a piece: 260 ids, nothing to learn, nothing unknown."""

    kind: str = "byte"

    def train(self, texts: Iterable[str]) -> Tokenizer:
        signs = sorted(byte_of_sign(), key=byte_of_sign().__getitem__)
        raw = library.Tokenizer(models.BPE(vocab=_vocabulary(signs), merges=[]))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        raw.decoder = decoders.ByteLevel()
        return _finish(raw)


class BpeTokenizer(TokenizerPart):
    """Byte pairs (Sennrich et al. 2016, over bytes): frequent words whole, rare ones in parts, none unknown.

    Every text is read with one more space before it, which decoding takes away: so the first word has the
    same pieces as elsewhere. ``dropout`` (Provilkov et al. 2020) acts in training, see ``bpe_dropout.py``. With
    ``mask`` there is one more symbol, <mask>, for models that guess hidden words.
    """

    kind: str = "bpe"
    vocabulary: int = Field(default=8000, ge=_SMALLEST_BPE, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    lower: bool = False
    mask: bool = False

    @property
    def mask_symbol(self) -> str:
        return MASK_SYMBOL

    @property
    def pair_dropout(self) -> float:
        return self.dropout

    def specials(self) -> Specials | None:
        return Specials(mask=len(SPECIAL_SYMBOLS)) if self.mask else None

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raw = library.Tokenizer(models.BPE())
        raw.normalizer = _normalizer(self.lower, normalizers.Prepend(" "))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        raw.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        return _merge(raw, texts, self.vocabulary, self.min_frequency, self.specials() or OUR_SPECIALS)


class CodeTokenizer(TokenizerPart):
    """Byte pairs inside the words of a program: a line's end with the indentation after it is one word, the parts of
    a name between underscores are words, so are single digits and runs of signs.
    """

    kind: str = "code"
    vocabulary: int = Field(default=8000, ge=_SMALLEST_BPE, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=2, ge=1)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raw = library.Tokenizer(models.BPE())
        words = pre_tokenizers.Split(Regex(_CODE), behavior="isolated")
        raw.pre_tokenizer = pre_tokenizers.Sequence(
            [words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        raw.decoder = decoders.ByteLevel()
        return _merge(raw, texts, self.vocabulary, self.min_frequency)


class WordTokenizer(TokenizerPart):
    """Words and signs as they stand; a word has one id after a space and another elsewhere.

    A text is read with one more space before it, as with byte pairs. Unknown words are shown as <unk>.
    """

    kind: str = "word"
    vocabulary: int = Field(default=30_000, ge=len(SPECIAL_SYMBOLS) + 1, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=2, ge=1)
    lower: bool = False

    def train(self, texts: Iterable[str]) -> Tokenizer:
        return words_of(_WORD, texts, self.vocabulary, self.min_frequency, lower=self.lower)


class CharacterTokenizer(TokenizerPart):
    """Every character (code point) is a piece; one that was not seen in training is <unk>."""

    kind: str = "character"
    vocabulary: int = Field(default=10_000, ge=len(SPECIAL_SYMBOLS) + 1, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=1, ge=1)
    lower: bool = False

    def train(self, texts: Iterable[str]) -> Tokenizer:
        raw = library.Tokenizer(models.WordLevel(unk_token=SPECIAL_SYMBOLS[UNK]))
        raw.normalizer = _normalizer(self.lower)
        raw.pre_tokenizer = pre_tokenizers.Split(Regex(EVERY_SIGN), behavior="isolated")
        raw.decoder = decoders.Fuse()
        return _count(raw, texts, self.vocabulary, self.min_frequency)


def words_of(pattern: str, texts: Iterable[str], size: int, minimum: int, *, lower: bool = False) -> Tokenizer:
    """The most frequent matches of a pattern, one of them a single space; a text is read with one more before it."""
    raw = library.Tokenizer(models.WordLevel(unk_token=SPECIAL_SYMBOLS[UNK]))
    raw.normalizer = _normalizer(lower, normalizers.Prepend(" "))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    # The symbol as a whole piece: one that was spelled in a text has its space already.
    unknown = decoders.Replace(Regex(rf"\A{SPECIAL_SYMBOLS[UNK]}\z"), f" {SPECIAL_SYMBOLS[UNK]}")
    raw.decoder = decoders.Sequence([unknown, decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return _count(raw, texts, size, minimum, always=(" ",))


def _merge(
    raw: library.Tokenizer, texts: Iterable[str], size: int, minimum: int, specials: Specials = OUR_SPECIALS
) -> Tokenizer:
    """Learns which neighbours belong together."""
    more = [MASK_SYMBOL] if specials.mask >= 0 else []
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=minimum,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[*SPECIAL_SYMBOLS, *more],
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    return _finish(raw, specials)


def _normalizer(lower: bool, *others: normalizers.Normalizer) -> normalizers.Normalizer:
    return normalizers.Sequence([*([normalizers.Lowercase()] if lower else []), *others])


def _count(
    raw: library.Tokenizer, texts: Iterable[str], size: int, minimum: int, always: tuple[str, ...] = ()
) -> Tokenizer:
    """The most frequent pieces, equally frequent ones by alphabet, after the pieces that ``always`` stay."""
    trainer = trainers.WordLevelTrainer(vocab_size=size, min_frequency=minimum, show_progress=False)
    raw.train_from_iterator(texts, trainer)
    found = raw.get_vocab(with_added_tokens=False)
    ranked = [piece for piece in sorted(found, key=found.__getitem__) if piece not in always]
    if not ranked and minimum > 1:
        raise DataError(
            f"nothing occurs {minimum:,} times in the training texts, so all of them would be {SPECIAL_SYMBOLS[UNK]}; "
            "set a smaller tokenizer.min_frequency"
        )
    kept = [*always, *ranked][: size - len(SPECIAL_SYMBOLS)]
    raw.model = models.WordLevel(vocab=_vocabulary(kept), unk_token=SPECIAL_SYMBOLS[UNK])
    return _finish(raw)


def _vocabulary(pieces: Iterable[str]) -> dict[str, int]:
    return {piece: id for id, piece in enumerate([*SPECIAL_SYMBOLS, *pieces])}


def _finish(raw: library.Tokenizer, specials: Specials = OUR_SPECIALS) -> Tokenizer:
    # <unk> is an ordinary entry: as a special token it would vanish on decoding.
    finished = library.Tokenizer(raw.model)
    finished.normalizer, finished.pre_tokenizer = raw.normalizer, raw.pre_tokenizer
    finished.decoder = raw.decoder
    finished.add_special_tokens(list(SPECIAL_SYMBOLS[:UNK]))
    if specials.mask >= 0:
        # It takes the spaces around it along: every stretch of text between symbols is read with one before it.
        finished.add_special_tokens([AddedToken(MASK_SYMBOL, lstrip=True, rstrip=True, normalized=False, special=True)])
    return Tokenizer(finished, specials)

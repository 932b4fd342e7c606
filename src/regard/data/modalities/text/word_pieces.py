"""WordPiece, as BERT reads: words and signs apart, rare words in pieces; and which pieces belong to one word."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import tokenizers as library
from pydantic import Field
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from regard.core.symbols import EOS, PAD, SOS, UNK, Specials
from regard.data import TokenizerPart
from regard.data.modalities.text.tokenizers import LARGEST_VOCABULARY, Tokenizer

MASK = 4
SYMBOLS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
"""BERT's names of the symbols, in the order of ours."""
SIGNS = 1000
"""Different signs that pieces are made of; words with rarer ones are unknown."""
GOES_ON = "##"
"""Begins a piece that goes on with the word before it."""


class WordPieceTokenizer(TokenizerPart):
    """Pieces of words (Schuster & Nakajima 2012) after BERT's rules: text is cleaned, put in lower case without accents
    where ``lower`` says so, and cut at spaces and signs. A text comes back up to case and spaces.
    """

    kind: str = "wordpiece"
    vocabulary: int = Field(default=8000, ge=len(SYMBOLS) + 1, le=LARGEST_VOCABULARY)
    min_frequency: int = Field(default=2, ge=1)
    lower: bool = True

    def specials(self) -> Specials:
        return Specials(mask=MASK)

    def train(self, texts: Iterable[str]) -> Tokenizer:
        learning = bert_rules(models.WordPiece(unk_token=SYMBOLS[UNK]), lower=self.lower)
        words = counted_words(learning, texts)
        # The library numbers what goes on with a word in the order of a hash table; named first, it has the same number
        # every time, and so have all pieces that are made of it.
        within = sorted({GOES_ON + sign for word in words for sign in word[1:]})
        trainer = trainers.WordPieceTrainer(
            vocab_size=self.vocabulary,
            min_frequency=self.min_frequency,
            special_tokens=[*SYMBOLS, *within],
            continuing_subword_prefix=GOES_ON,
            show_progress=False,
        )
        learning.train_from_iterator(repeated(words), trainer)
        raw = bert_rules(learning.model, lower=self.lower)
        # [UNK] is an ordinary entry: as a special token it would vanish on decoding.
        raw.add_special_tokens([symbol for symbol in SYMBOLS if symbol != SYMBOLS[UNK]])
        raw.post_processor = enclosing(SYMBOLS[SOS], SOS, SYMBOLS[EOS], EOS)
        assert raw.token_to_id(SYMBOLS[PAD]) == PAD
        return Tokenizer(raw, self.specials())


def counted_words(raw: library.Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in the texts; those with the rarest signs, beyond ``SIGNS``, are left out."""
    words: Counter[str] = Counter()
    for text in texts:
        normal = raw.normalizer.normalize_str(text)
        words.update(word for word, _ in raw.pre_tokenizer.pre_tokenize_str(normal))
    signs: Counter[str] = Counter()
    for word, count in words.items():
        for sign in word:
            signs[sign] += count
    kept = set(sorted(signs, key=lambda sign: (-signs[sign], sign))[:SIGNS])
    return Counter({word: words[word] for word in sorted(words) if kept.issuperset(word)})


def repeated(words: Counter[str]) -> Iterator[str]:
    """Texts in which each word stands as often as it was counted."""
    for word, count in words.items():
        while count > 0:
            yield " ".join([word] * min(count, 1000))
            count -= 1000


def bert_rules(
    model: models.WordPiece, *, lower: bool, chinese: bool = True, accents: bool | None = None
) -> library.Tokenizer:
    """The tokenizer of BERT around the given pieces; accents go with upper case unless somebody says otherwise."""
    raw = library.Tokenizer(model)
    raw.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
    )
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.decoder = decoders.WordPiece(prefix=GOES_ON)
    return raw


def enclosing(first: str, first_id: int, last: str, last_id: int) -> processors.TemplateProcessing:
    """One text, or two as two segments, between an opening and closing symbols, as BERT reads them."""
    return processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, first_id), (last, last_id)],
    )


def continues_word(tokenizer: Tokenizer) -> np.ndarray:
    """For every id whether its piece goes on with the word before it: by its mark, else by the space it lacks."""
    model = json.loads(tokenizer.raw.to_str())["model"]
    tokens = [tokenizer.token(id) for id in range(tokenizer.size)]
    mark = model.get("continuing_subword_prefix") if model["type"] == "WordPiece" else None
    found_W = np.array([token.startswith(mark) if mark else not token.startswith("▁") for token in tokens])
    found_W[list(tokenizer.specials.known())] = False
    return found_W

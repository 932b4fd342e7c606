"""SentencePiece models of several kinds, trained by the library itself, and folders as others ship them."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import sentencepiece as spm

THEIRS = "the small green house on a hill sees two old trees and one quiet river today naïve café don't"
WORLD = "Ελλάδα μικρό σπίτι дом река большой 山 川 日本 語 مرحبا 2026 3.14 12,000 Straße l'eau 🙂 🎉 (a) \"b\" !"
FRENCH = "la petite maison verte été où île ça cœur 山 3.14 17 ! 漢字 字 l'eau Ünïcödé 🎉"
ENGLISH, OTHERS, TARGET = THEIRS.split(), WORLD.split(), FRENCH.split()


def sentences(words: list[str], count: int = 300, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(count)]


def trained(path: Path, words: list[str], **settings: Any) -> Path:
    held = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(words)), model_writer=held, hard_vocab_limit=False, minloglevel=2,
        **{"vocab_size": 200, **settings},
    )  # fmt: skip
    path.write_bytes(held.getvalue())
    return path


LLAMA_LIKE = {
    "model_type": "bpe", "vocab_size": 500, "byte_fallback": True, "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False, "split_digits": True, "allow_whitespace_only_pieces": True,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "unigram, lower case, nothing before a text": {"normalization_rule_name": "nmt_nfkc_cf", "add_dummy_prefix": False},
    "unigram with bytes": {"byte_fallback": True, "vocab_size": 500},
    "unigram, own symbols": {"user_defined_symbols": ["<sep>", "AB"]},
    "unigram, spaces as they are": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "bpe": {"model_type": "bpe"},
    "bpe as Llama has it": LLAMA_LIKE,
}


def listed(*paths: Path, codes: tuple[str, ...] = (">>fra<<", ">>deu<<")) -> list[str]:
    """All pieces of these models under one list, in an order of its own."""
    pieces: dict[str, None] = dict.fromkeys(["</s>", "<unk>"])
    for path in paths:
        model = spm.SentencePieceProcessor(model_file=str(path))
        names = [model.id_to_piece(id) for id in range(model.get_piece_size())]
        pieces |= dict.fromkeys(sorted(names[3:], key=lambda name: name[::-1]))
    return [*pieces, *codes, "<pad>"]


def marian_files(folder: Path, **settings: Any) -> list[str]:
    """source.spm, target.spm and vocab.json; gives the pieces by id."""
    source = trained(folder / "source.spm", ENGLISH, **settings)
    target = trained(folder / "target.spm", TARGET, **settings)
    pieces = listed(source, target)
    ids = {piece: id for id, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "fr"}', encoding="utf-8")
    return pieces

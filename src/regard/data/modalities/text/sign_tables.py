"""Tokenizers whose pieces are single characters or bytes, as tables: a whole text is one look-up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers as library

EVERY_SIGN = r"[\s\S]"
"""The pattern by which a tokenizer cuts a text into its characters."""
_POINTS = 0x110000


@dataclass(frozen=True, slots=True)
class SignTable:
    """The id of every unit that a text can have. Law: ``encode`` gives what the tokenizer itself gives."""

    ids: np.ndarray
    units: Callable[[str], np.ndarray]

    def encode(self, text: str) -> np.ndarray:
        return self.ids[self.units(text)]


def sign_table(raw: library.Tokenizer) -> SignTable | None:
    """The tokenizer as a table, where it changes nothing in a text and cuts it into characters or bytes."""
    held = json.loads(raw.to_str())
    changes = held["normalizer"] not in (None, {"type": "Sequence", "normalizers": []})
    reads_names = not raw.encode_special_tokens or not all(token["special"] for token in held["added_tokens"])
    if changes or reads_names:
        return None
    return _characters(held["pre_tokenizer"], held["model"]) or _bytes(held["pre_tokenizer"], held["model"])


def _characters(cuts: Any, model: dict[str, Any]) -> SignTable | None:
    wanted = {"type": "Split", "pattern": {"Regex": EVERY_SIGN}, "behavior": "Isolated", "invert": False}
    if cuts != wanted or model["type"] != "WordLevel" or model["unk_token"] not in model["vocab"]:
        return None
    ids = np.full(_POINTS, model["vocab"][model["unk_token"]], np.uint32)
    for piece, id in model["vocab"].items():
        if len(piece) == 1:
            ids[ord(piece)] = id
    return SignTable(ids, _points)


def _bytes(cuts: Any, model: dict[str, Any]) -> SignTable | None:
    settings = cuts or {}
    plain = settings.get("type") == "ByteLevel" and not (settings["use_regex"] or settings["add_prefix_space"])
    whole = model["type"] == "BPE" and not model["merges"] and not model.get("continuing_subword_prefix")
    signs = byte_of_sign()
    if not plain or not whole or model.get("end_of_word_suffix") or not signs.keys() <= model["vocab"].keys():
        return None
    ids = np.zeros(256, np.uint32)
    for sign, byte in signs.items():
        ids[byte] = model["vocab"][sign]
    return SignTable(ids, _octets)


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), "<u4")


def _octets(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def byte_of_sign() -> dict[str, int]:
    """The printable sign by which byte-level vocabularies write each byte, as fixed by GPT-2."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    signs = [*map(chr, printable), *(chr(256 + rank) for rank in range(len(others)))]
    return dict(zip(signs, printable + others))

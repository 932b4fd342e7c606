"""Folders with SentencePiece models: Marian's two beside one list of ids, Llama's single one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers as library
from tokenizers import Regex, decoders, processors

from regard.core.errors import RunError, enumerate_problems
from regard.core.files import read_json
from regard.interop.huggingface.sentencepiece.files import Kind, PieceModel, read_pieces
from regard.interop.huggingface.sentencepiece.tokenizers import sentence_pieces, without

SOURCE, TARGET, LIST = "source.spm", "target.spm", "vocab.json"
SINGLE = "tokenizer.model"
MARIAN_SYMBOLS = {"eos": "</s>", "pad": "<pad>", "unk": "<unk>"}
"""What the special symbols of a Marian are called where its files say nothing."""


def marian_pieces(
    folder: Path, names: Mapping[str, str], settings: Mapping[str, Any], notes: list[str]
) -> tuple[library.Tokenizer, library.Tokenizer]:
    """How sources and how targets are taken apart, under the ids of one list; the same one where their models are."""
    lacking = [name for name in (SOURCE, TARGET, LIST) if not (folder / name).is_file()]
    if lacking:
        here = ", ".join(sorted(file.name for file in folder.iterdir()))
        raise RunError(
            f"{folder} lacks {' and '.join(lacking)}: a Marian folder without tokenizer.json needs {SOURCE}, {TARGET} "
            f"and {LIST}; there are {here}. Download it again"
        )
    if settings.get("separate_vocabs"):
        raise RunError(f"{folder}: separate_vocabs = true in tokenizer_config.json; only one {LIST} is read")
    symbols = {**MARIAN_SYMBOLS, **names}
    listed = read_list(folder / LIST, (symbols["eos"], symbols["unk"]))
    source = _marian(fitting(folder / SOURCE, listed, notes), listed, symbols)
    if (folder / SOURCE).read_bytes() == (folder / TARGET).read_bytes():
        return source, source
    return source, _marian(fitting(folder / TARGET, listed, notes), listed, symbols)


def _marian(model: PieceModel, listed: list[str], symbols: Mapping[str, str]) -> library.Tokenizer:
    """Codes of languages such as >>fra<< are whole; a text is closed, and without spaces at its ends when decoded."""
    codes = [name for name in listed if name.startswith(">>") and name.endswith("<<")]
    end = symbols["eos"]
    special = [name for ours, name in symbols.items() if ours != "unk" and name in set(listed)]
    raw = sentence_pieces(model, listed, special, codes)
    raw.decoder = decoders.Sequence([raw.decoder, decoders.Replace(Regex(r"\A +| +\z"), "")])
    raw.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", pair=f"$A $B {end}", special_tokens=[(end, listed.index(end))]
    )
    return raw


def read_list(path: Path, needed: tuple[str, ...]) -> list[str]:
    """The pieces in the order of their ids."""
    held = read_json(path)
    if not isinstance(held, dict) or not all(isinstance(id, int) for id in held.values()):
        raise RunError(f"{path} is not a list of pieces with their ids")
    by_id = {id: piece for piece, id in held.items()}
    problems = [f"it has no {name}" for name in needed if name not in held]
    if sorted(by_id) != list(range(len(held))):
        gaps = sorted(set(range(len(held))) - by_id.keys())
        problems.append(f"no piece has the id {gaps[0]}, though there are {len(held)}; ids with gaps are not read")
    if problems:
        raise RunError(enumerate_problems(f"{path} cannot be followed", problems))
    return [by_id[id] for id in range(len(held))]


def fitting(path: Path, listed: list[str], notes: list[str]) -> PieceModel:
    """The file's model without the pieces that have no id; most have one, else the list belongs to another model."""
    model = read_pieces(path)
    (unknown,) = model.of_kind(Kind.UNKNOWN)
    if unknown.text not in listed:
        raise RunError(f"{path} gives {unknown.text} for what is unknown, but {LIST} has no such piece; download both")
    known, usual = set(listed), model.of_kind(Kind.NORMAL, Kind.USER_DEFINED, Kind.BYTE)
    lacking = [piece.text for piece in usual if piece.text not in known]
    if not lacking:
        return model
    found = f"{len(lacking)} of the {len(usual)} pieces of {path.name} have no id in {LIST} (such as {lacking[0]!r})"
    if model.algorithm == "bpe" or model.byte_fallback or 2 * len(lacking) > len(usual):
        raise RunError(f"{path.parent}: {found}; this is not the list that belongs to it: download the folder again")
    notes.append(f"{found}; texts are taken apart without them")
    return without(model, lacking)


def single_pieces(path: Path, names: Mapping[str, str], settings: Mapping[str, Any]) -> library.Tokenizer:
    """A model's own ids; a text opens with <s> unless the settings forbid it, and closes with </s> if they want it."""
    raw = sentence_pieces(read_pieces(path))
    opens = [names.get("sos", "<s>")] if settings.get("add_bos_token", True) else []
    closes = [names.get("eos", "</s>")] if settings.get("add_eos_token", False) else []
    ids = {name: raw.token_to_id(name) for name in (*opens, *closes)}
    lacking = [f"{name} is put around every text and is not a piece" for name, id in ids.items() if id is None]
    if lacking:
        raise RunError(enumerate_problems(f"{path} cannot be followed", lacking))
    if ids:
        one, other = (" ".join([*opens, text, *closes]) for text in ("$A", "$B"))
        raw.post_processor = processors.TemplateProcessing(
            single=one, pair=f"{one} {other}", special_tokens=list(ids.items())
        )
    return raw

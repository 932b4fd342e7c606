"""Tokenizers between a Hugging Face folder and a run: pieces, special symbols, and which open and close a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers as library
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors

from regard.core.config import nearest
from regard.core.errors import OptionError, RunError, enumerate_problems
from regard.core.files import read_json
from regard.core.symbols import Specials
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import TARGET
from regard.interop.huggingface.enclosing import CASES, word_pieces
from regard.interop.huggingface.sentencepiece import folders as spm

NAMED = {"pad": "pad_token", "sos": "bos_token", "eos": "eos_token", "unk": "unk_token"}
"""Our names of the special symbols and theirs."""
ANSWERING = {"pad": "pad_token_id", "sos": "decoder_start_token_id", "eos": "eos_token_id"}
"""What an encoder–decoder cannot do without, as config.json names it."""
TOKENIZER, CONFIG, SPECIAL_TOKENS, ADDED = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
)  # fmt: skip
VOCABULARY, MERGES = "vocab.json", "merges.txt"
WORD_PIECES = "vocab.txt"
KNOWN = (
    TOKENIZER, f"{VOCABULARY} with {MERGES}", WORD_PIECES, f"{spm.SOURCE}, {spm.TARGET} and {spm.LIST}", spm.SINGLE,
)  # fmt: skip


class Sides(NamedTuple):
    """How sources and targets are taken apart; the same object where there is one for both. Their ids are the same."""

    source: library.Tokenizer
    target: library.Tokenizer


def read_tokenizers(folder: Path, config: Mapping[str, Any], notes: list[str], case: str = "") -> Sides:
    """What the folder holds, in one of the forms that are known; never cutting or padding a text.

    ``case`` says what a list of word pieces is silent about: whether texts are put in lower case.
    """
    if case:
        _check_case(folder, case)
    if (folder / TOKENIZER).is_file():
        source = _parsed(folder / TOKENIZER)
        sides = Sides(source, _parsed(folder / TARGET) if (folder / TARGET).is_file() else source)
    elif (folder / VOCABULARY).is_file() and (folder / MERGES).is_file():
        raw = byte_level(folder / VOCABULARY, folder / MERGES)
        listed = [raw.id_to_token(id) for theirs in NAMED.values() for id in _listed(config, theirs)]
        spelled = (*symbol_names(folder).values(), *listed)
        raw.add_special_tokens([*dict.fromkeys(token for token in spelled if token)])
        sides = Sides(raw, raw)
    elif (folder / WORD_PIECES).is_file():
        raw = word_pieces(folder / WORD_PIECES, tokenizer_file(folder), case)
        sides = Sides(raw, raw)
    elif any((folder / name).is_file() for name in (spm.SOURCE, spm.TARGET)):
        sides = Sides(*spm.marian_pieces(folder, symbol_names(folder), tokenizer_file(folder), notes))
    elif (folder / spm.SINGLE).is_file():
        raw = spm.single_pieces(folder / spm.SINGLE, symbol_names(folder), tokenizer_file(folder))
        sides = Sides(raw, raw)
    else:
        here = ", ".join(sorted(file.name for file in folder.iterdir()))
        raise RunError(
            f"{folder} holds no tokenizer in a form that is known ({'; or '.join(KNOWN)}); there are {here}. To make "
            "one of what is there: transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    for raw in dict.fromkeys(sides):
        raw.no_truncation()
        raw.no_padding()
        _add_later_ones(raw, folder)
        _check_gaps(raw, folder)
    return sides


def _check_case(folder: Path, case: str) -> None:
    if case not in CASES:
        raise OptionError(f"--case {case!r} is not known{nearest(case, CASES)}; choose {' or '.join(CASES)}")
    if (folder / TOKENIZER).is_file() or not (folder / WORD_PIECES).is_file():
        found = TOKENIZER if (folder / TOKENIZER).is_file() else f"no {WORD_PIECES}"
        raise OptionError(
            f"--case is for a {WORD_PIECES} alone, which does not say itself what becomes of upper case; {folder} has "
            f"{found}: leave out --case"
        )


def _parsed(path: Path) -> library.Tokenizer:
    try:
        return library.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises nothing more special
        raise RunError(f"{path} is not a tokenizer file of the tokenizers library: {error}") from error


def byte_level(vocabulary: Path, merges: Path) -> library.Tokenizer:
    """The tokenizer of GPT-2: byte pairs over bytes, words cut before their space."""
    try:
        raw = library.Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:
        raise RunError(f"{vocabulary} and {merges.name} are not the pieces of a byte-level BPE: {error}") from error
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.post_processor = processors.ByteLevel(trim_offsets=False)
    raw.decoder = decoders.ByteLevel()
    return raw


def _add_later_ones(raw: library.Tokenizer, folder: Path) -> None:
    """Pieces that were added after training; some stand in files of their own, and each must keep its id."""
    held = {token.content for token in raw.get_added_tokens_decoder().values()}
    added = _added(folder)
    for _, token in sorted(added.items()):
        if token.content not in held:
            (raw.add_special_tokens if token.special else raw.add_tokens)([token])
    read_as = {id: raw.token_to_id(token.content) for id, token in sorted(added.items())}
    moved = [
        f"{added[id].content!r} has the id {id} in the folder's files, and {found} when they are read"
        for id, found in read_as.items()
        if found != id
    ]
    if moved:
        raise RunError(enumerate_problems(f"{folder}: the tokenizer's files do not fit together", moved))


def _added(folder: Path) -> dict[int, AddedToken]:
    """By id, from all files that may list some."""
    found: dict[int, AddedToken] = {}
    if (folder / TOKENIZER).is_file():
        found |= {entry["id"]: _token(entry) for entry in read_json(folder / TOKENIZER).get("added_tokens", ())}
    if (folder / ADDED).is_file():
        found |= {id: AddedToken(token, normalized=False) for token, id in read_json(folder / ADDED).items()}
    listed = tokenizer_file(folder).get("added_tokens_decoder", {})
    return found | {int(id): _token(entry) for id, entry in listed.items()}


def _token(entry: Mapping[str, Any]) -> AddedToken:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return AddedToken(entry["content"], **{name: entry[name] for name in flags if name in entry})


def _check_gaps(raw: library.Tokenizer, folder: Path) -> None:
    highest, size = max(raw.get_vocab().values(), default=-1), raw.get_vocab_size()
    if highest != size - 1:
        raise RunError(
            f"{folder}: the tokenizer has {size} pieces, but ids up to {highest}; ids with gaps are not read"
        )


def tokenizer_file(folder: Path) -> dict[str, Any]:
    """What tokenizer_config.json says; nothing where there is none."""
    return read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}


def symbol_names(folder: Path, named: Mapping[str, str] = NAMED) -> dict[str, str]:
    """The special symbols as the tokenizer's files spell them, by our names."""
    given = dict(read_json(folder / SPECIAL_TOKENS)) if (folder / SPECIAL_TOKENS).is_file() else {}
    given |= {name: token for name, token in tokenizer_file(folder).items() if token is not None}
    found = {ours: given.get(theirs) for ours, theirs in named.items()}
    spelled = {ours: token["content"] if isinstance(token, dict) else token for ours, token in found.items()}
    return {ours: token for ours, token in spelled.items() if isinstance(token, str)}


def special_ids(folder: Path, raw: library.Tokenizer, config: Mapping[str, Any], notes: list[str]) -> Specials:
    """Where the special symbols stand: as config.json says, which rules generation, else as the tokenizer says."""
    ids, pieces = {}, raw.get_vocab_size()
    for ours, theirs in NAMED.items():
        token = symbol_names(folder).get(ours)
        by_name = raw.token_to_id(token) if token is not None else None
        if token is None and ours == "unk":
            by_name = _unknown(raw)
        listed = _listed(config, theirs)
        inside = [id for id in listed if 0 <= id < pieces]
        if len(inside) < len(listed):
            notes.append(f"{theirs}_id = {_said(listed)} names no piece of the tokenizer, which has {pieces}")
        chosen = by_name if by_name is not None and by_name in (inside or [by_name]) else next(iter(inside), -1)
        if len(inside) > 1:
            token = raw.id_to_token(chosen)
            notes.append(f"{theirs}_id = {_said(listed)} are several; the run uses {chosen} ({token})")
        ids[ours] = chosen
    return Specials(**ids, opening=opening_symbol(raw))


def _unknown(raw: library.Tokenizer) -> int | None:
    """What the model itself gives for a piece that it does not know."""
    model = json.loads(raw.to_str())["model"]
    return model["unk_id"] if "unk_id" in model else raw.token_to_id(model.get("unk_token") or "")


def opening_symbol(raw: library.Tokenizer) -> int:
    """The symbol that this tokenizer itself puts before a text, as Llama's does; −1: none."""
    plain, dressed = (raw.encode("a", add_special_tokens=dress).ids for dress in (False, True))
    return dressed[0] if dressed[:1] != plain[:1] else -1


def check_answering(folder: Path, raw: library.Tokenizer, specials: Specials, notes: list[str]) -> None:
    """An encoder–decoder needs all three symbols; that this tokenizer does not close its texts is worth a note."""
    lacking = [f"{theirs} names no piece" for ours, theirs in ANSWERING.items() if specials.named()[ours] < 0]
    if not lacking and specials.eos in (specials.pad, specials.sos):
        lacking.append(f"{ANSWERING['eos']} = {specials.eos} is also what pads or opens an answer, which ends none")
    if lacking:
        raise RunError(enumerate_problems(f"{folder}: an answer cannot be begun, filled up or ended", lacking))
    if not _closes(raw, specials.eos):
        end = raw.id_to_token(specials.eos)
        notes.append(f"the tokenizer does not read a text as its pieces and {end}; the run does, as Marian does")


def _closes(raw: library.Tokenizer, end: int) -> bool:
    plain, dressed = (raw.encode("a", add_special_tokens=dress).ids for dress in (False, True))
    return dressed == [*plain, end]


def closed(tokenizer: Tokenizer) -> library.Tokenizer:
    """The same tokenizer, which closes each text itself, as our encoder reads it."""
    raw, end = library.Tokenizer.from_str(tokenizer.raw.to_str()), tokenizer.specials.eos
    if not _closes(raw, end):
        name = raw.id_to_token(end)
        raw.post_processor = processors.TemplateProcessing(
            single=f"$A {name}", pair=f"$A $B {name}", special_tokens=[(name, end)]
        )
    return raw


def _listed(config: Mapping[str, Any], theirs: str) -> list[int]:
    """The ids that config.json gives for a special symbol: none, one, or several."""
    given = config.get(f"{theirs}_id")
    return [id for id in (given if isinstance(given, list) else [given]) if isinstance(id, int)]


def _said(ids: list[int]) -> str:
    return ", ".join(map(str, ids))


def answer_ids(specials: Specials) -> dict[str, int | None]:
    """As config.json of an encoder–decoder says it; nothing is forced upon an answer's end."""
    opening = None if specials.sos == specials.pad else specials.sos  # Marian opens with what pads
    return {
        **symbol_ids(specials),
        "bos_token_id": opening,
        "decoder_start_token_id": specials.sos,
        "forced_eos_token_id": None,
    }


def symbol_ids(specials: Specials) -> dict[str, int | None]:
    """As config.json says it: null where there is none."""
    known = {f"{theirs}_id": specials.named()[ours] for ours, theirs in NAMED.items() if ours != "unk"}
    return {name: id if id >= 0 else None for name, id in known.items()}


def tokenizer_settings(tokenizer: Tokenizer, max_length: int, *, own: bool) -> dict[str, Any]:
    """The files beside tokenizer.json by which AutoTokenizer finds the same ids.

    A text that merely spells a special symbol of a tokenizer of our own (``own``) gives ordinary pieces there too.
    """
    ids = {ours: tokenizer.specials.named()[ours] for ours in NAMED}
    named = {NAMED[ours]: tokenizer.raw.id_to_token(id) for ours, id in ids.items() if id >= 0}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": own,
    }
    return {CONFIG: {**settings, **named}, SPECIAL_TOKENS: named}

"""Tokenizers of models that read a text between two symbols: BERT's vocab.txt; what opens, closes and hides."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import tokenizers as library
from tokenizers import AddedToken, models, processors

from regard.core.errors import RunError, enumerate_problems
from regard.core.symbols import Specials
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.word_pieces import bert_rules

NAMED = {"pad": "pad_token", "sos": "cls_token", "eos": "sep_token", "unk": "unk_token", "mask": "mask_token"}
"""Our names of the special symbols and theirs."""
USUAL = {
    "pad": ("[PAD]", "<pad>"),
    "sos": ("[CLS]", "<s>"),
    "eos": ("[SEP]", "</s>"),
    "unk": ("[UNK]", "<unk>"),
    "mask": ("[MASK]", "<mask>"),
}
"""How they are spelled where a folder does not say."""


CASES = {"lower": True, "keep": False}
"""What becomes of upper case, and whether that is to lower it."""


def word_pieces(vocabulary: Path, settings: Mapping[str, Any], case: str = "") -> library.Tokenizer:
    """BERT's tokenizer from a file with a piece a line; ``settings`` are those of tokenizer_config.json, on which
    ``case`` has the last word."""
    unknown = settings.get("unk_token", USUAL["unk"][0])
    try:
        pieces = models.WordPiece.from_file(str(vocabulary), unk_token=unknown)
    except Exception as error:  # the library raises nothing more special
        raise RunError(f"{vocabulary} is not a list of word pieces: {error}") from error
    return bert_rules(
        pieces,
        lower=CASES[case] if case else settings.get("do_lower_case", True),
        chinese=settings.get("tokenize_chinese_chars", True),
        accents=settings.get("strip_accents"),
    )


def enclosing_ids(
    folder: Path, raw: library.Tokenizer, names: Mapping[str, str], *, needed: Collection[str] = tuple(NAMED)
) -> Specials:
    """Where the symbols stand that a text is read with; each is made special where the tokenizer's files did not.

    Of those that are ``needed``, only the one for unknown pieces may be missing.
    """
    ids: dict[str, int] = {}
    for ours, usual in USUAL.items():
        spellings = [names[ours]] if ours in names else usual
        found = (raw.token_to_id(one) for one in spellings)
        ids[ours] = next((id for id in found if id is not None), -1)
    lacking = [
        f"{NAMED[ours]} names no piece of the tokenizer"
        for ours, id in ids.items()
        if id < 0 and ours in needed and ours != "unk"
    ]
    if lacking:
        raise RunError(enumerate_problems(f"{folder}: texts cannot be opened, closed, hidden or filled up", lacking))
    added = {token.content for token in raw.get_added_tokens_decoder().values()}
    for ours in ("pad", "sos", "eos", "mask"):
        token = raw.id_to_token(ids[ours]) if ids[ours] >= 0 else None
        if token is not None and token not in added:
            swallows = ours == "mask" and token == "<mask>"  # RoBERTa's takes the space before it along
            raw.add_special_tokens([AddedToken(token, lstrip=swallows, normalized=False, special=True)])
    return Specials(**ids)


def enclosed(tokenizer: Tokenizer) -> library.Tokenizer:
    """The same tokenizer, which opens and closes each text itself, as our model reads it."""
    raw, specials = library.Tokenizer.from_str(tokenizer.raw.to_str()), tokenizer.specials
    plain, dressed = (raw.encode("a", add_special_tokens=dress).ids for dress in (False, True))
    opening, closing = ([id] if id >= 0 else [] for id in (specials.sos, specials.eos))
    if dressed != [*opening, *plain, *closing]:
        raw.post_processor = template(tokenizer)
        if specials.mask >= 0 and raw.id_to_token(specials.mask) == "<mask>":
            (first, last) = (tokenizer.token(id) for id in (specials.sos, specials.eos))
            raw.post_processor = processors.RobertaProcessing(
                (last, specials.eos), (first, specials.sos), trim_offsets=True, add_prefix_space=False
            )
    return raw


def template(tokenizer: Tokenizer) -> processors.TemplateProcessing:
    """One text, or two as two segments, between the symbols that there are."""
    known = [(tokenizer.token(id), id) for id in (tokenizer.specials.sos, tokenizer.specials.eos) if id >= 0]
    first = [tokenizer.token(tokenizer.specials.sos)] if tokenizer.specials.sos >= 0 else []
    last = [tokenizer.token(tokenizer.specials.eos)] if tokenizer.specials.eos >= 0 else []
    single = [*first, "$A", *last]
    return processors.TemplateProcessing(
        single=single, pair=[*single, "$B:1", *(f"{name}:1" for name in last)], special_tokens=known
    )


def enclosing_settings(tokenizer: Tokenizer, max_length: int, *, segments: bool) -> dict[str, Any]:
    """tokenizer_config.json; a spelled special symbol is one there, since gaps are written so."""
    ids = {ours: tokenizer.specials.named()[ours] for ours in NAMED}
    named = {NAMED[ours]: tokenizer.raw.id_to_token(id) for ours, id in ids.items() if id >= 0}
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if segments else ["input_ids", "attention_mask"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "model_input_names": inputs,
        "clean_up_tokenization_spaces": False,
        **named,
    }


def position_problems(first: int, specials: Specials) -> list[str]:
    """Their positions start after the padding symbol's number, or at 0."""
    if first in (0, specials.pad + 1):
        return []
    return [f"model.position.first = {first}; they have 0, or here {specials.pad + 1}, after the padding symbol"]

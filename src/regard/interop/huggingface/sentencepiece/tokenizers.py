"""A SentencePiece model as a tokenizer of the ``tokenizers`` library, under its own ids or those of a list.

A list may hold pieces that the model does not make, such as those of another language. They keep their ids between two
marks that no text has, which decoding takes away. SentencePiece gives a run of signs that it does not know out as they
are; where such a run is in the list as a whole, it has its id: so the same marks are put around every such run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import tokenizers as library
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from regard.core.symbols import AROUND_FOREIGN
from regard.interop.huggingface.sentencepiece.files import Kind, PieceModel, SentencePiece

SPACE = "▁"
OPEN, CLOSE = AROUND_FOREIGN


def sentence_pieces(
    model: PieceModel, listed: Sequence[str] = (), special: Sequence[str] = (), whole: Sequence[str] = ()
) -> library.Tokenizer:
    """Pieces as SentencePiece gives them.

    ``listed`` are the pieces by id, by default those of the model in its order. Those that are ``special`` come from no
    text, as the control symbols of the model; those that are ``whole`` come from every text that spells them.
    """
    names = listed or [piece.text for piece in model.pieces]
    made = {piece.text: piece for piece in model.pieces if piece.kind != Kind.UNUSED}
    foreign = {name for name in names if name not in made} - {*special, *whole}
    raw = library.Tokenizer(_model(model, names, made, foreign))
    raw.normalizer = normalizers.Sequence([*_normalizers(model), *(_marks(model) if foreign else ())])
    if model.algorithm == "unigram":
        unread = [piece.text for piece in model.of_kind(Kind.UNKNOWN, Kind.CONTROL, Kind.BYTE)]
        cuts = _inside([*dict.fromkeys([*unread, *special])], _signs(model.of_kind(Kind.NORMAL, Kind.BYTE)))
        raw.pre_tokenizer = pre_tokenizers.Split(Regex(cuts), behavior="isolated")
    raw.decoder = decoders.Sequence(list(_decoders(model, marked=bool(foreign))))
    own = [piece.text for piece in model.of_kind(Kind.USER_DEFINED)] if model.algorithm == "bpe" else []
    raw.add_tokens([AddedToken(text, normalized=False) for text in (*own, *whole)])
    control = [piece.text for piece in model.of_kind(Kind.CONTROL) if piece.text in set(names)]
    raw.add_special_tokens([*dict.fromkeys([*control, *special])])
    return raw


def without(model: PieceModel, lacking: Iterable[str]) -> PieceModel:
    """The same model, which does not make these pieces."""
    gone = set(lacking)
    return replace(model, pieces=tuple(piece for piece in model.pieces if piece.text not in gone))


def _model(
    model: PieceModel, names: Sequence[str], made: dict[str, SentencePiece], foreign: set[str]
) -> models.Model:
    written = [f"{OPEN}{name}{CLOSE}" if name in foreign else name for name in names]
    (unknown,) = model.of_kind(Kind.UNKNOWN)
    if model.algorithm == "bpe":
        return models.BPE(
            vocab={name: id for id, name in enumerate(written)},
            merges=_merges(model),
            unk_token=unknown.text,
            fuse_unk=True,
            byte_fallback=model.byte_fallback,
        )
    best = max((piece.score for piece in model.of_kind(Kind.NORMAL)), default=0.0)
    scores = [_score(made[name], best) if name in made else 0.0 for name in names]
    return models.Unigram(
        list(zip(written, scores)), unk_id=names.index(unknown.text), byte_fallback=model.byte_fallback
    )


def _score(piece: SentencePiece, best: float) -> float:
    """A symbol that the user defined is worth more than anything that it could be taken apart into.

    Nine digits are all that a score has in the file; more would not come back from the library's own file.
    """
    if piece.kind == Kind.USER_DEFINED:
        return len(piece.text.encode()) * best - 0.1
    return float(f"{piece.score:.9g}") if piece.kind == Kind.NORMAL else 0.0


def _merges(model: PieceModel) -> list[tuple[str, str]]:
    """Every two pieces that make a third, the best third first: SentencePiece knows no other merges."""
    usable = {piece.text for piece in model.of_kind(Kind.NORMAL, Kind.UNUSED)}
    ranked = sorted(model.of_kind(Kind.NORMAL, Kind.UNUSED), key=lambda piece: -piece.score)
    return [
        (piece.text[:cut], piece.text[cut:])
        for piece in ranked
        for cut in range(1, len(piece.text))
        if piece.text[:cut] in usable and piece.text[cut:] in usable
    ]


def _normalizers(model: PieceModel) -> Iterable[normalizers.Normalizer]:
    space = SPACE if model.escapes_spaces else " "
    if model.charsmap:
        yield from _replacements(model.charsmap)
    if model.strips_spaces:
        yield normalizers.Replace(Regex(r"\A +"), "")
        yield normalizers.Replace(Regex(" {2,}"), " ")
    if model.adds_space:
        yield normalizers.Prepend(" ")
    if model.escapes_spaces:
        yield normalizers.Replace(" ", SPACE)
    if model.strips_spaces:
        yield normalizers.Replace(Regex(rf"{space}+\z"), "")


def _replacements(charsmap: bytes) -> Iterable[normalizers.Normalizer]:
    """The library looks up a letter with all its accents at once, and would lose the second one; so letters are
    composed before, where the model composes them.
    """
    replace = normalizers.Precompiled(charsmap)
    if replace.normalize_str("e\u0301") == "é":
        yield normalizers.NFC()
    yield replace


def _marks(model: PieceModel) -> Iterable[normalizers.Normalizer]:
    """Around every run of signs that no piece has."""
    known = f"[{_ranges(_signs(model.of_kind(Kind.NORMAL, Kind.USER_DEFINED)))}]"
    other = known.replace("[", "[^", 1)
    yield normalizers.Replace(Regex(rf"(?<={known})(?={other})|\A(?={other})"), OPEN)
    yield normalizers.Replace(Regex(rf"(?<={other})(?={known})|(?<={other})\z"), CLOSE)


def _signs(pieces: Iterable[SentencePiece]) -> set[str]:
    return {sign for piece in pieces for sign in piece.text}


def _ranges(signs: Iterable[str]) -> str:
    """Signs as the inside of a regular expression's brackets."""
    runs: list[list[int]] = []
    for point in sorted(map(ord, signs)):
        if runs and runs[-1][1] == point - 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in runs)


def _inside(names: Iterable[str], known: set[str]) -> str:
    """A place in each of these names: a text that spells one is cut there, and so is not read as it.

    Signs that are all unknown stay together, as they become one unknown piece; so a cut is made beside a known one.
    """
    cuts: dict[str, list[str]] = {}
    for name in names:
        cut = next((cut for cut in range(1, len(name)) if known & {name[cut - 1], name[cut]}), 1)
        cuts.setdefault(name[:cut], []).append(name[cut:])
    places = [f"(?<={re.escape(left)})(?={'|'.join(map(re.escape, rights))})" for left, rights in cuts.items()]
    return "|".join(places)


def _decoders(model: PieceModel, *, marked: bool) -> Iterable[decoders.Decoder]:
    if marked:
        yield decoders.Replace(OPEN, "")
        yield decoders.Replace(CLOSE, "")
    if model.escapes_spaces:
        yield decoders.Replace(SPACE, " ")
    if model.byte_fallback:
        yield decoders.ByteFallback()
    yield decoders.Fuse()
    if model.strips_spaces:
        yield decoders.Replace(Regex(r"\A +"), "")
    elif model.adds_space:
        yield decoders.Strip(" ", 1, 0)

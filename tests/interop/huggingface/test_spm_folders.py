"""Marian and Llama folders with SentencePiece models become runs: their ids, logits and answers, and out again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianConfig, MarianMTModel, MarianTokenizer

import regard
from regard.core.errors import RunError
from regard.decoding.options import Greedy
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run
from tests.interop.huggingface import translators
from tests.interop.huggingface.spm_makers import (
    ENGLISH,
    LLAMA_LIKE,
    OTHERS,
    TARGET,
    listed,
    marian_files,
    sentences,
    spm,
    trained,
)
from tests.interop.huggingface.strangers import furthest, llama, their_logits

SIGNS = "theaoilsn  éçßμд山字🙂1.,'-\t\u3000Ａﬁ漢☃"
WORDS = [*ENGLISH, *TARGET, *OTHERS, ">>fra<<", "漢字", "漢字☃", "字漢", "字字", "(字)", "  "]
TEXTS = st.one_of(st.text(SIGNS, max_size=25), st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))
STARTS = st.sampled_from(["", ">>fra<<", ">>deu<< "])


def model_of(pieces: list[str]) -> Any:
    ends = {"decoder_start_token_id": len(pieces) - 1, "pad_token_id": len(pieces) - 1}
    config = MarianConfig(**{**translators.PORTS, "vocab_size": len(pieces), **ends, "activation_function": "swish"})
    return translators.shaken(MarianMTModel, config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opus")
    model_of(marian_files(folder)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    made = import_folder(folder, folder.with_name(f"{folder.name}-run"))
    assert made.notes == ()
    return regard.load(folder.with_name(f"{folder.name}-run"))


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    return MarianTokenizer.from_pretrained(folder)


def inside(text: str) -> str:
    """Without codes of languages after the first word: Marian's own tokenizer knows them at the beginning only."""
    return text.replace(">>", "").replace("<<", "")


@settings(max_examples=100, deadline=None)
@given(start=STARTS, text=TEXTS)
def test_ids_and_texts_are_those_of_marian(run: Run, theirs: Any, start: str, text: str) -> None:
    fed = start + inside(text)
    wanted = theirs(fed, text_target=fed)
    source, target = run.vocabularies.source, run.vocabularies.target
    assert [*source.encode(fed), 0] == wanted["input_ids"]
    assert [*target.encode(fed), 0] == wanted["labels"]
    for ids in (wanted["input_ids"], wanted["labels"]):
        known = [id for id in ids if id != theirs.unk_token_id]
        assert target.decode(known) == source.decode(known) == theirs.decode(known, skip_special_tokens=True)


def test_the_sides_differ_and_share_their_ids(run: Run, theirs: Any) -> None:
    source, target = run.vocabularies.source, run.vocabularies.target
    assert source.encode("the small house") != target.encode("the small house")
    assert source.encode("漢")[1:] == [theirs.convert_tokens_to_ids("漢")], "a piece of the target alone"
    assert source.encode("漢漢")[1:] == [theirs.unk_token_id], "a piece of neither"
    assert [source.token(id) for id in range(source.size)] == [target.token(id) for id in range(target.size)]
    assert source.specials.unk == theirs.unk_token_id
    assert not {0, source.size - 1} & set(source.encode("</s> a <pad> b")), "a text only spells them"
    assert source.encode(">>fra<< the") == [theirs.convert_tokens_to_ids(">>fra<<"), *source.encode("the")]


def test_answers_are_the_same_here_there_and_as_exported(run: Run, theirs: Any, folder: Path, tmp_path: Path) -> None:
    texts = [">>fra<< the small green house", "one quiet river 漢字 ☃", ""]
    export(run.folder.path, "huggingface", tmp_path / "out")
    fast = AutoTokenizer.from_pretrained(tmp_path / "out")
    model, original = (AutoModelForSeq2SeqLM.from_pretrained(path) for path in (tmp_path / "out", folder))
    fed = theirs(texts, return_tensors="pt", padding=True)
    assert fast(texts)["input_ids"] == theirs(texts)["input_ids"]
    with torch.no_grad():
        asked = dict(**fed, decoder_input_ids=fed["input_ids"])
        assert furthest(model(**asked).logits, original(**asked).logits) < 1e-4
    options = {"max_new_tokens": 20, "do_sample": False, "forced_eos_token_id": None}
    ids_BT = original.generate(**fed, **options, suppress_tokens=[original.config.pad_token_id])
    wanted = theirs.batch_decode(ids_BT, skip_special_tokens=True)
    assert fast.batch_decode(ids_BT, skip_special_tokens=True) == wanted
    assert any(wanted)
    found = [text.replace("<unk>", "") for text in run.predict(texts, Greedy(max_length=20))]
    assert [text.split() for text in found[:2]] == [text.split() for text in wanted[:2]]
    assert not found[2], "an empty text has an empty answer"


def test_exported_and_imported_again_is_the_same(run: Run, tmp_path: Path) -> None:
    export(run.folder.path, "huggingface", tmp_path / "out")
    import_folder(tmp_path / "out", tmp_path / "back")
    back = regard.load(tmp_path / "back")
    for name in ("source.tokenizer.json", "target.tokenizer.json", "model.safetensors"):
        assert (tmp_path / "back" / name).read_bytes() == (run.folder.path / name).read_bytes()
    text = sentences(TARGET)[0]
    assert back.vocabularies.target.encode(text) == run.vocabularies.target.encode(text)
    assert back.score([text], [text]) == run.score([text], [text])


def test_one_model_for_both_sides_is_one_tokenizer(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    marian_files(folder)
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    pieces = listed(folder / "source.spm", codes=())
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(pieces)}))
    model_of(pieces).save_pretrained(folder)
    import_folder(folder, tmp_path / "run")
    assert (tmp_path / "run" / "tokenizer.json").is_file()
    assert regard.load(tmp_path / "run").vocabularies.joint


# -- Llama --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opens", [True, False])
def test_a_llama_with_a_model_of_pieces(tmp_path: Path, opens: bool) -> None:
    folder = tmp_path / "theirs"
    path = tmp_path / "pieces.model"
    theirs = spm.SentencePieceProcessor(model_file=str(trained(path, ENGLISH + OTHERS, **LLAMA_LIKE)))
    size = theirs.get_piece_size()
    model = llama(vocab_size=size, bos_token_id=1, eos_token_id=2)
    model.save_pretrained(folder)
    (folder / "tokenizer.model").write_bytes(path.read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": opens}))
    made = import_folder(folder, tmp_path / "run")
    run = regard.load(tmp_path / "run")
    specials = run.vocabularies.source.specials
    assert (made.pieces, specials.opening, specials.eos, specials.unk) == (size, 1 if opens else -1, 2, 0)
    export(tmp_path / "run", "huggingface", tmp_path / "out")
    fast = AutoTokenizer.from_pretrained(tmp_path / "out")
    for text in ("the small house", "  two\n\n spaces ☃ é", "", "2026 🙂 山", "don't"):
        ids = theirs.encode(text)
        assert run.vocabularies.source.encode(text) == ids
        assert run.vocabularies.source.decode(ids) == theirs.decode(ids) == text
        assert fast(text)["input_ids"] == [*([1] if opens else []), *ids]
    tokens_BT = torch.tensor([theirs.encode("the small green house")])
    ours: Any = run.model
    with torch.no_grad():
        assert furthest(ours.head(ours(tokens_BT)), their_logits(model, tokens_BT)) < 1e-4


# -- what cannot be read ------------------------------------------------------------------------------------------


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "theirs"))


def refused(folder: Path) -> str:
    with pytest.raises(RunError) as caught:
        import_folder(folder, folder.parent / "run")
    assert not (folder.parent / "run").exists()
    return str(caught.value).replace(str(folder), "FOLDER")


def change_list(folder: Path, change: Any) -> Path:
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    change(ids)
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    return folder


def test_files_that_are_missing(copy: Path) -> None:
    (copy / "target.spm").unlink()
    (copy / "vocab.json").unlink()
    assert refused(copy) == (
        "FOLDER lacks target.spm and vocab.json: a Marian folder without tokenizer.json needs source.spm, target.spm "
        "and vocab.json; there are config.json, generation_config.json, model.safetensors, source.spm, "
        "tokenizer_config.json. Download it again"
    )


def test_a_damaged_model(copy: Path) -> None:
    (copy / "target.spm").write_bytes((copy / "target.spm").read_bytes()[:1000])
    assert refused(copy) == "FOLDER/target.spm is not a whole SentencePiece model (it ends too early); " \
        "download it again"


def test_a_list_without_symbols_and_with_gaps(copy: Path) -> None:
    def spoil(ids: dict[str, int]) -> None:
        del ids["<unk>"], ids["</s>"]

    assert refused(change_list(copy, spoil)).splitlines() == [
        "FOLDER/vocab.json cannot be followed: 3 problems",
        "  - it has no </s>",
        "  - it has no <unk>",
        f"  - no piece has the id 0, though there are {len(json.loads((copy / 'vocab.json').read_text()))}; "
        "ids with gaps are not read",
    ]
    (copy / "vocab.json").write_text("[]", encoding="utf-8")
    assert refused(copy) == "FOLDER/vocab.json is not a list of pieces with their ids"


def test_two_lists_are_not_read(copy: Path) -> None:
    (copy / "tokenizer_config.json").write_text('{"separate_vocabs": true}', encoding="utf-8")
    assert refused(copy) == (
        "FOLDER: separate_vocabs = true in tokenizer_config.json; only one vocab.json is read"
    )


def test_a_piece_that_the_list_lacks_is_noted(copy: Path, run: Run) -> None:
    """As in real folders, whose lists hold what their training data showed."""
    whole = run.vocabularies.source.encode("quiet river")
    lost = run.vocabularies.source.token(whole[-1])
    assert len(lost) > 2

    def rename(ids: dict[str, int]) -> None:
        ids["of no use"] = ids.pop(lost)

    (note,) = import_folder(change_list(copy, rename), copy.parent / "run").notes
    assert note.startswith("1 of the ")
    assert note.endswith(
        f" pieces of source.spm have no id in vocab.json (such as {lost!r}); texts are taken apart without them"
    )
    source = regard.load(copy.parent / "run").vocabularies.source
    assert len(source.encode("quiet river")) > len(whole)
    assert source.decode(source.encode("quiet river")) == "quiet river"


def test_the_list_of_another_model(copy: Path) -> None:
    def rename(ids: dict[str, int]) -> None:
        for piece in [piece for piece in ids if piece[0] not in "<>"]:
            ids[f"{piece} of another"] = ids.pop(piece)

    said = refused(change_list(copy, rename))
    assert said.startswith("FOLDER: ")
    assert said.endswith("this is not the list that belongs to it: download the folder again")

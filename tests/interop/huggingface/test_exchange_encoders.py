"""BERT, RoBERTa and DistilBERT come in and go out: the same states and logits under padding, the same ids, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, BertForPreTraining, BertModel, pipeline

import regard
from regard.core.config import parse
from regard.core.errors import OptionError, RunError
from regard.core.taps import last_outputs
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.training.checkpoints import weights_hash, weights_of
from tests.interop import untrained
from tests.interop.huggingface.readers import (
    BODIES,
    BYTE_PAIRS,
    LONGEST,
    WHOLE,
    WORD_PIECES,
    bert,
    distilbert,
    padded,
    roberta,
    save,
    there,
)
from tests.interop.huggingface.strangers import TEXT, furthest
from tests.interop.pretrained import minilm

Pair = tuple[Any, Run, Path]


def imported(theirs: Any, folder: Path) -> Pair:
    import_folder(save(theirs, folder), folder.with_name(f"{folder.name}-run"))
    return theirs, regard.load(folder.with_name(f"{folder.name}-run")), folder


@pytest.fixture(scope="module", params=WHOLE.values(), ids=WHOLE.keys())
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return imported(request.param(), tmp_path_factory.mktemp("theirs"))


@pytest.fixture(scope="module", params=BODIES.values(), ids=BODIES.keys())
def body(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return imported(request.param(), tmp_path_factory.mktemp("body"))


@torch.no_grad()
def ours(run: Run, tokens_BS: Tensor, lengths_B: Tensor, segments_BS: Tensor | None = None) -> list[Tensor]:
    """The states before and after every layer."""
    model: Any = run.model
    names = ["norm", *(f"layers.{number}" for number in range(len(model.layers)))]
    with last_outputs(model, *names) as seen:
        model(tokens_BS, lengths_B, segments_BS)
    return [seen[name] for name in names]


@torch.no_grad()
def asked(theirs: Any, tokens_BS: Tensor, lengths_B: Tensor, **more: Any) -> Any:
    return theirs(tokens_BS, attention_mask=there(tokens_BS, lengths_B).long(), output_hidden_states=True, **more)


def assert_same_states(theirs: Any, run: Run, tokens_BS: Tensor, lengths_B: Tensor, **more: Any) -> Any:
    answer, real_BS = asked(theirs, tokens_BS, lengths_B, **more), there(tokens_BS, lengths_B)
    found = ours(run, tokens_BS, lengths_B, more.get("token_type_ids"))
    assert len(found) == len(answer.hidden_states)
    for state, their in zip(found, answer.hidden_states, strict=True):
        assert furthest(state[real_BS], their[real_BS]) < 1e-4
    return answer


# -- in ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(1,), (7, 3, 5), (LONGEST, 2)], ids=str)
def test_states_and_logits_are_the_same(whole: Pair, lengths: tuple[int, ...]) -> None:
    theirs, run, _ = whole
    tokens_BS, lengths_B = padded(theirs, *lengths)
    answer, real_BS = assert_same_states(theirs, run, tokens_BS, lengths_B), there(tokens_BS, lengths_B)
    logits_BSW = getattr(answer, "logits", None)
    if logits_BSW is None:
        logits_BSW = answer.prediction_logits
    with torch.no_grad():
        model: Any = run.model
        assert furthest(model.head(model(tokens_BS, lengths_B))[real_BS], logits_BSW[real_BS]) < 1e-4


def test_a_body_alone_has_the_same_states_and_a_new_head(body: Pair) -> None:
    theirs, run, folder = body
    tokens_BS, lengths_B = padded(theirs, 9, 4)
    answer = assert_same_states(theirs, run, tokens_BS, lengths_B)
    if getattr(answer, "pooler_output", None) is not None:
        model: Any = run.model
        with torch.no_grad():
            assert furthest(model.pooler(model(tokens_BS, lengths_B)), answer.pooler_output) < 1e-4
    assert run.recipe.model.pooler == ("none" if "distil" in theirs.config.model_type else "tanh")  # type: ignore[attr-defined]
    ledger = json.loads(run.folder.ledger.read_text(encoding="utf-8"))
    assert ledger["notes"] == [
        "the folder has no head: the run's own, which guesses hidden words, is new and untrained"
    ]
    again = import_folder(folder, folder.with_name(f"{folder.name}-again"))
    assert again.weights_sha256 == weights_hash(weights_of(run.model)), "new, but the same every time"


def test_segments_are_theirs(tmp_path: Path) -> None:
    theirs, run, _ = imported(bert(type_vocab_size=3), tmp_path / "bert")
    tokens_BS, lengths_B = padded(theirs, 9, 6)
    segments_BS = torch.randint(0, 3, tokens_BS.shape, generator=torch.Generator().manual_seed(1))
    assert_same_states(theirs, run, tokens_BS, lengths_B, token_type_ids=segments_BS)


def test_a_text_has_the_same_ids(whole: Pair) -> None:
    _, run, folder = whole
    theirs, tokenizer = AutoTokenizer.from_pretrained(folder), run.vocabularies.target
    for text in (TEXT, "", "  The two\nold trees", "a"):
        assert [tokenizer.specials.sos, *tokenizer.encode(text), tokenizer.specials.eos] == theirs(text)["input_ids"]
    mask = theirs.mask_token
    for text in (f"the {mask} house", f"{mask}, one{mask}"):
        assert run.task.filling(run.session()).read([text])[0] == theirs(text)["input_ids"]
    assert run.task.masking.mask not in tokenizer.encode(f"the {mask}"), "a text that is only read spells it"


def test_the_recipe_is_complete(whole: Pair) -> None:
    _, run, _ = whole
    model: Any = run.model
    task: Any = run.recipe.task
    assert (task.kind, task.max_length, model.max_length) == ("masked-language-model", LONGEST, LONGEST)
    assert run.recipe.data.kind == "text"


def test_word_pieces_in_a_plain_list(tmp_path: Path) -> None:
    """vocab.txt alone, as the first checkpoints had it."""
    folder = save(bert(), tmp_path / "bert")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    pieces = sorted(WORD_PIECES.get_vocab(), key=WORD_PIECES.get_vocab().__getitem__)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    import_folder(folder, tmp_path / "run")
    run = regard.load(tmp_path / "run")
    specials = run.vocabularies.target.specials
    assert (specials.pad, specials.unk, specials.sos, specials.eos, specials.mask) == (0, 1, 2, 3, 4)
    assert run.vocabularies.target.encode("The small, quiet Rivér") == WORD_PIECES.encode(
        "The small, quiet Rivér", add_special_tokens=False
    ).ids
    assert run.fill(["the [MASK] house"])[0][0]
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}', encoding="utf-8")
    import_folder(folder, tmp_path / "cased")
    assert regard.load(tmp_path / "cased").vocabularies.target.encode("THE") == [specials.unk]


def test_byte_pairs_in_two_files(tmp_path: Path) -> None:
    folder = save(roberta(), tmp_path / "roberta")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    model = json.loads(BYTE_PAIRS.to_str())["model"]
    vocabulary = {**model["vocab"], "<mask>": BYTE_PAIRS.token_to_id("<mask>")}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    merges = [" ".join(one) if isinstance(one, list) else one for one in model["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    import_folder(folder, tmp_path / "run")
    run = regard.load(tmp_path / "run")
    text = "the small <mask>, two old"
    assert run.task.filling(run.session()).read([text])[0] == BYTE_PAIRS.encode(text).ids


def test_old_names_of_tensors(tmp_path: Path) -> None:
    """gamma and beta, saved positions, a bias under its other name, a judge of next sentences."""
    theirs = bert(BertForPreTraining)
    today = import_folder(save(theirs, tmp_path / "today"), tmp_path / "today-run").weights_sha256
    folder = save(theirs, tmp_path / "old")
    held = load_file(folder / "model.safetensors")
    assert any(name.startswith("cls.seq_relationship") for name in held)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in held.items()
    }
    old["bert.embeddings.position_ids"] = torch.arange(LONGEST)[None]
    old["cls.predictions.decoder.weight"] = held["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = held["cls.predictions.bias"].clone()
    save_file(old, folder / "model.safetensors")
    assert import_folder(folder, tmp_path / "old-run").weights_sha256 == today


# -- out --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["bert", "roberta", "distilbert"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A run of ours with a random weight everywhere, and the folder that it was exported to."""
    folder = tmp_path_factory.mktemp("ours")
    return written(folder, OURS[request.param]), Path(export(folder, "huggingface", folder / "out").folder)


TINY = {"kind": "bert", "layers": 2, "width": 20, "heads": 2, "position": {"max_length": 24}}
OURS: dict[str, dict[str, Any]] = {
    "bert": {**TINY, "pooler": "tanh", "feed_forward": {"activation": "gelu-tanh"}, "norm": {"epsilon": 1e-3}},
    "roberta": {**TINY, "segments": 1, "position": {"max_length": 24, "first": 1}, "feed_forward": {"width": 31}},
    "distilbert": {**TINY, "segments": 0},
}


def written(folder: Path, model: dict[str, Any]) -> Run:
    tokenizer = {"kind": "wordpiece", "vocabulary": 90, "min_frequency": 1}
    task = {"kind": "masked-language-model", "max_length": 16}
    recipe = parse(Recipe, {"data": {"kind": "text"}, "tokenizer": tokenizer, "model": model, "task": task})
    pieces = WordPieceTokenizer(vocabulary=90, min_frequency=1).train([TEXT])
    return untrained.kept(folder, recipe, Vocabularies(pieces, pieces), lambda model: untrained.nudge(model, 0.2))


def test_what_is_exported_gives_the_same_there(made: tuple[Run, Path]) -> None:
    run, folder = made
    theirs, report = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"], report
    assert not report["mismatched_keys"], report
    pooler = {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
    assert set(report["unexpected_keys"]) <= pooler, "their guessing model has no pooler; AutoModel takes it"
    tokens_BS, lengths_B = padded(theirs.eval(), 16, 9, 1)
    answer, real_BS = assert_same_states(theirs, run, tokens_BS, lengths_B), there(tokens_BS, lengths_B)
    with torch.no_grad():
        model: Any = run.model
        assert furthest(model.head(model(tokens_BS, lengths_B))[real_BS], answer.logits[real_BS]) < 1e-4
    assert not (folder / "generation_config.json").exists()


def test_the_body_alone_can_be_taken_there(made: tuple[Run, Path]) -> None:
    run, folder = made
    theirs, report = AutoModel.from_pretrained(folder, output_loading_info=True)
    tokens_BS, lengths_B = padded(theirs.eval(), 8, 5)
    answer = assert_same_states(theirs, run, tokens_BS, lengths_B)
    if run.recipe.model.pooler == "tanh":  # type: ignore[attr-defined]
        assert not report["missing_keys"]
        model: Any = run.model
        with torch.no_grad():
            assert furthest(model.pooler(model(tokens_BS, lengths_B)), answer.pooler_output) < 1e-4


def test_their_pipeline_fills_as_we_do(made: tuple[Run, Path]) -> None:
    run, folder = made
    there_too = pipeline("fill-mask", model=str(folder), device="cpu")
    for text in ("the small [MASK] house", "two old trees and one [MASK]"):
        (ours_best,) = run.fill([text], 3)[0]
        theirs_best = [one for one in there_too(text, top_k=8) if one["token"] > 4][:3]
        assert [guess.id for guess in ours_best] == [one["token"] for one in theirs_best]
        assert [guess.probability for guess in ours_best] == pytest.approx([o["score"] for o in theirs_best], abs=1e-5)


def test_two_texts_are_two_segments_there(tmp_path: Path) -> None:
    written(tmp_path / "run", OURS["bert"])
    export(tmp_path / "run", "huggingface", tmp_path / "out")
    made = AutoTokenizer.from_pretrained(tmp_path / "out")("the house", "two trees")
    tokenizer = regard.load(tmp_path / "run").vocabularies.target
    first, second = tokenizer.encode("the house"), tokenizer.encode("two trees")
    assert made["input_ids"] == [1, *first, 2, *second, 2]
    assert made["token_type_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_the_way_there_and_back_changes_no_bit(made: tuple[Run, Path], tmp_path: Path) -> None:
    run, folder = made
    found = import_folder(folder, tmp_path / "again")
    assert found.weights_sha256 == weights_hash(weights_of(run.model))
    assert found.notes == ()
    again = regard.load(tmp_path / "again")
    assert again.vocabularies.target.specials == run.vocabularies.target.specials
    assert all(one.holds for one in check(again))


def test_the_way_in_and_out_gives_their_tensors(whole: Pair, tmp_path: Path) -> None:
    _, run, folder = whole
    export(run.folder.path, "huggingface", tmp_path / "out")
    before, after = load_file(folder / "model.safetensors"), load_file(tmp_path / "out" / "model.safetensors")
    judge = {name for name in before if name.startswith("cls.seq_relationship")}
    assert before.keys() - judge == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in after)
    tokens = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokens(TEXT)["input_ids"] == AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]


# -- what is refused --------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "untied": (bert, {"tie_word_embeddings": False}, "tie_word_embeddings = False; known: True"),
    "decoder": (bert, {"is_decoder": True}, "is_decoder = True, but only False is supported"),
    "relative": (
        bert, {"position_embedding_type": "relative_key"},
        "position_embedding_type = 'relative_key', but only 'absolute' is supported",
    ),
    "roberta relu": (roberta, {"hidden_act": "relu"}, "hidden_act = 'relu'; known: 'gelu'"),
    "sinusoids": (
        distilbert, {"sinusoidal_pos_embds": True}, "sinusoidal_pos_embds = True, but only False is supported"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("model", "changes", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_computed_here_is_refused(
    model: Callable[[], Any], changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = save(model(), tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **changes}), encoding="utf-8")
    with pytest.raises(RunError) as caught:
        import_folder(folder, tmp_path / "run")
    assert words in str(caught.value)


def test_half_a_head_is_no_head(tmp_path: Path) -> None:
    folder = save(bert(), tmp_path / "theirs")
    held = load_file(folder / "model.safetensors")
    del held["cls.predictions.transform.dense.weight"]
    save_file(held, folder / "model.safetensors")
    with pytest.raises(RunError, match=r"missing cls\.predictions\.transform\.dense\.weight \(40, 40\)"):
        import_folder(folder, tmp_path / "run")


def test_a_tokenizer_without_a_mask_is_refused(tmp_path: Path) -> None:
    folder = save(bert(), tmp_path / "theirs")
    held = (folder / "tokenizer.json").read_text(encoding="utf-8").replace("[MASK]", "[GAP]")
    (folder / "tokenizer.json").write_text(held, encoding="utf-8")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(RunError, match="mask_token names no piece of the tokenizer"):
        import_folder(folder, tmp_path / "run")


def test_what_they_do_not_have_is_named(tmp_path: Path) -> None:
    written(tmp_path / "run", {**TINY, "tied": "none", "position": {"max_length": 24, "first": 3}})
    with pytest.raises(OptionError) as caught:
        export(tmp_path / "run", "huggingface", tmp_path / "out")
    assert str(caught.value).splitlines()[1:] == [
        "  - model.position.first = 3; they have 0, or here 1, after the padding symbol",
        "  - model.tied = 'none'; they know 'output'",
    ]


# -- real weights -----------------------------------------------------------------------------------------------


def test_a_real_model_reads_as_it_does_there(tmp_path: Path) -> None:
    folder = minilm()
    found = import_folder(folder, tmp_path / "run")
    assert (found.pieces, found.context) == (30522, 512)
    run, theirs = regard.load(tmp_path / "run"), BertModel.from_pretrained(folder).eval()
    texts = ["The capital of France is Paris.", "Ünïcode façade — 東京 costs 3.50$", "yes"]
    asked_of_transformers = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    lengths_B, specials = asked_of_transformers["attention_mask"].sum(1), run.vocabularies.target.specials
    for text, ids, length in zip(texts, asked_of_transformers["input_ids"].tolist(), lengths_B.tolist(), strict=True):
        assert [specials.sos, *run.vocabularies.target.encode(text), specials.eos] == ids[:length]
    answer = assert_same_states(theirs, run, asked_of_transformers["input_ids"], lengths_B)
    model: Any = run.model
    with torch.no_grad():
        states = model(asked_of_transformers["input_ids"], lengths_B)
        assert furthest(model.pooler(states), answer.pooler_output) < 1e-4
    exported = export(tmp_path / "run", "huggingface", tmp_path / "out")
    back = AutoModel.from_pretrained(exported.folder).eval()
    assert_same_states(back, run, asked_of_transformers["input_ids"], lengths_B)

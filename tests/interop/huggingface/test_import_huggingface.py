"""Other people's folders become runs: the same logits, the same greedy texts, the same ids, whatever the files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
import torch
from safetensors.torch import load_file, save_file
from tokenizers import models, processors
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

import regard
from regard.cli.main import main
from regard.core.errors import OptionError
from regard.decoding.options import Greedy
from regard.interop.huggingface.importing import import_folder
from regard.training.checkpoints import weights_of
from tests.interop.huggingface.strangers import (
    CONTEXT,
    END,
    LLAMA3,
    MODELS,
    PIECES,
    TEXT,
    Imported,
    furthest,
    gpt2,
    imported,
    llama,
    our_logits,
    pieces,
    save,
    their_logits,
    tokens,
)


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    theirs = request.param()
    folder = save(theirs, tmp_path_factory.mktemp("theirs"))
    return theirs, imported(folder), folder


# -- the same numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (3, 61), (1, CONTEXT)], ids=str)
def test_logits_are_the_same(pair: Imported, shape: tuple[int, int]) -> None:
    tokens_BT = tokens(*shape)
    assert furthest(our_logits(pair[1], tokens_BT), their_logits(pair[0], tokens_BT)) < 1e-4


def test_rows_of_different_lengths_give_the_logits_that_padded_ones_give_there(pair: Imported) -> None:
    theirs, run, _ = pair
    rows = [tokens(length, seed=length) for length in (3, 11, 7)]
    padded_BT, there_BT = torch.zeros(3, 11, dtype=torch.long), torch.zeros(3, 11, dtype=torch.long)
    for place, row in enumerate(rows):  # on the left, as for generation
        padded_BT[place, 11 - len(row) :], there_BT[place, 11 - len(row) :] = row, 1
    positions_BT = (there_BT.cumsum(1) - 1).clamp(min=0)
    logits_BTW = their_logits(theirs, padded_BT, attention_mask=there_BT, position_ids=positions_BT)
    for row, logits_TW in zip(rows, logits_BTW):
        assert furthest(our_logits(run, row[None])[0], logits_TW[11 - len(row) :]) < 1e-4


def test_two_hundred_greedy_tokens_are_the_same(pair: Imported) -> None:
    theirs, run, _ = pair
    prompt_BT, model = tokens(2, 5), run.model
    wanted_BT = theirs.generate(
        prompt_BT, attention_mask=torch.ones_like(prompt_BT), max_new_tokens=200, do_sample=False, eos_token_id=None,
        pad_token_id=0,
    )  # fmt: skip
    assert wanted_BT.shape == (2, 205)
    state, read_BT, chosen = model.start((2, 0)), prompt_BT, [prompt_BT]
    with torch.inference_mode():
        for _ in range(200):
            logits_BTW, state = model.step(read_BT, state)
            read_BT = logits_BTW[:, -1:].argmax(-1)
            chosen.append(read_BT)
    assert torch.equal(torch.cat(chosen, dim=1), wanted_BT)


def test_every_weight_of_ours_came_from_there(pair: Imported) -> None:
    _, run, folder = pair
    held = load_file(run.folder.weights)
    assert held.keys() == weights_of(run.model).keys()
    assert sum(tensor.numel() for tensor in held.values()) == sum(
        tensor.numel() for tensor in load_file(folder / "model.safetensors").values()
    )
    assert {tensor.dtype for tensor in held.values()} == {torch.float32}


def test_a_text_has_the_same_ids(pair: Imported) -> None:
    _, run, folder = pair
    theirs = AutoTokenizer.from_pretrained(folder)
    for text in (TEXT, "", "  two  spaces\n\n", "Straße 🙂", "a"):
        assert run.vocabularies.target.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
        assert run.vocabularies.target.decode(run.vocabularies.target.encode(text)) == text


def test_the_recipe_is_complete(pair: Imported) -> None:
    _, run, folder = pair
    recipe = tomllib.loads(run.folder.recipe.read_text(encoding="utf-8"))
    assert recipe["name"] == folder.name
    assert recipe["data"]["kind"] == "text"
    ids = {"pad": -1, "sos": PIECES - 1, "eos": PIECES - 1, "unk": PIECES - 1, "opening": -1, "mask": -1}
    assert recipe["tokenizer"] == {"kind": "imported", **ids}
    assert recipe["task"]["kind"] == "language-model"
    assert recipe["task"]["max_length"] == run.model.max_length == CONTEXT
    assert recipe["decoding"]["kind"] == "greedy"
    names = {path.name for path in run.folder.path.iterdir()}
    assert names == {
        "recipe.toml", "tokenizer.json", "model.safetensors", "ledger.json", "environment.json", "summary.json",
        "checkpoints",
    }  # fmt: skip


def test_a_run_of_theirs_writes_on(pair: Imported) -> None:
    assert len(pair[1].answers(["the small", "a"], Greedy(max_length=9))) == 2


# -- the same weights from other files --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A plain folder of each kind of file, and the hash of what comes of it."""
    folder = save(gpt2(), tmp_path_factory.mktemp("whole"))
    return folder, import_folder(folder, folder.with_name(f"{folder.name}-run")).weights_sha256


def rewritten(whole: Path, folder: Path, change: Any) -> Path:
    """The same folder with other tensors in it."""
    save(gpt2(), folder)
    save_file(change(load_file(whole / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_shards_are_read_as_one(tmp_path: Path, whole: tuple[Path, str]) -> None:
    folder = save(gpt2(), tmp_path / "shards", max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 5
    assert import_folder(folder, tmp_path / "run").weights_sha256 == whole[1]


def test_names_without_their_prefix_are_understood(tmp_path: Path, whole: tuple[Path, str]) -> None:
    def bare(held: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {name.removeprefix("transformer."): tensor for name, tensor in held.items()}

    folder = rewritten(whole[0], tmp_path / "bare", bare)
    assert import_folder(folder, tmp_path / "run").weights_sha256 == whole[1]


def test_buffers_that_nobody_needs_and_a_copy_of_the_tied_head_are_left_out(
    tmp_path: Path, whole: tuple[Path, str]
) -> None:
    def fuller(held: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        buffers = {"attn.bias": torch.ones(1, 1, 9, 9).bool(), "attn.masked_bias": torch.tensor(-1e4)}
        more = {f"transformer.h.{layer}.{name}": one for layer in range(3) for name, one in buffers.items()}
        more = {name: one.clone() for name, one in more.items()}
        return {**held, **more, "lm_head.weight": held["transformer.wte.weight"].clone()}

    folder = rewritten(whole[0], tmp_path / "fuller", fuller)
    assert import_folder(folder, tmp_path / "run").weights_sha256 == whole[1]


def test_old_llamas_bring_their_frequencies_along(tmp_path: Path) -> None:
    folder = save(llama(), tmp_path / "old")
    held = load_file(folder / "model.safetensors")
    clean = import_folder(folder, tmp_path / "clean").weights_sha256
    for layer in range(3):
        held[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    assert import_folder(folder, tmp_path / "run").weights_sha256 == clean


@pytest.mark.parametrize("sharded", [False, True], ids=["one file", "shards"])
def test_pickles_are_converted_on_request(tmp_path: Path, whole: tuple[Path, str], sharded: bool) -> None:
    folder = save(gpt2(), tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    held = gpt2().state_dict()  # with the tied head, as pickles have it
    if sharded:
        names = sorted(held)
        shards = {"pytorch_model-1.bin": names[::2], "pytorch_model-2.bin": names[1::2]}
        for file, inside in shards.items():
            torch.save({name: held[name] for name in inside}, folder / file)
        places = {name: file for file, inside in shards.items() for name in inside}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}), encoding="utf-8")
    else:
        torch.save(held, folder / "pytorch_model.bin")
    assert import_folder(folder, tmp_path / "run", convert=True).weights_sha256 == whole[1]


def test_half_precision_is_read_as_single(tmp_path: Path) -> None:
    folder = save(llama().to(torch.bfloat16), tmp_path / "half")
    assert {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}
    run, theirs = imported(folder), AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    assert {weight.dtype for weight in run.model.parameters()} == {torch.float32}
    tokens_BT = tokens(2, 7)
    assert furthest(our_logits(run, tokens_BT), their_logits(theirs, tokens_BT)) < 1e-4


# -- the same settings in other words ---------------------------------------------------------------------------


def with_config(folder: Path, changes: dict[str, Any]) -> Path:
    """None takes a setting out."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kept = {name: value for name, value in {**config, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


def test_rope_may_be_written_as_transformers_4_did(tmp_path: Path) -> None:
    theirs = llama(rope_parameters=LLAMA3)
    folder = save(theirs, tmp_path / "theirs")
    old = {name: value for name, value in LLAMA3.items() if name != "rope_theta"}
    with_config(folder, {"rope_parameters": None, "rope_theta": 500, "rope_scaling": old})
    tokens_BT = tokens(1, CONTEXT)
    assert furthest(our_logits(imported(folder), tokens_BT), their_logits(theirs, tokens_BT)) < 1e-4


def test_what_config_json_does_not_say_is_what_transformers_means(tmp_path: Path) -> None:
    theirs = gpt2()
    silent = dict.fromkeys(
        ("n_inner", "activation_function", "layer_norm_epsilon", "tie_word_embeddings", "scale_attn_weights",
         "architectures", "resid_pdrop")
    )  # fmt: skip
    run = imported(with_config(save(theirs, tmp_path / "silent"), silent))
    tokens_BT = tokens(2, 7)
    assert furthest(our_logits(run, tokens_BT), their_logits(theirs, tokens_BT)) < 1e-4
    assert run.recipe.model.dropout == 0.1  # type: ignore[attr-defined]


def test_a_setting_that_changes_nothing_may_be_ignored(tmp_path: Path) -> None:
    folder = with_config(save(gpt2(), tmp_path / "theirs"), {"fixed_by_somebody": True, "off": False})
    assert imported(folder, ignored=["fixed_by_somebody"]).model.max_length == CONTEXT
    for name, nearest in {"fixed_by_sombody": r" \(did you mean 'fixed_by_somebody'\?\)", "n_layer": ""}.items():
        with pytest.raises(OptionError, match=f"nothing to ignore under the name {name}{nearest}; leave out --ignore"):
            import_folder(folder, tmp_path / "other", ignored=[name])


def test_sampling_settings_come_along(tmp_path: Path) -> None:
    folder = save(gpt2(), tmp_path / "theirs")
    given = {"do_sample": True, "temperature": 0.6, "top_p": 0.9}
    (folder / "generation_config.json").write_text(json.dumps(given), encoding="utf-8")
    decoding: Any = imported(folder).recipe.decoding
    assert (decoding.kind, decoding.temperature, decoding.top_p, decoding.top_k) == ("sampling", 0.6, 0.9, 50)


# -- tokenizers -------------------------------------------------------------------------------------------------


def test_the_two_files_of_gpt2_make_a_tokenizer(tmp_path: Path) -> None:
    folder = save(gpt2(), tmp_path / "theirs")
    wanted = pieces().encode(TEXT).ids
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    pieces().model.save(str(folder))  # vocab.json and merges.txt
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps({**vocabulary, END: PIECES - 1}), encoding="utf-8")
    run = imported(folder)
    tokenizer = run.vocabularies.target
    assert tokenizer.encode(TEXT) == wanted
    assert tokenizer.specials.eos == PIECES - 1
    assert tokenizer.decode([*wanted, PIECES - 1]) == TEXT, "the end of a text is not part of it"


def test_rows_without_a_piece_are_left_behind_and_said(tmp_path: Path) -> None:
    theirs = gpt2(vocab_size=PIECES + 14)
    folder = save(theirs, tmp_path / "theirs")
    found = import_folder(folder, tmp_path / "run")
    assert found.notes == ("14 rows of the embedding belong to no token and were dropped",)
    tokens_BT = tokens(2, 7)
    wanted_BTW = their_logits(theirs, tokens_BT)[..., :PIECES]
    assert furthest(our_logits(regard.load(tmp_path / "run"), tokens_BT), wanted_BTW) < 1e-4
    ledger = json.loads((tmp_path / "run" / "ledger.json").read_text(encoding="utf-8"))
    assert ledger["notes"] == list(found.notes)


def test_of_several_ends_the_tokenizers_own_is_taken(tmp_path: Path) -> None:
    folder = with_config(save(llama(), tmp_path / "theirs"), {"eos_token_id": [5, PIECES - 1], "pad_token_id": 9999})
    found = import_folder(folder, tmp_path / "run")
    assert regard.load(tmp_path / "run").vocabularies.target.specials.eos == PIECES - 1
    assert found.notes == (
        f"pad_token_id = 9999 names no piece of the tokenizer, which has {PIECES}",
        f"eos_token_id = 5, {PIECES - 1} are several; the run uses {PIECES - 1} ({END})",
    )


def test_pieces_that_were_added_later_are_found_in_their_file(tmp_path: Path) -> None:
    folder = save(gpt2(vocab_size=PIECES + 2), tmp_path / "theirs")
    later = {"<|user|>": PIECES, "<|answer|>": PIECES + 1}
    (folder / "added_tokens.json").write_text(json.dumps(later), encoding="utf-8")
    tokenizer = imported(folder).vocabularies.target
    assert [tokenizer.raw.token_to_id(token) for token in later] == [PIECES, PIECES + 1]
    assert tokenizer.size == PIECES + 2


def test_the_symbol_that_opens_a_text_stays_the_tokenizers_affair(tmp_path: Path) -> None:
    folder = save(llama(), tmp_path / "theirs")
    raw = pieces()
    raw.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, PIECES - 1)])
    raw.save(str(folder / "tokenizer.json"))
    tokenizer = imported(folder).vocabularies.target
    assert tokenizer.encode("a house") == pieces().encode("a house").ids
    assert tokenizer.raw.encode("a house").ids == [PIECES - 1, *tokenizer.encode("a house")]


def test_special_symbols_may_stand_where_ours_do_under_other_names(tmp_path: Path) -> None:
    names = ["[PAD]", "<s>", "</s>", "[UNK]"]
    raw = library.Tokenizer(models.WordLevel({name: id for id, name in enumerate([*names, "a"])}, unk_token="[UNK]"))
    raw.add_special_tokens(names)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    folder = save(llama(vocab_size=5, **ids), tmp_path / "theirs")
    raw.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"unk_token": "[UNK]"}), encoding="utf-8")
    specials = imported(folder).vocabularies.target.specials
    assert (specials.pad, specials.sos, specials.eos) == (0, 1, 2)


def test_a_tokenizer_that_cuts_and_pads_stops_doing_so(tmp_path: Path) -> None:
    folder = save(gpt2(), tmp_path / "theirs")
    raw = pieces()
    raw.enable_truncation(4)
    raw.enable_padding(length=8)
    raw.save(str(folder / "tokenizer.json"))
    assert imported(folder).vocabularies.target.encode(TEXT) == pieces().encode(TEXT).ids


# -- the command ------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, whole: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    main_exits(["import", str(whole[0]), "--out", str(tmp_path / "run"), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "run": str(tmp_path / "run"), "architecture": "GPT2LMHeadModel", "task": "language-model",
        "parameters": 81_080, "pieces": PIECES, "context": CONTEXT, "weights_sha256": whole[1], "notes": [],
    }  # fmt: skip
    main_exits(["import", str(whole[0]), "--out", str(tmp_path / "words")])
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path}/words: GPT2LMHeadModel, 81,080 parameters, 290 pieces, context 256"
    assert rest == [f'next: regard predict {tmp_path}/words --prompt "a beginning"']


def main_exits(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert not leaving.value.code


def test_a_tokenizer_that_opens_every_text_still_does(tmp_path: Path) -> None:
    """As Llama's: its own `<s>` stands before a prompt, and an empty prompt is that symbol alone."""
    model = llama()
    folder = save(model, tmp_path / "theirs")
    raw = pieces()
    raw.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, PIECES - 1)]
    )
    PreTrainedTokenizerFast(tokenizer_object=raw, bos_token=END, eos_token=END).save_pretrained(folder)
    import_folder(folder, tmp_path / "ours")
    run = regard.load(tmp_path / "ours")
    assert run.recipe.tokenizer.opening == PIECES - 1  # type: ignore[attr-defined]
    writing = run.continuation
    assert writing.openings(["the small", ""], keep_end=False) == [raw.encode("the small").ids, [PIECES - 1]]
    long = "the small green house " * 60
    kept = writing.openings([long], keep_end=True)[0]
    assert kept == [PIECES - 1, *raw.encode(long, add_special_tokens=False).ids[-(CONTEXT - 2) :]]
    fed = torch.tensor([raw.encode("the small").ids])
    theirs = model.generate(fed, max_new_tokens=20, do_sample=False)[0, fed.shape[1] :]
    ours = writing.predict(["the small"], Greedy(max_length=20))[0][0].text
    assert ours == raw.decode([*fed[0].tolist(), *theirs.tolist()])[len("the small") :]

"""Encoder–decoders of others become runs: the same logits, the same greedy answers, the same ids."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
import torch
from safetensors.torch import load_file
from tokenizers import models
from transformers import AutoTokenizer

import regard
from regard.cli.main import main
from regard.core.errors import RunError
from regard.data.corpus import Pair as Sentences
from regard.decoding.options import Greedy
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.training.checkpoints import weights_of
from tests.interop.huggingface import translators
from tests.interop.huggingface.strangers import Imported, change_tensors, furthest, imported
from tests.interop.huggingface.translators import (
    END,
    LONGEST,
    MODELS,
    PAD,
    PIECES,
    marian,
    our_logits,
    save,
    shown,
    their_logits,
    unbiased,
)

LENGTHS = [(1,), (9, 4, 1, 7), (31, 30)]


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS.keys())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    theirs = request.param()
    folder = save(theirs, tmp_path_factory.mktemp("theirs"))
    return theirs, imported(folder), folder


def asked(lengths: tuple[int, ...], targets: int = 11) -> translators.Asked:
    return translators.asked(PIECES, lengths, targets, END, PAD)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("targets", [1, 13, LONGEST])
def test_logits_are_the_same(pair: Imported, lengths: tuple[int, ...], targets: int) -> None:
    one = asked(lengths, targets)
    assert furthest(our_logits(pair[1], one), their_logits(pair[0], one)) < 1e-4


def test_two_hundred_greedy_tokens_are_the_same(pair: Imported) -> None:
    theirs, run, _ = pair
    one = asked((9, 4, 7))
    settings = {"max_new_tokens": 200, "do_sample": False, "eos_token_id": None, "forced_eos_token_id": None}
    wanted_BT = theirs.generate(**shown(one), **settings)
    assert wanted_BT.shape == (3, 201)
    assert len(wanted_BT.unique()) > 15
    state, read_BT, chosen = run.model.start(one[:2]), torch.full((3, 1), PAD), [torch.full((3, 1), PAD)]  # type: ignore[operator]
    with torch.inference_mode():
        for _ in range(200):
            logits_BTW, state = run.model.step(read_BT, state)  # type: ignore[operator]
            read_BT = logits_BTW[:, -1:].argmax(-1)
            chosen.append(read_BT)
    assert torch.equal(torch.cat(chosen, dim=1), wanted_BT)


def test_answers_are_the_same(pair: Imported) -> None:
    """From text to text, as long as it takes: Marian's own generation forbids what pads."""
    theirs, run, folder = pair
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = ["the small green house", "one quiet river", ""]
    fed = tokenizer(texts, return_tensors="pt", padding=True)
    ids_BT = theirs.generate(
        fed["input_ids"], attention_mask=fed["attention_mask"], max_new_tokens=30, do_sample=False,
        forced_eos_token_id=None, bad_words_ids=[[PAD]],
    )  # fmt: skip
    found = run.engine.predict(run.vocabularies.source.encode_batch(texts), Greedy(max_length=30))
    for row, hypotheses in zip(ids_BT[:, 1:].tolist(), found, strict=True):
        assert row[: row.index(END) if END in row else 30] == list(hypotheses[0].tokens)
    written = tokenizer.batch_decode(ids_BT, skip_special_tokens=True)
    assert run.predict(texts, Greedy(max_length=30)) == [*written[:2], ""]  # an empty text has an empty answer


def test_every_weight_of_ours_came_from_there(pair: Imported) -> None:
    _, run, folder = pair
    held, theirs = load_file(run.folder.weights), load_file(folder / "model.safetensors")
    assert held.keys() == weights_of(run.model).keys()
    learned = {name: one for name, one in theirs.items() if "embed_positions" not in name and one.any()}
    assert len(theirs) - len(learned) in (0, 1, 2), "a bias of zeros, or the positions of a Pegasus"
    assert sum(one.numel() for one in held.values()) == sum(one.numel() for one in learned.values())


def test_the_recipe_is_complete(pair: Imported) -> None:
    theirs, run, _ = pair
    recipe = tomllib.loads(run.folder.recipe.read_text(encoding="utf-8"))
    ids = {"pad": PAD, "sos": PAD, "eos": END, "unk": 1, "opening": -1, "mask": -1}
    assert recipe["tokenizer"] == {"kind": "imported", "joint": True, **ids}
    assert (recipe["data"]["kind"], recipe["task"]["kind"]) == ("pairs", "translation")
    assert recipe["decoding"]["kind"] == "greedy"
    assert recipe["model"]["norm"] == ("pre" if theirs.config.model_type == "pegasus" else "post")
    assert recipe["model"]["output_bias"] == bool(theirs.final_logits_bias.any())
    assert run.model.max_lengths == (LONGEST, LONGEST)
    assert json.loads(run.folder.ledger.read_text(encoding="utf-8"))["notes"] == []


def test_batches_and_losses_use_the_symbols_of_the_folder(pair: Imported) -> None:
    """Teacher forcing gives the loss that they give for the same labels, the bias included."""
    theirs, run, folder = pair
    texts = ["the small green house", "one"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    fed = tokenizer(texts, return_tensors="pt", padding=True)
    examples = run.task.encode_pairs([Sentences(text, text[::-1]) for text in texts])
    batch = run.task.collate(examples)
    assert torch.equal(batch.source_BS, fed["input_ids"])
    assert batch.target_in_BT[:, 0].tolist() == [PAD, PAD]
    labels = tokenizer([text[::-1] for text in texts], return_tensors="pt", padding=True)["input_ids"]
    with torch.no_grad():
        source = shown((batch.source_BS, batch.source_lengths_B, labels))
        wanted = theirs(**source, labels=labels.masked_fill(labels == PAD, -100)).loss
        sums = run.task.sums(run.model, batch)
    assert sums.mean("loss") == pytest.approx(float(wanted), abs=1e-4)


@pytest.mark.usefixtures("no_onnx")
def test_a_run_of_theirs_holds_when_it_is_checked(pair: Imported) -> None:
    checks = check(pair[1])
    assert all(one.holds for one in checks), checks
    assert [one.name for one in checks if one.skipped] == ["onnx"]


@pytest.mark.parametrize("name", ["marian", "pegasus"])
def test_a_run_of_theirs_holds_in_onnxruntime_too(name: str, tmp_path: Path) -> None:
    import_folder(save(MODELS[name](), tmp_path / "theirs"), tmp_path / "run")
    found = {one.name: one for one in check(regard.load(tmp_path / "run"))}["onnx"]
    assert found.holds, found
    assert not found.skipped


# -- other files ------------------------------------------------------------------------------------------------


def test_shards_are_read_as_one(tmp_path: Path) -> None:
    one = import_folder(save(marian(), tmp_path / "whole"), tmp_path / "one")
    folder = save(marian(), tmp_path / "shards", max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 3
    assert import_folder(folder, tmp_path / "two").weights_sha256 == one.weights_sha256


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(unbiased(marian()), tmp_path_factory.mktemp("original"))


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "theirs"))


def change_config(folder: Path, name: str = "config.json", **changes: Any) -> Path:
    config = json.loads((folder / name).read_text(encoding="utf-8")) if (folder / name).exists() else {}
    kept = {name: value for name, value in {**config, **changes}.items() if value != "leave out"}
    (folder / name).write_text(json.dumps(kept), encoding="utf-8")
    return folder


def positions() -> torch.Tensor:
    return marian().model.decoder.embed_positions.weight.detach()


def test_copies_of_the_embedding_and_positions_may_be_there(copy: Path, original: Path, tmp_path: Path) -> None:
    plain = import_folder(original, tmp_path / "plain").weights_sha256

    def fuller(held: dict[str, torch.Tensor]) -> None:
        words = held["model.shared.weight"]
        held["lm_head.weight"], held["model.encoder.embed_tokens.weight"] = words.clone(), words.clone()
        held["model.decoder.embed_positions.weight"] = positions()

    assert import_folder(change_tensors(copy, fuller), tmp_path / "fuller").weights_sha256 == plain

    def under_another_name(held: dict[str, torch.Tensor]) -> None:
        del held["model.shared.weight"], held["model.encoder.embed_tokens.weight"]

    assert import_folder(change_tensors(copy, under_another_name), tmp_path / "other").weights_sha256 == plain


def test_a_beam_comes_along(copy: Path, tmp_path: Path) -> None:
    change_config(copy, "generation_config.json", num_beams=6)
    assert import_folder(copy, tmp_path / "run").notes == (
        "num_beams = 6 was imported; decoding.length_penalty = 1.0 is our default, since theirs has another formula",
    )
    decoding: Any = regard.load(tmp_path / "run").recipe.decoding
    assert (decoding.kind, decoding.size) == ("beam", 6)


def test_settings_of_old_folders_are_understood(copy: Path, tmp_path: Path) -> None:
    old = {
        "add_bias_logits": False, "normalize_before": False, "normalize_embedding": False, "num_beams": 6,
        "static_position_embeddings": True, "bad_words_ids": [[PAD]], "num_hidden_layers": 1, "bos_token_id": END,
        "classif_dropout": 0.1, "extra_pos_embeddings": 2,
    }  # fmt: skip
    import_folder(change_config(copy, **old), tmp_path / "run")
    assert regard.load(tmp_path / "run").vocabularies.target.specials.sos == PAD


def test_a_tokenizer_that_does_not_close_texts_is_noted(copy: Path, tmp_path: Path) -> None:
    held = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
    (copy / "tokenizer.json").write_text(json.dumps({**held, "post_processor": None}), encoding="utf-8")
    assert import_folder(copy, tmp_path / "run").notes == (
        "the tokenizer does not read a text as its pieces and </s>; the run does, as Marian does",
    )
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    assert AutoTokenizer.from_pretrained(tmp_path / "exported")("a")["input_ids"][-1] == END


def test_the_command_says_what_is_next(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["import", str(copy), "--out", str(tmp_path / "run")])
    assert not leaving.value.code
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f'next: regard predict {tmp_path}/run "a sentence"'
    assert ": MarianMTModel, " in said[0]


# -- what cannot be imported ------------------------------------------------------------------------------------


def refused(folder: Path) -> str:
    with pytest.raises(RunError) as caught:
        import_folder(folder, folder.parent / "run")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    return str(caught.value).replace(str(folder), "FOLDER")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scale_embedding": False}, "scale_embedding = False, but only True is supported"),
        (
            {"scale_embedding": "leave out"},
            "scale_embedding is missing, which means False, but only True is supported",
        ),
        (
            {"decoder_attention_heads": 4},
            "decoder_attention_heads = 4, but encoder_attention_heads = 3; only equal ones are supported",
        ),
        (
            {"decoder_ffn_dim": 50},
            "decoder_ffn_dim = 50, but encoder_ffn_dim = 52; only equal ones are supported",
        ),
        (
            {"tie_word_embeddings": False},
            "share_encoder_decoder_embeddings = True with tie_word_embeddings = False is not supported",
        ),
        (
            {"decoder_vocab_size": 99},
            f"decoder_vocab_size = 99, but vocab_size = {PIECES}; only equal ones are read",
        ),
        (
            {"normalize_before": True},
            "normalize_before = True is not known here; if it changes nothing, say so: --ignore normalize_before",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_setting_that_is_not_computed(copy: Path, changes: dict[str, Any], words: str) -> None:
    assert refused(change_config(copy, **changes)) == f"FOLDER/config.json cannot be followed: {words}"


def test_symbols_that_are_needed(copy: Path) -> None:
    raw = library.Tokenizer(models.WordLevel({"</s>": 0, "a": 1}, unk_token="a"))
    raw.save(str(copy / "tokenizer.json"))
    (copy / "tokenizer_config.json").unlink()
    assert refused(copy).splitlines() == [
        "FOLDER: an answer cannot be begun, filled up or ended: 2 problems",
        "  - pad_token_id names no piece",
        "  - decoder_start_token_id names no piece",
    ]


def test_an_end_that_pads(copy: Path) -> None:
    change_config(copy, pad_token_id=END, decoder_start_token_id=END)
    change_config(copy, "tokenizer_config.json", pad_token="</s>")
    assert refused(copy) == (
        "FOLDER: an answer cannot be begun, filled up or ended: eos_token_id = 0 is also what pads or opens an "
        "answer, which ends none"
    )


def test_other_positions(copy: Path) -> None:
    def spoil(held: dict[str, torch.Tensor]) -> None:
        held["model.decoder.embed_positions.weight"] = positions().flip(0)

    assert refused(change_tensors(copy, spoil)) == (
        "FOLDER: model.decoder.embed_positions.weight are not sinusoids, but only sinusoids are supported"
    )


def test_tensors_are_named_as_theirs(copy: Path) -> None:
    def spoil(held: dict[str, torch.Tensor]) -> None:
        del held["model.decoder.layers.1.encoder_attn.v_proj.bias"]
        held["model.encoder.layers.0.fc1.weight"] = torch.ones(24, 52)
        held["model.encoder.layer_norm.weight"] = torch.ones(24)

    assert refused(change_tensors(copy, spoil)).splitlines()[1:] == [
        "  - missing model.decoder.layers.1.encoder_attn.v_proj.bias (24,)",
        "  - model.encoder.layers.0.fc1.weight is (24, 52), config.json asks for (52, 24)",
        "  - unexpected model.encoder.layer_norm.weight (24,)",
    ]

"""Encoder–decoders of ours in ``transformers``, with no code of ours: the same logits, answers and ids, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig

from regard.cli.main import main
from regard.core.config import parse
from regard.core.symbols import EOS, PAD, SOS
from regard.data import TOKENIZERS
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.decoding.options import Greedy
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from tests.interop import untrained
from tests.interop.huggingface import translators
from tests.interop.huggingface.strangers import TEXT, furthest
from tests.interop.huggingface.translators import our_logits, save, their_logits
from tests.interop.untrained import Exported, exported, refusal, there_and_back

LONGEST, LONG = 256, 120
BPE = {"kind": "bpe", "vocabulary": 290, "min_frequency": 1}
MODEL = {
    "kind": "transformer", "encoder_layers": 1, "decoder_layers": 2, "width": 24, "heads": 3,
    "feed_forward": {"width": 52}, "position": {"kind": "sinusoidal", "max_length": LONGEST},
}  # fmt: skip
PRE = {**MODEL, "norm": "pre"}
OURS: dict[str, dict[str, Any]] = {
    "post": MODEL,
    "post with a bias, gelu, odd width": {
        **MODEL, "width": 27, "output_bias": True, "feed_forward": {"width": 31, "activation": "gelu-tanh"},
    },
    "post with two embeddings": {**MODEL, "tied": "output", "key_width": 8},
    "post with nothing tied": {**MODEL, "tied": "none", "encoder_layers": 3},
    "pre": PRE,
    "pre with a bias, silu": {**PRE, "output_bias": True, "feed_forward": {"width": 52, "activation": "silu"}},
}  # fmt: skip
SPELLINGS = (TEXT, "", "  two  spaces\n\n", "Straße 🙂", "<pad> <sos> a <eos> b <unk>", "The House")


def made(folder: Path, model: dict[str, Any], tokenizer: dict[str, Any] = BPE, **more: Any) -> Run:
    """A run of ours with a random weight everywhere, as training would leave it."""
    recipe = parse(Recipe, {"tokenizer": tokenizer, "model": model, "decoding": {"kind": "greedy"}, **more})
    part: Any = parse(TOKENIZERS.resolve(tokenizer["kind"]), tokenizer)
    source = part.train([TEXT])
    vocabularies = Vocabularies(source, source if part.joint else part.train([TEXT.upper()]))
    return untrained.kept(folder, recipe, vocabularies, lambda model: untrained.nudge(model, 0.1))


@pytest.fixture(scope="module", params=OURS.values(), ids=OURS.keys())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("ours")
    return exported(made(folder, request.param), folder)


def opened(folder: Path) -> Any:
    theirs, report = AutoModelForSeq2SeqLM.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    return theirs.eval()


def asked(lengths: tuple[int, ...], targets: int = 11) -> translators.Asked:
    return translators.asked(290, lengths, targets, EOS, PAD)


def test_logits_are_the_same_there(pair: Exported) -> None:
    run, folder = pair
    theirs = opened(folder)
    for lengths, targets in (((1,), 1), ((9, 4, 1, 7), 13), ((31, 30), LONGEST), ((LONGEST, 5), 3)):
        one = asked(lengths, targets)
        assert furthest(our_logits(run, one), their_logits(theirs, one)) < 1e-4


def test_greedy_answers_are_the_same_there(pair: Exported) -> None:
    """From text to text by what the folder says: nothing is given but the length."""
    run, folder = pair
    texts = ["the small green house", "one quiet river", "", "a hill today"]
    tokenizer, theirs = AutoTokenizer.from_pretrained(folder), opened(folder)
    fed = tokenizer(texts, return_tensors="pt", padding=True)
    ids_BT = theirs.generate(**fed, max_new_tokens=LONG)
    assert ids_BT[:, 0].tolist() == [SOS] * 4
    found = run.engine.predict(run.vocabularies.source.encode_batch(texts), Greedy(max_length=LONG))
    for row, hypotheses in zip(ids_BT[:, 1:].tolist(), found, strict=True):
        assert row[: row.index(EOS) if EOS in row else LONG] == list(hypotheses[0].tokens)
    assert max(len(hypotheses[0].tokens) for hypotheses in found) > 50, "long answers were compared"
    answers = [run.vocabularies.target.decode(hypotheses[0].tokens) for hypotheses in found]
    assert tokenizer.batch_decode(ids_BT, skip_special_tokens=True) == answers


def test_the_way_there_and_back_changes_no_bit(pair: Exported, tmp_path: Path) -> None:
    run, folder = pair
    again = there_and_back(run, folder, tmp_path / "again")
    wanted, model = run.recipe.model.settled().model_dump(), again.recipe.model.model_dump()
    assert model | {"key_width": 0} == wanted | {"key_width": 0, "feed_forward": model["feed_forward"]}
    assert again.vocabularies.target.encode(TEXT) == run.vocabularies.target.encode(TEXT)
    texts = ["the small green house", ""]
    assert again.predict(texts, Greedy()) == run.predict(texts, Greedy())


def test_what_stands_in_the_files(pair: Exported) -> None:
    run, folder = pair
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    post = run.recipe.model.norm == "post"  # type: ignore[attr-defined]
    assert config["architectures"] == ["MarianMTModel" if post else "PegasusForConditionalGeneration"]
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_eos_token_id")
    assert [config[name] for name in names] == [PAD, SOS, EOS, SOS, None]
    assert (config["scale_embedding"], config["max_position_embeddings"]) == (True, LONGEST)
    generation = GenerationConfig.from_pretrained(folder)
    assert (generation.decoder_start_token_id, generation.eos_token_id, generation.pad_token_id) == (SOS, EOS, PAD)
    assert (generation.max_length, generation.forced_eos_token_id) == (LONGEST + 1, None)
    assert generation.suppress_tokens == [PAD, SOS], "our searches never choose them"


@pytest.mark.parametrize(
    "tokenizer",
    [BPE, {**BPE, "lower": True}, {"kind": "word", "min_frequency": 1}, {"kind": "character"}, {"kind": "byte"}],
    ids=["bpe", "lower bpe", "word", "character", "byte"],
)
def test_every_tokenizer_gives_what_our_encoder_reads(tokenizer: dict[str, Any], tmp_path: Path) -> None:
    run = made(tmp_path / "run", PRE if tokenizer["kind"] == "word" else MODEL, tokenizer)
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    theirs, source = AutoTokenizer.from_pretrained(tmp_path / "exported"), run.vocabularies.source
    read_BS, lengths_B = run.task.source_batch(source.encode_batch(SPELLINGS))
    fed = theirs(list(SPELLINGS), return_tensors="pt", padding=True)
    assert torch.equal(fed["input_ids"], read_BS)
    assert fed["attention_mask"].sum(1).tolist() == lengths_B.tolist()
    assert theirs.model_max_length == LONGEST
    assert source.raw.post_processor is None, "ours stays as it was"


def test_a_beam_goes_along(tmp_path: Path) -> None:
    found = {}
    for name, decoding in {
        "wide": {"kind": "beam", "size": 4, "stop": "full", "max_length": 30},
        "plain": {"kind": "beam", "size": 3, "length_penalty": 0.0},
    }.items():
        made(tmp_path / name, MODEL, decoding=decoding, task={"kind": "translation", "max_length": 99})
        export(tmp_path / name, "huggingface", tmp_path / f"{name}-exported")
        found[name] = GenerationConfig.from_pretrained(tmp_path / f"{name}-exported")
    wide, plain = found["wide"], found["plain"]
    assert (wide.num_beams, wide.early_stopping, wide.max_length, wide.do_sample) == (4, True, 31, False)
    assert (plain.num_beams, plain.early_stopping, plain.length_penalty, plain.max_length) == (3, "never", 0.0, 101)


@pytest.mark.parametrize("name", ["marian", "marian with nothing tied", "pegasus"])
def test_what_was_imported_is_exported_as_it_came(name: str, tmp_path: Path) -> None:
    theirs = translators.MODELS[name]()
    import_folder(save(theirs, tmp_path / "theirs"), tmp_path / "run")
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    again = opened(tmp_path / "exported")
    held = again.state_dict()
    for key, tensor in theirs.state_dict().items():
        assert torch.allclose(tensor, held[key], atol=1e-4 if "positions" in key else 0.0), key
    before, after = theirs.config.to_dict(), again.config.to_dict()
    different = {key: (before[key], after[key]) for key in before if before[key] != after.get(key)}
    assert different.keys() <= {"_name_or_path", "activation_function"}
    one, other = (AutoTokenizer.from_pretrained(tmp_path / folder) for folder in ("theirs", "exported"))
    assert one("a house </s> <pad>")["input_ids"] == other("a house </s> <pad>")["input_ids"]


# -- what cannot be exported ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cross": "own", "encoder_layers": 2}, "model.cross = 'own'; they have 'last' only"),
        ({"groups": 1}, "model.groups = 1; they have 3 only, with model.width = 24 and model.heads = 3"),
        ({"key_width": 7}, "model.key_width = 7; they have 8 only, with model.width = 24 and model.heads = 3"),
        ({"value_width": 5}, "model.value_width = 5; they have 8 only, with model.width = 24 and model.heads = 3"),
        ({"position": {"kind": "rotary"}}, "model.position.kind = 'rotary'; they have 'sinusoidal' only"),
        ({"position": {"join": "concatenate"}}, "model.position.join = 'concatenate'; they have 'add' only"),
        ({"feed_forward": {"kind": "gated"}}, "model.feed_forward.kind = 'gated'; they have 'plain' only"),
        ({"attention": {"score": "dot"}}, "model.attention.score = 'dot'; they have 'scaled-dot' only"),
        ({"norm": "pre", "tied": "output"}, "model.tied = 'output'; they know 'all'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_part_that_they_do_not_have(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    made(tmp_path / "run", {**MODEL, **changes})
    name = "PegasusForConditionalGeneration" if "norm" in changes else "MarianMTModel"
    assert refusal(tmp_path) == f"{tmp_path}/run cannot be written as {name}: {words}"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_two_tokenizers_are_named_with_all_the_rest(tmp_path: Path) -> None:
    made(tmp_path / "run", {**MODEL, "position": {"kind": "none"}}, {**BPE, "joint": False})
    assert refusal(tmp_path).splitlines() == [
        f"{tmp_path}/run cannot be written as MarianMTModel: 2 problems",
        "  - tokenizer.joint = false; they have one tokenizer for both sides only",
        "  - model.position.kind = 'none'; they have 'sinusoidal' only",
    ]


def test_the_command(pair: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, folder = str(pair[0].folder.path), str(tmp_path / "exported")
    with pytest.raises(SystemExit) as leaving:
        main(["export", run, "--to", "huggingface", "--out", folder])
    assert not leaving.value.code
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f'next: transformers.AutoModelForSeq2SeqLM.from_pretrained("{folder}")'

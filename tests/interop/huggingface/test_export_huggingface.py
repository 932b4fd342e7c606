"""Runs become folders that ``transformers`` reads with no code of ours: the same logits, the same ids, and back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from regard.cli.main import main
from regard.core.config import parse
from regard.core.errors import OptionError, RunError
from regard.data import TOKENIZERS
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from tests.interop import untrained
from tests.interop.huggingface.strangers import MODELS, TEXT, furthest, our_logits, save, their_logits
from tests.interop.untrained import Exported, exported, refusal, there_and_back

GPT = {"kind": "gpt", "layers": 3, "width": 40, "heads": 5, "position": {"kind": "learned", "max_length": 64}}
LLAMA = {"kind": "llama", "layers": 3, "width": 40, "heads": 5, "groups": 1, "feed_forward": {"width": 52}}
ROTARY = {"kind": "rotary", "base": 500.0}
EXPERTS = {
    "kind": "experts", "experts": 6, "active": 2, "width": 12, "shared": 1, "dense": 1, "dense_width": 52,
}  # fmt: skip
LATENT = {"kind": "latent", "rank": 14, "query_rank": 10, "key_width": 8, "rotary_width": 6, "value_width": 10}
DEEPSEEK = {"kind": "llama", "layers": 3, "width": 40, "heads": 5, "projection": LATENT}
OURS: dict[str, dict[str, Any]] = {
    "gpt": GPT,
    "gpt untied, relu, narrow": {
        **GPT, "tied": "none", "feed_forward": {"width": 52, "activation": "squared-relu"},
        "norm": {"kind": "layer", "epsilon": 1e-3},
    },
    "llama": {**LLAMA, "max_length": 64, "norm": {"kind": "rms", "epsilon": 1e-3}},
    "llama tied, all heads": {**LLAMA, "tied": "output", "groups": 0},
    "llama linear, wide heads": {
        **LLAMA, "key_width": 14, "position": {**ROTARY, "scaling": {"kind": "linear", "factor": 3.0}},
    },
    "llama llama3, gelu": {
        **LLAMA, "feed_forward": {"width": 52, "activation": "gelu-tanh"},
        "position": {**ROTARY, "scaling": {"kind": "llama3", "factor": 6.0, "low": 1.5, "high": 5.0, "trained": 16}},
    },
    "mistral": {**LLAMA, "attention": {"kind": "window", "size": 6}},
    "mixtral": {
        **LLAMA,
        "feed_forward": {"kind": "experts", "width": 12, "experts": 5, "active": 3, "balance": {"weight": 0.05}},
    },
    "qwen2": {**LLAMA, "projection": {"biases": "qkv"}, "groups": 5, "key_width": 8},
    "qwen3": {
        **LLAMA, "head_norm": {"kind": "rms"}, "key_width": 14,
        "attention": {"kind": "alternating", "pattern": ["full", "local", "local"], "local": {"size": 6}},
    },
    "deepseek-v3": {
        **DEEPSEEK,
        "feed_forward": {
            **EXPERTS, "scores": "sigmoid", "group_best": 2, "groups": 2, "balance": {"kind": "bias"}, "scale": 2.5,
        },
    },
    "deepseek-v2": {
        **DEEPSEEK, "feed_forward": {**EXPERTS, "normalised": False, "balance": {"kind": "loss", "weight": 0.02}},
    },
}  # fmt: skip
ARCHITECTURES = {
    "gpt": "GPT2", "llama": "Llama", "mistral": "Mistral", "mixtral": "Mixtral", "qwen2": "Qwen2", "qwen3": "Qwen3",
    "deepseek-v3": "DeepseekV3", "deepseek-v2": "DeepseekV2",
}  # fmt: skip
"""What transformers calls them, by the first word of a name above."""
SPELLINGS = (TEXT, "", "  two  spaces\n\n", "Straße 🙂", "<pad> <sos> a <eos> b <unk>", "The House")


def made(folder: Path, model: dict[str, Any], tokenizer: dict[str, Any] | None = None, **more: Any) -> Run:
    """A run of ours with a random weight everywhere, as training would leave it."""
    chosen = {"kind": "bpe", "vocabulary": 290, "min_frequency": 1} if tokenizer is None else tokenizer
    tree = {
        "data": {"kind": "text"}, "tokenizer": chosen, "model": model, "decoding": {"kind": "greedy"},
        "task": {"kind": "language-model", "max_length": 48}, **more,
    }  # fmt: skip
    recipe = parse(Recipe, tree)
    raw: Any = parse(TOKENIZERS.resolve(chosen["kind"]), chosen)
    one = raw.train([TEXT])
    return untrained.kept(folder, recipe, Vocabularies(one, one), lambda model: untrained.nudge(model, 0.1))


@pytest.fixture(scope="module", params=OURS.values(), ids=OURS.keys())
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("ours")
    return exported(made(folder, request.param), folder)


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (3, 48)], ids=str)
def test_logits_are_the_same_there(pair: Exported, shape: tuple[int, int]) -> None:
    run, folder = pair
    theirs, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    tokens_BT = torch.randint(0, 290, shape, generator=torch.Generator().manual_seed(3))
    assert furthest(our_logits(run, tokens_BT), their_logits(theirs.eval(), tokens_BT)) < 1e-4


def test_the_way_there_and_back_changes_no_bit(pair: Exported, tmp_path: Path) -> None:
    run, folder = pair
    again = there_and_back(run, folder, tmp_path / "again")
    model = run.recipe.model.settled().model_dump()
    if model.get("max_length") == 0:
        model["max_length"] = 48  # as long as the texts that it was made for
    if model["kind"] == "llama":
        model["dropout"] = again.recipe.model.dropout  # type: ignore[attr-defined]
    assert again.recipe.model.model_dump() == model
    assert again.vocabularies.target.encode(TEXT) == run.vocabularies.target.encode(TEXT)


def test_the_special_symbols_are_known_there(pair: Exported) -> None:
    config = json.loads((pair[1] / "config.json").read_text(encoding="utf-8"))
    assert [config[f"{name}_token_id"] for name in ("pad", "bos", "eos")] == [0, 1, 2]
    generation = GenerationConfig.from_pretrained(pair[1])
    assert (generation.pad_token_id, generation.bos_token_id, generation.eos_token_id) == (0, 1, 2)
    tokenizer = AutoTokenizer.from_pretrained(pair[1])
    assert (tokenizer.pad_token, tokenizer.bos_token, tokenizer.eos_token) == ("<pad>", "<sos>", "<eos>")
    assert (tokenizer.unk_token, tokenizer.unk_token_id) == ("<unk>", 3)
    assert tokenizer.model_max_length == (pair[0].model.max_length or 48)


@pytest.mark.parametrize(
    "tokenizer",
    [
        {"kind": "bpe", "vocabulary": 290, "min_frequency": 1},
        {"kind": "bpe", "vocabulary": 290, "min_frequency": 1, "lower": True},
        {"kind": "word", "min_frequency": 1},
        {"kind": "character"},
        {"kind": "byte"},
    ],
    ids=["bpe", "lower bpe", "word", "character", "byte"],
)
@pytest.mark.parametrize("model", [GPT, LLAMA], ids=["gpt", "llama"])
def test_every_tokenizer_gives_its_ids_there(tokenizer: dict[str, Any], model: dict[str, Any], tmp_path: Path) -> None:
    run = made(tmp_path / "run", model, tokenizer)
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    ours, theirs = run.vocabularies.target, AutoTokenizer.from_pretrained(tmp_path / "exported")
    assert len(theirs) == ours.size
    for text in SPELLINGS:
        assert theirs(text)["input_ids"] == ours.encode(text)
    ids = ours.encode(TEXT)
    assert theirs.decode([*ids, 2], skip_special_tokens=True) == ours.decode(ids)


def test_what_was_imported_is_exported_as_it_came(tmp_path: Path) -> None:
    theirs = MODELS["llama llama3, two groups"]()
    import_folder(save(theirs, tmp_path / "theirs"), tmp_path / "run")
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    held = again.state_dict()
    assert all(torch.equal(tensor, held[name]) for name, tensor in theirs.state_dict().items())
    before, after = theirs.config.to_dict(), again.config.to_dict()
    assert {**after, "_name_or_path": ""} == before
    one, other = (AutoTokenizer.from_pretrained(tmp_path / name) for name in ("theirs", "exported"))
    for text in ("a house", "one <|endoftext|> two"):
        assert one(text)["input_ids"] == other(text)["input_ids"]


def test_sampling_settings_go_along(tmp_path: Path) -> None:
    decoding = {"kind": "sampling", "temperature": 0.7, "top_k": 9, "top_p": 0.8}
    made(tmp_path / "run", GPT, decoding=decoding)
    export(tmp_path / "run", "huggingface", tmp_path / "exported")
    found = GenerationConfig.from_pretrained(tmp_path / "exported")
    assert (found.do_sample, found.temperature, found.top_k, found.top_p) == (True, 0.7, 9, 0.8)


# -- what cannot be exported ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({**GPT, "position": {"kind": "rotary"}}, "model.position.kind = 'rotary'; they have 'learned' only"),
        (
            {**GPT, "position": {"kind": "learned", "join": "concatenate"}},
            "model.position.join = 'concatenate'; they have 'add' only",
        ),
        ({**GPT, "norm": {"kind": "rms"}}, "model.norm.kind = 'rms'; they have 'layer' only"),
        ({**GPT, "feed_forward": {"kind": "gated"}}, "model.feed_forward.kind = 'gated'; they have 'plain' only"),
        ({**GPT, "attention": {"score": "dot"}}, "model.attention.score = 'dot'; they have 'scaled-dot' only"),
        ({**GPT, "attention": {"temperature": 2.0}}, "model.attention.temperature = 2.0; they have 1.0 only"),
        ({**LLAMA, "norm": {"kind": "layer"}}, "model.norm.kind = 'layer'; they have 'rms' only"),
        ({**LLAMA, "feed_forward": {"kind": "plain"}}, "model.feed_forward.kind = 'plain'; they have 'gated' only"),
        ({**LLAMA, "position": {"kind": "learned"}}, "model.position.kind = 'learned'; they have 'rotary' only"),
        (
            {**LLAMA, "heads": 3, "key_width": 8},
            "model.width = 40 is not divisible by model.heads = 3, as they demand even where model.key_width is given",
        ),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else value["kind"],
)
def test_a_part_that_they_do_not_have(model: dict[str, Any], words: str, tmp_path: Path) -> None:
    made(tmp_path / "run", model)
    name = "GPT2LMHeadModel" if model["kind"] == "gpt" else "LlamaForCausalLM"
    assert refusal(tmp_path) == f"{tmp_path}/run cannot be written as {name}: {words}"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_all_parts_are_named_at_once(tmp_path: Path) -> None:
    made(tmp_path / "run", {**GPT, "position": {"kind": "none"}, "norm": {"kind": "rms"}})
    assert refusal(tmp_path).splitlines() == [
        f"{tmp_path}/run cannot be written as GPT2LMHeadModel: 2 problems",
        "  - model.position.kind = 'none'; they have 'learned' only",
        "  - model.norm.kind = 'rms'; they have 'layer' only",
    ]


def test_another_family(tmp_path: Path) -> None:
    made(tmp_path / "run", {"kind": "recurrent"})
    assert refusal(tmp_path) == (
        f"{tmp_path}/run: model.kind = 'recurrent' cannot be written for Hugging Face; "
        "supported: 'gpt', 'llama', 'transformer', 'bert'"
    )


def test_an_unknown_target_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        export(tmp_path / "run", "huggingfaces", tmp_path / "exported")
    assert str(caught.value) == (
        "--to huggingfaces is not known (did you mean 'huggingface'?); known: huggingface, onnx, ctranslate2"
    )


def test_a_folder_that_holds_something_is_left_alone(pair: Exported) -> None:
    run, folder = pair
    before = (folder / "config.json").read_bytes()
    with pytest.raises(RunError, match=r"exported is not empty \(config.json, .*…\); choose another --out"):
        export(run.folder.path, "huggingface", folder)
    assert (folder / "config.json").read_bytes() == before


def test_the_command(
    pair: Exported, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = str(pair[0].folder.path), str(tmp_path / "exported")
    for words in (["--json"], []):
        with pytest.raises(SystemExit) as leaving:
            main(["export", run, "--to", "huggingface", "--out", folder + "".join(words), *words])
        assert not leaving.value.code
    as_json, first, second = capsys.readouterr().out.splitlines()
    count = sum(weight.numel() for weight in pair[0].model.parameters())
    family = ARCHITECTURES[re.split("[ ,]", request.node.callspec.id)[0]]
    name = f"{family}{'LMHeadModel' if family == 'GPT2' else 'ForCausalLM'}"
    assert json.loads(as_json) == {
        "folder": f"{folder}--json", "target": "huggingface", "architecture": name, "loader": "AutoModelForCausalLM",
        "parameters": count,
    }  # fmt: skip
    assert first == f"{folder}: {name}, {count:,} parameters"
    assert second == f'next: transformers.AutoModelForCausalLM.from_pretrained("{folder}")'

"""What cannot be imported is refused by name, all of it at once, and nothing is left behind."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers as library
import torch
from tokenizers import models

from regard.cli.main import main
from regard.core.errors import OptionError, RecipeError, RegardError, RunError
from regard.interop.huggingface.importing import import_folder
from tests.interop.huggingface.strangers import END, PIECES, change_tensors, gpt2, llama, pieces, save


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("originals")
    return {
        "gpt2": save(gpt2(), root / "gpt2"),
        "llama": save(llama(), root / "llama"),
        "shards": save(gpt2(), root / "shards", max_shard_size="20KB"),
    }


@pytest.fixture
def copy(originals: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        return Path(shutil.copytree(originals[name], tmp_path / name))

    return made


def refused(folder: Path, kind: type[RegardError] = RunError, **options: Any) -> str:
    """The message, with the folder as FOLDER; no run was made, nor anything beside it."""
    out = folder.parent / "run"
    with pytest.raises(kind) as caught:
        import_folder(folder, out, **options)
    assert sorted(path.name for path in folder.parent.iterdir()) in ([folder.name], [])
    return str(caught.value).replace(str(folder), "FOLDER")


def change_config(folder: Path, **changes: Any) -> Path:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **changes}), encoding="utf-8")
    return folder


Copy = Callable[[str], Path]


# -- folders ----------------------------------------------------------------------------------------------------


def test_a_name_that_is_no_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "gpt2") == (
        "there is no folder FOLDER; download a model first, as with: hf download FOLDER --local-dir FOLDER"
    )


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    assert refused(tmp_path / "photos") == (
        "FOLDER has no config.json; name the folder that save_pretrained wrote, or hf download"
    )


def test_a_config_that_is_no_table(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "config.json").write_text("[1", encoding="utf-8")
    assert refused(folder).startswith("FOLDER/config.json is not valid JSON: ")
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    assert refused(folder) == "FOLDER/config.json is not a table of settings"


def test_an_out_that_is_taken(copy: Copy, tmp_path: Path) -> None:
    folder, taken = copy("gpt2"), tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(RunError, match=r"taken is not empty \(thesis.tex…\); choose another --out"):
        import_folder(folder, taken)
    with pytest.raises(RunError, match=r"thesis.tex is a file; name a folder with --out"):
        import_folder(folder, taken / "thesis.tex")
    assert [path.name for path in taken.iterdir()] == ["thesis.tex"]


def test_the_command_says_it_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["import", "--convert"], ["export", "--to", "pytorch"]):
        with pytest.raises(SystemExit) as leaving:
            main([*words, str(tmp_path / "none"), "--out", str(tmp_path / "out")])
        assert leaving.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"error: there is no folder {tmp_path}/none; download a model first, as with: "
        f"hf download {tmp_path}/none --local-dir FOLDER",
        "error: --to pytorch is not known; known: huggingface, onnx, ctranslate2",
    ]


# -- settings ---------------------------------------------------------------------------------------------------

KNOWN = (
    "known: GPT2LMHeadModel (model_type 'gpt2'), DeepseekV3ForCausalLM (model_type 'deepseek_v3'), "
    "DeepseekV2ForCausalLM (model_type 'deepseek_v2'), MixtralForCausalLM (model_type 'mixtral'), "
    "Qwen3ForCausalLM (model_type 'qwen3'), Qwen2ForCausalLM (model_type 'qwen2'), "
    "MistralForCausalLM (model_type 'mistral'), LlamaForCausalLM (model_type 'llama'), "
    "MarianMTModel (model_type 'marian'), PegasusForConditionalGeneration (model_type 'pegasus'), "
    "BertForMaskedLM, BertModel, BertForPreTraining, BertForSequenceClassification, BertForTokenClassification, "
    "BertForQuestionAnswering (model_type 'bert'), "
    "RobertaForMaskedLM, RobertaModel, RobertaForSequenceClassification, RobertaForTokenClassification "
    "(model_type 'roberta'), "
    "DistilBertForMaskedLM, DistilBertModel, DistilBertForSequenceClassification, DistilBertForTokenClassification, "
    "DistilBertForQuestionAnswering (model_type 'distilbert'), ViTForImageClassification, ViTModel (model_type 'vit'), "
    "DeiTForImageClassificationWithTeacher, DeiTModel, DeiTForImageClassification (model_type 'deit'). "
    "If it is one of these under no name or another, say which: regard import … --as bert"
)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"architectures": ["T5Model"], "model_type": "t5"}, "architectures = ['T5Model'], model_type = 't5'"),
        ({"architectures": None, "model_type": "t5"}, "architectures = [], model_type = 't5'"),
        ({"architectures": ["GPT2ForTokenClassification"]}, "['GPT2ForTokenClassification'], model_type = 'gpt2'"),
        ({"model_type": "mistral"}, "architectures = ['GPT2LMHeadModel'], model_type = 'mistral'"),
    ],
    ids=["both", "type", "another head", "disagreement"],
)
def test_an_unknown_architecture_lists_the_known(copy: Copy, changes: dict[str, Any], found: str) -> None:
    said = refused(change_config(copy("gpt2"), **changes))
    assert said.endswith(f"{found} is not supported; {KNOWN}")


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "= True, but only False is supported"),
        ("gpt2", {"reorder_and_upcast_attn": True}, "= True, but only False is supported"),
        ("gpt2", {"scale_attn_weights": False}, "= False, but only True is supported"),
        ("gpt2", {"add_cross_attention": True}, "= True, but only False is supported"),
        ("gpt2", {"activation_function": "quick_gelu"}, "= 'quick_gelu'; known: 'gelu_new', 'gelu_pytorch_tanh'"),
        ("llama", {"attention_bias": True}, "= True, but only False is supported"),
        ("llama", {"mlp_bias": True}, "= True, but only False is supported"),
        ("llama", {"hidden_act": "mish"}, "= 'mish'; known: "),
        ("llama", {"sliding_window": 128}, "= 128 is not known here; if it changes nothing, say so: --ignore sliding"),
        ("llama", {"quantization_config": {"bits": 4}}, "= {'bits': 4} is not known here"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_that_is_not_computed(copy: Copy, name: str, changes: dict[str, Any], words: str) -> None:
    said = refused(change_config(copy(name), **changes))
    assert said.startswith(f"FOLDER/config.json cannot be followed: {next(iter(changes))} {words}")


@pytest.mark.parametrize(
    ("rope", "words"),
    [
        ({"rope_type": "dynamic"}, "rope_type = 'dynamic'; known: 'default', 'linear', 'llama3', 'yarn'"),
        ({"rope_type": "yarn", "factor": 4.0, "truncate": False}, "truncate = False, but only True is supported"),
        ({"rope_type": "linear"}, "factor is missing, but 'linear' needs it"),
        ({"rope_type": "linear", "factor": 2.0, "beta": 3.0}, "beta = 3.0 is not known with 'linear'"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 is not known with 'default'"),
    ],
    ids=["type", "truncate", "missing", "unknown", "partial"],
)
@pytest.mark.parametrize("place", ["rope_parameters", "rope_scaling"])
def test_a_rope_that_is_not_computed(copy: Copy, rope: dict[str, Any], words: str, place: str) -> None:
    folder = change_config(copy("llama"), **{"rope_parameters": None, place: rope})
    assert refused(folder) == f"FOLDER/config.json cannot be followed: {place}.{words}"


def test_all_settings_are_named_at_once(copy: Copy) -> None:
    rope = {"rope_type": "dynamic"}
    folder = change_config(copy("llama"), attention_bias=True, hidden_act="mish", rope_parameters=rope, novel="yes")
    first, *rest = refused(folder).splitlines()
    assert first == "FOLDER/config.json cannot be followed: 4 problems"
    assert [line.split()[1] for line in rest] == ["attention_bias", "novel", "hidden_act", "rope_parameters.rope_type"]


def test_a_size_that_is_no_number(copy: Copy) -> None:
    said = refused(change_config(copy("gpt2"), n_layer="three"), RecipeError)
    assert said.startswith("FOLDER/config.json, as a recipe: model.layers: Input should be a valid integer")


# -- tensors ----------------------------------------------------------------------------------------------------


def test_every_missing_unexpected_and_ill_shaped_tensor_is_named(copy: Copy) -> None:
    def spoil(held: dict[str, torch.Tensor]) -> None:
        del held["transformer.ln_f.bias"], held["transformer.h.1.mlp.c_fc.weight"]
        held["transformer.h.3.ln_1.weight"] = torch.ones(40)
        held["transformer.h.0.attn.c_attn.weight"] = torch.ones(120, 40)  # as ours is
        held["transformer.wpe.weight"] = torch.ones(256, 40, dtype=torch.int8)

    assert refused(change_tensors(copy("gpt2"), spoil)) == (
        "the tensors in FOLDER are not those of its config.json: 5 problems\n"
        "  - missing transformer.h.1.mlp.c_fc.weight (40, 160)\n"
        "  - missing transformer.ln_f.bias (40,)\n"
        "  - transformer.h.0.attn.c_attn.weight is (120, 40), config.json asks for (40, 120)\n"
        "  - transformer.wpe.weight is made of I8; quantised weights are not read\n"
        "  - unexpected transformer.h.3.ln_1.weight (40,)"
    )


def test_parts_of_a_stack_are_named_one_by_one(copy: Copy) -> None:
    def spoil(held: dict[str, torch.Tensor]) -> None:
        del held["model.layers.0.self_attn.k_proj.weight"]
        held["model.layers.2.mlp.up_proj.weight"] = torch.ones(51, 40)

    assert refused(change_tensors(copy("llama"), spoil)).splitlines()[1:] == [
        "  - missing model.layers.0.self_attn.k_proj.weight (8, 40)",
        "  - model.layers.2.mlp.up_proj.weight is (51, 40), config.json asks for (52, 40)",
    ]


def test_an_untied_head_must_be_there(copy: Copy) -> None:
    said = refused(change_config(copy("gpt2"), tie_word_embeddings=False))
    assert said.endswith(f"config.json: missing lm_head.weight ({PIECES}, 40)")


def test_a_tied_head_must_be_the_embedding(copy: Copy) -> None:
    def spoil(held: dict[str, torch.Tensor]) -> None:
        held["lm_head.weight"] = held["transformer.wte.weight"] + 1

    assert refused(change_tensors(copy("gpt2"), spoil)).endswith(
        "lm_head.weight is not transformer.wte.weight, although config.json says tie_word_embeddings = true"
    )


# -- files ------------------------------------------------------------------------------------------------------


def test_missing_and_truncated_shards_are_named(copy: Copy) -> None:
    folder = copy("shards")
    shards = sorted(folder.glob("*.safetensors"))
    shards[1].unlink()
    shards[3].write_bytes(shards[3].read_bytes()[:-5])
    shards[4].write_bytes(b"")
    first, *rest = refused(folder).splitlines()
    assert first == "FOLDER is not whole (download it again): 3 problems"
    assert rest[0] == f"  - {shards[1].name} is missing"
    assert rest[1].startswith(f"  - {shards[3].name} cannot be read: ")
    assert rest[2].startswith(f"  - {shards[4].name} cannot be read: ")


def test_an_index_that_is_wrong(copy: Copy) -> None:
    folder = copy("shards")
    index = folder / "model.safetensors.index.json"
    held = json.loads(index.read_text(encoding="utf-8"))
    place = held["weight_map"]["transformer.wpe.weight"]
    held["weight_map"]["transformer.more"] = place
    index.write_text(json.dumps(held), encoding="utf-8")
    assert refused(folder) == (
        f"FOLDER is not whole: {place} has no transformer.more, which model.safetensors.index.json places there"
    )
    index.write_text("{}", encoding="utf-8")
    assert refused(folder).startswith("FOLDER/model.safetensors.index.json has no weight_map from tensors to files")


def test_a_folder_without_weights(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "model.safetensors").unlink()
    assert refused(folder) == "FOLDER holds no weights: expected model.safetensors or model.safetensors.index.json"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_pickles_are_refused_with_the_way_to_convert_them(copy: Copy, name: str) -> None:
    folder = copy("gpt2")
    (folder / "model.safetensors").rename(folder / name)
    assert refused(folder) == (
        f"FOLDER holds its weights as a pickle ({name}), which can run anything when it is opened; to take out "
        "nothing but the tensors: regard import FOLDER --out RUN --convert"
    )


def test_there_is_nothing_to_convert_in_plain_tensors(copy: Copy) -> None:
    told = refused(copy("gpt2"), OptionError, convert=True)
    assert told == "FOLDER holds model.safetensors, which can be read directly; leave out --convert"


class Poison:
    """What a pickle can do: it calls anything."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("the pickle was run",)


def test_a_pickle_that_holds_more_than_tensors_is_not_run(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "model.safetensors").unlink()
    torch.save({"transformer.wte.weight": Poison()}, folder / "pytorch_model.bin")
    assert "pytorch_model.bin cannot be read: " in refused(folder, convert=True)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Poison(), protocol=2))
    assert "pytorch_model.bin cannot be read: " in refused(folder, convert=True)
    torch.save([torch.ones(2)], folder / "pytorch_model.bin")
    assert "it holds something other than named tensors" in refused(folder, convert=True)


# -- tokenizers -------------------------------------------------------------------------------------------------


def test_a_folder_without_a_tokenizer(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "tokenizer.json").unlink()
    assert refused(folder) == (
        "FOLDER holds no tokenizer in a form that is known (tokenizer.json; or vocab.json with merges.txt; or "
        "vocab.txt; or source.spm, target.spm and vocab.json; or tokenizer.model); there are config.json, "
        "generation_config.json, model.safetensors, tokenizer_config.json. To make one of what is there: "
        "transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
    )


def test_files_that_are_no_tokenizer(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert refused(folder).startswith("FOLDER/tokenizer.json is not a tokenizer file of the tokenizers library: ")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text("{}", encoding="utf-8")
    (folder / "merges.txt").write_text("a b\n", encoding="utf-8")
    assert refused(folder).startswith("FOLDER/vocab.json and merges.txt are not the pieces of a byte-level BPE: ")


def test_a_tokenizer_that_is_larger_than_the_embedding(copy: Copy) -> None:
    folder, raw = copy("gpt2"), pieces()
    raw.add_tokens(["one", "two more"])
    raw.save(str(folder / "tokenizer.json"))
    assert refused(folder) == (
        "FOLDER: the tokenizer has 292 pieces, but vocab_size in config.json is 290; "
        "this is not the tokenizer that the model was trained with"
    )


def test_ids_with_gaps(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "tokenizer_config.json").unlink()
    raw = library.Tokenizer(models.WordLevel({"a": 0, "b": 2}, unk_token="a"))
    raw.save(str(folder / "tokenizer.json"))
    assert refused(folder) == "FOLDER: the tokenizer has 2 pieces, but ids up to 2; ids with gaps are not read"


def test_added_pieces_whose_ids_would_move(copy: Copy) -> None:
    folder = copy("gpt2")
    held = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    del held["model"]["vocab"]["".join(held["model"]["merges"].pop())]
    (folder / "tokenizer.json").write_text(json.dumps(held), encoding="utf-8")
    assert refused(folder) == (
        f"FOLDER: the tokenizer's files do not fit together: {END!r} has the id 289 in the folder's files, "
        "and 288 when they are read"
    )


def test_added_pieces_whose_ids_disagree(copy: Copy) -> None:
    folder = copy("gpt2")
    (folder / "added_tokens.json").write_text(json.dumps({END: 5, "more": 999}), encoding="utf-8")
    assert refused(folder).splitlines() == [
        "FOLDER: the tokenizer's files do not fit together: 2 problems",
        f"  - {END!r} has the id 5 in the folder's files, and 289 when they are read",
        "  - 'more' has the id 999 in the folder's files, and 290 when they are read",
    ]

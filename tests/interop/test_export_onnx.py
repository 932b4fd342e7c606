"""Exports to ONNX: any batch and length in onnxruntime gives our logits, and a loop of numpy writes our answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

import regard
from regard.cli.main import main
from regard.core.config import parse
from regard.core.errors import OptionError, RunError
from regard.core.ports import text_ports
from regard.decoding.options import Greedy
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.onnx import export as onnx_export
from regard.interop.onnx import running as onnx_running
from regard.interop.onnx.graphs import Graph, Values
from regard.runs.recipe import Recipe

TRAINING = {"steps": 1, "batch_tokens": 64, "validate_every": 1}
TOY = {"kind": "toy", "train_size": 30, "validation_size": 5, "test_size": 5}
WORDS = {"kind": "word", "min_frequency": 1}
WRITER = {"kind": "language-model", "max_length": 32, "sample": 0}
TREES: dict[str, dict[str, Any]] = {
    "gpt": {"model": {"kind": "gpt", "layers": 2, "width": 10, "heads": 2}, "task": WRITER},
    "llama": {"model": {"kind": "llama", "layers": 1, "width": 16, "heads": 4, "groups": 2,
                        "feed_forward": {"width": 9}}, "task": WRITER},
    "transformer": {"data": TOY, "tokenizer": {**WORDS, "joint": False},
                    "model": {"width": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "value_width": 5,
                              "tied": "none", "feed_forward": {"width": 9}}},
    "bahdanau": {"data": TOY, "tokenizer": WORDS,
                 "model": {"kind": "bahdanau", "width": 7, "embedding": {"width": 5}}},
    "monotonic": {"data": TOY, "tokenizer": WORDS,
                  "model": {"kind": "luong", "width": 7, "attention": {"reach": {"kind": "monotonic"}}}},
    "outside": {"data": TOY, "tokenizer": WORDS, "model": {"kind": "tests.laws.families:GruConfig"}},
}  # fmt: skip
EXPORTED = ["gpt", "llama", "transformer", "bahdanau"]
TRANSLATORS = ["transformer", "bahdanau"]
TEXTS = ["a b c d e f g", "h", "c a b"]
EMBEDDED = ("fixed-context", "bahdanau", "luong", "convolution", "recurrent")
New = Callable[[str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> New:
    """A run of the given kind, with weights so large that its answers are lively."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text("the cat sat on the mat and looked at the dog. " * 30, encoding="utf-8")
    text = {"data": {"kind": "text", "train": str(folder / "text.txt")}, "tokenizer": {"kind": "character"}}

    def make(name: str) -> Path:
        if not (folder / name).exists():
            regard.train({**text, **TREES[name], "training": TRAINING}, folder / name)
            weights, generator = load_file(folder / name / "model.safetensors"), torch.Generator().manual_seed(3)
            for tensor in weights.values():
                tensor += 0.3 * torch.randn(tensor.shape, generator=generator) * (tensor.dim() > 1)
            save_file(weights, folder / name / "model.safetensors")
            (folder / name / "summary.json").unlink()  # it has the hash of the weights that were there before
        return folder / name

    return make


@pytest.fixture(scope="module")
def exported(made: New, tmp_path_factory: pytest.TempPathFactory) -> New:
    """The export of a run of the given kind, which takes seconds, once."""
    folder = tmp_path_factory.mktemp("exported")

    def make(name: str) -> Path:
        if not (folder / name).exists():
            export(made(name), "onnx", folder / name)
        return folder / name

    return make


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize("rows, length, sources", [(1, 1, 1), (2, 2, 9), (7, 5, 4), (3, 150, 140)])
def test_any_shape_gives_our_logits(
    made: New, exported: New, name: str, rows: int, length: int, sources: int
) -> None:
    """Also where ours takes the fused kernel, with one position only, and with padding."""
    run = regard.load(made(name))
    vocabularies, generator = run.vocabularies, torch.Generator().manual_seed(rows)
    model: Any = run.model
    tokens_BT = torch.randint(0, vocabularies.target.size, (rows, length), generator=generator)
    source = None
    if name in TRANSLATORS:
        lengths_B = torch.tensor([max(sources - 2 * row, 1) for row in range(rows)])
        source = torch.randint(0, vocabularies.source.size, (rows, sources), generator=generator), lengths_B
    with torch.inference_mode():
        ours_BTW = model.head(model(tokens_BT) if source is None else model(*source, tokens_BT))
    theirs_BTW = onnx_running.logits(exported(name), tokens_BT, source)
    assert theirs_BTW.shape == ours_BTW.shape
    assert float((theirs_BTW - ours_BTW).abs().max()) < 1e-4
    assert float(ours_BTW.std()) > 0.1, "the model says something"


MODULES: dict[str, dict[str, Any]] = {
    "fixed": {"kind": "fixed-context", "width": 6, "cell": {"kind": "rnn"}, "encoder_layers": 2, "decoder_layers": 2},
    "start": {"kind": "fixed-context", "width": 6, "context": "start", "bidirectional": False},
    "bahdanau": {"kind": "bahdanau", "width": 6, "cell": {"kind": "lstm"}, "encoder_layers": 2},
    "luong": {"kind": "luong", "width": 6, "layers": 2, "bidirectional": True,
              "attention": {"reach": {"kind": "predictive", "window": 2}}},
    "unfed": {"kind": "luong", "width": 6, "feeding": "none", "attention": {"kind": "dot"}},
    "convolution": {"kind": "convolution", "width": 6, "encoder_layers": 2, "decoder_layers": 2},
    "transformer": {"kind": "transformer", "width": 12, "heads": 4, "groups": 2, "encoder_layers": 2,
                    "decoder_layers": 2, "cross": "own", "norm": "pre", "position": {"kind": "relative-bias"}},
    "recurrent": {"kind": "recurrent", "width": 6},
    "gpt": {"kind": "gpt", "layers": 2, "width": 12, "heads": 3, "position": {"kind": "none"}},
    "llama": {"kind": "llama", "layers": 2, "width": 12, "heads": 2, "groups": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_what_is_traced_gives_our_logits(name: str) -> None:
    """Every family, before the exporter has it: sources with padding, and stretches of tokens that know their past."""
    tree = {"embedding": {"width": 5}, **MODULES[name]} if MODULES[name]["kind"] in EMBEDDED else MODULES[name]
    torch.manual_seed(5)
    model: Any = parse(Recipe, {"data": TOY, "model": tree}).model.build(text_ports(11, 13)).eval()  # type: ignore[attr-defined]
    graphs = {graph.file: graph for graph in onnx_export.GRAPHS[tree["kind"]](model, 13)}
    *encoder, decoder = graphs.values()
    tokens_BT, source_BS = torch.randint(0, 13, (3, 4)), torch.randint(0, 11, (3, 7))
    lengths_B = torch.tensor([7, 1, 4])
    free = {"batch": 3, "past": 0}
    held = {name: torch.zeros([free.get(axis, axis) for axis in values.shape])  # type: ignore[call-overload, misc]
            for name, values in decoder.inputs.items() if name.startswith("past_")}  # fmt: skip
    with torch.no_grad():
        ours_BTW = model.head(model(source_BS, lengths_B, tokens_BT) if encoder else model(tokens_BT))
        if encoder:
            held |= dict(zip(encoder[0].outputs, encoder[0].module(source_BS, lengths_B), strict=True))
            held["source_lengths"] = lengths_B
        only = decoder.inputs["tokens"].shape[1]
        stretches = tokens_BT.split(1 if only == 1 else 3 if "past_keys" in held else 4, dim=1)
        found = []
        for stretch in stretches:
            given = decoder.module(stretch, *(held[name] for name in list(decoder.inputs)[1:]))
            said = dict(zip(decoder.outputs, given if isinstance(given, tuple) else (given,), strict=True))
            held |= {f"past_{name}": tensor for name, tensor in said.items()}
            found.append(said["logits"])
    assert torch.allclose(torch.cat(found, dim=1), ours_BTW, atol=1e-5)


def opened(folder: Path, file: str) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    session = onnxruntime.InferenceSession(folder / file)
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs)))


def greedy(folder: Path, file: str, opening: list[int], read: dict[str, np.ndarray], limit: int) -> list[int]:
    """Decoding by what regard.json says, with nothing of ours."""
    about = json.loads((folder / "regard.json").read_text(encoding="utf-8"))
    step, inputs = opened(folder, file), about["graphs"][file]["inputs"]
    free = {"batch": 1, "past": 0}
    held = {name: np.zeros([free.get(axis, axis) for axis in inputs[name]["shape"]], np.float32)
            for name in inputs if name.startswith("past_")} | read  # fmt: skip
    tokens, answer = list(opening), list[int]()
    while len(answer) < limit:
        found = step({"tokens": np.array([tokens]), **held})
        held |= {f"past_{name}": found[name] for name in found if f"past_{name}" in held}
        scores_W = found["logits"][0, -1]
        scores_W[about["never"]] = -np.inf
        token = int(scores_W.argmax())
        if token == about["end"]:
            break
        answer.append(token)
        tokens = [token]
    return answer


@pytest.mark.parametrize("name", TRANSLATORS)
def test_numpy_translates_as_we_do(made: New, exported: New, name: str) -> None:
    folder = exported(name)
    about = json.loads((folder / "regard.json").read_text(encoding="utf-8"))
    source, target = (Tokenizer.from_file(str(folder / about["tokenizers"][side])) for side in ("source", "target"))
    ours = regard.load(made(name)).predict(TEXTS, Greedy(max_length=12))
    encode, answers = opened(folder, "encoder.onnx"), []
    for text in TEXTS:
        ids = source.encode(text).ids
        lengths = {"source_lengths": np.array([len(ids)])}
        memory = encode({"source": np.array([ids]), **lengths})
        answers.append(target.decode(greedy(folder, "decoder.onnx", [about["start"]], {**memory, **lengths}, 12)))
    assert answers == ours
    assert len(set(ours)) > 1
    assert any(len(set(answer.split())) > 1 for answer in ours), "a model that repeats itself would prove little"


@pytest.mark.parametrize("name", ["gpt", "llama"])
def test_numpy_writes_on_as_we_do(made: New, exported: New, name: str) -> None:
    folder = exported(name)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for prompt in ("the cat", "d"):
        ours = regard.load(made(name)).continuation.predict([prompt], Greedy(max_length=20))[0][0].text
        written = greedy(folder, "model.onnx", tokenizer.encode(prompt).ids, {}, 20)
        assert tokenizer.decode(written) == ours
        assert len(set(ours)) > 2


def test_what_the_folder_says(made: New, exported: New) -> None:
    folder = exported("transformer")
    files = ["decoder.onnx", "encoder.onnx", "regard.json", "source.tokenizer.json", "target.tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == files
    about = json.loads((folder / "regard.json").read_text(encoding="utf-8"))
    assert (about["start"], about["end"], about["never"]) == (1, 2, [0, 1])
    assert about["symbols"]["source"] == {"pad": 0, "sos": 1, "eos": 2, "unk": 3}
    assert about["longest"] == {"source": 2048, "target": 2048}
    assert about["model"]["heads"] == 2
    for file, graph in about["graphs"].items():
        session = onnxruntime.InferenceSession(folder / file)
        for said, found in ((graph["inputs"], session.get_inputs()), (graph["outputs"], session.get_outputs())):
            assert {name: values["shape"] for name, values in said.items()} == {one.name: one.shape for one in found}
    stored = onnx.load(folder / "decoder.onnx")
    assert {entry.version for entry in stored.opset_import if not entry.domain} == {about["opset"]}
    assert b"site-packages" not in (folder / "decoder.onnx").read_bytes(), "places of this machine"
    assert b"onnx_graphs.py" not in (folder / "decoder.onnx").read_bytes()


def damaged(folder: Path, copy: Path) -> None:
    """The same with its output matrix turned by one symbol."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    stored = onnx.load(copy / "model.onnx")
    last = next(node for node in reversed(stored.graph.node) if node.op_type == "MatMul")
    matrix = next(held for held in stored.graph.initializer if held.name in last.input)
    matrix.CopyFrom(onnx.numpy_helper.from_array(np.roll(onnx.numpy_helper.to_array(matrix), 1, axis=1), matrix.name))
    onnx.save(stored, copy / "model.onnx")


def test_check_compares_the_export(
    made: New, exported: New, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, folder = made("gpt"), exported("gpt")
    monkeypatch.setattr(onnx_export, "fill", lambda run, out: shutil.copytree(folder, out, dirs_exist_ok=True))
    found = {one.name: one for one in check(regard.load(run))}["onnx"]
    assert found.holds
    assert not found.skipped
    assert found.first == -1
    monkeypatch.setattr(onnx_export, "fill", lambda run, out: damaged(folder, out))
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(run)])
    assert leaving.value.code == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "onnxruntime" in line]
    assert line.startswith("✗  onnx")
    assert "first different token at position 1: " in line
    with pytest.raises(RunError, match=r"was not written: onnxruntime's logits are off by"):
        export(run, "onnx", tmp_path / "wrong")
    assert not list(tmp_path.iterdir()), "nothing is left of it"


def test_what_cannot_be_exported_is_refused_with_the_reason(
    made: New, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=r"families:GruConfig' cannot be exported to ONNX; supported: 'fixed-con"):
        export(made("outside"), "onnx", tmp_path / "out")
    with pytest.raises(OptionError, match=r'reach = "monotonic" cannot be exported to ONNX: its window walks'):
        export(made("monotonic"), "onnx", tmp_path / "out")
    monkeypatch.setattr(onnx_export, "PACKAGES", ("onnx", "nowhere", "nohow"))
    with pytest.raises(OptionError, match=r'nowhere, nohow is not installed: pip install "regard\[onnx\]"'):
        export(made("gpt"), "onnx", tmp_path / "out")
    assert not list(tmp_path.iterdir())


class Choosy(nn.Module):
    def forward(self, x_BT: Tensor) -> Tensor:
        return x_BT if float(x_BT.sum()) > 0 else -x_BT


def test_what_torch_cannot_follow_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = Values(("batch", "length"))
    graph = Graph("model.onnx", Choosy(), {"x": values}, {"y": values})
    with pytest.raises(OptionError, match=r"^model.onnx cannot be exported; torch says: .*data-dependent.*$"):
        onnx_export.write_graph(graph, tmp_path / "model.onnx")
    assert capsys.readouterr() == ("", "")


def test_many_weights_stand_beside_their_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "ONE_FILE", 100)
    linear = nn.Linear(200, 3)
    wide, narrow = Values(("batch", 200)), Values(("batch", 3))
    onnx_export.write_graph(Graph("model.onnx", linear, {"x": wide}, {"y": narrow}), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < (tmp_path / "model.onnx.data").stat().st_size
    x_BD = torch.randn(5, 200)
    theirs_BD = opened(tmp_path, "model.onnx")({"x": x_BD.numpy()})["y"]
    assert np.allclose(theirs_BD, linear(x_BD).detach().numpy(), atol=1e-5)


def test_the_command_says_what_comes_next(
    made: New, exported: New, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = exported("gpt")

    def copied(run: Any, out: Path) -> list[str]:
        shutil.copytree(folder, out, dirs_exist_ok=True)
        return ["model.onnx"]

    monkeypatch.setattr(onnx_export, "fill", copied)
    with pytest.raises(SystemExit) as leaving:
        main(["export", str(made("gpt")), "--to", "onnx", "--out", str(tmp_path / "out")])
    assert not leaving.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert "model.onnx, " in said
    assert "next: onnxruntime.InferenceSession; " in said
    assert "regard.json lists the inputs and outputs of each graph" in said


def test_attention_with_a_memory_of_its_own_is_refused() -> None:
    def model(attention: dict[str, Any]) -> Any:
        table = {"kind": "gpt", "layers": 1, "width": 8, "heads": 2, "attention": attention}
        return parse(Recipe, {"model": table}).model.build(text_ports(7, 7, shared=True))

    onnx_export.check_keys_are_kept(model({"kind": "blockwise"}))
    with pytest.raises(OptionError, match=r"a memory of its own \(SparseAttention\) cannot be exported to ONNX"):
        onnx_export.check_keys_are_kept(model({"kind": "window"}))


def test_latents_are_no_keys_and_experts_compute_the_same_in_a_graph(tmp_path: Path) -> None:
    experts = {"kind": "experts", "experts": 4, "active": 2, "width": 6, "shared": 1, "balance": {"kind": "bias"}}
    table = {"kind": "gpt", "layers": 1, "width": 8, "heads": 2, "feed_forward": experts}
    latent = parse(Recipe, {"model": {**table, "projection": {"kind": "latent"}}}).model
    with pytest.raises(OptionError, match=r"latent heads .* remembers latents, not keys and values"):
        onnx_export.check_keys_are_whole(latent.build(text_ports(7, 7, shared=True)))
    model: Any = parse(Recipe, {"model": table}).model.build(text_ports(7, 7, shared=True)).eval()
    x, y = Values(("batch", "length", 8)), Values(("batch", "length", 8))
    network = model.stack.layers[0].feed_forward
    onnx_export.write_graph(Graph("model.onnx", network, {"x": x}, {"y": y}), tmp_path / "model.onnx")
    x_BTD = torch.randn(3, 5, 8)
    theirs_BTD = opened(tmp_path, "model.onnx")({"x": x_BTD.numpy()})["y"]
    assert np.allclose(theirs_BTD, network(x_BTD).detach().numpy(), atol=1e-5)

"""Models that only read, exported to ONNX: any batch and length gives our logits, and numpy alone our answers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer

import regard
from regard.core.config import parse
from regard.core.errors import OptionError
from regard.core.inputs import Inputs
from regard.core.ports import INPUT, Arrays, text_ports
from regard.core.seams import reads_segments
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.onnx import export as onnx_export
from regard.interop.onnx import running as onnx_running
from regard.interop.onnx.readers import READERS, reader
from regard.layers.headed import ClassHead, Headed, Pool, TokenHead, VectorHead, body_of
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.training import checkpoints
from tests.inspection.loud_runs import CLASSIFIER, MASKED, headed_run, saved
from tests.inspection.picture_runs import pictures, trained
from tests.interop.untrained import shake

ANSWERING = {**CLASSIFIER, "task": {"kind": "question-answering", "max_length": 24}}
EMBEDDING = {**CLASSIFIER, "task": {"kind": "embedding", "max_length": 24, "pooling": "first"}}
TREES = {"classification": CLASSIFIER, "question-answering": ANSWERING, "embedding": EMBEDDING}
NAMES = [*TREES, "masked", "pictures"]


@cache
def run_of(name: str) -> Run:
    """Untrained, but loud, where texts are read; pictures are told apart after a few steps."""
    folder = Path(mkdtemp())
    if name == "pictures":
        return trained(folder, 20, count=30)
    if name == "masked":
        return saved(MASKED, folder)
    run = headed_run(folder, TREES[name])
    shake(run.model, seed=3)
    checkpoints.save_tensors(run.folder.weights, checkpoints.weights_of(run.model))
    return run


@cache
def exported(name: str) -> Path:
    run = run_of(name)
    return Path(export(run.folder.path, "onnx", Path(mkdtemp()) / "out").folder)


def inputs_of(name: str, rows: int, length: int) -> Inputs:
    """Random ones, padded, in two parts where texts are read."""
    generator = torch.Generator().manual_seed(rows)
    if name == "pictures":
        return Inputs(torch.randn(rows, 3, 12, 12, generator=generator))
    tokens_BS = torch.randint(0, 60, (rows, length), generator=generator)
    lengths_B = torch.tensor([max(length - 2 * row, 1) for row in range(rows)])
    segments_BS = (torch.arange(length) >= length // 2).long().expand(rows, length)
    return Inputs(tokens_BS, lengths_B, segments_BS)


@torch.inference_mode()
def ours(run: Run, inputs: Inputs) -> torch.Tensor:
    model: Any = run.model
    if isinstance(model, Headed):
        said = model(inputs)
        return said[:, None] if said.dim() == 2 else said
    return model.head(model(inputs.values, inputs.lengths_B, inputs.segments_BN))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows, length", [(1, 1), (2, 2), (7, 5), (3, 20)])
def test_any_shape_gives_our_logits(name: str, rows: int, length: int) -> None:
    inputs = inputs_of(name, rows, length)
    ours_BTW, theirs_BTW = ours(run_of(name), inputs), onnx_running.read(exported(name), inputs)
    assert theirs_BTW.shape == ours_BTW.shape
    assert float((theirs_BTW - ours_BTW).abs().max()) < 1e-4
    assert float(ours_BTW.std()) > 0.05, "the model says something"


def session_of(folder: Path) -> Any:
    return onnxruntime.InferenceSession(folder / "model.onnx")


def about(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "regard.json").read_text(encoding="utf-8"))


def test_numpy_classifies_a_text_as_we_do() -> None:
    folder, text = exported("classification"), "der Hund schläft im Garten"
    tokenizer = Tokenizer.from_file(str(folder / about(folder)["tokenizers"]["source"]))
    ids = np.array([tokenizer.encode(text).ids])
    (logits_BC,) = session_of(folder).run(
        None, {"tokens": ids, "lengths": np.array([ids.shape[1]]), "segments": np.zeros_like(ids)}
    )
    probabilities_C = np.exp(logits_BC[0]) / np.exp(logits_BC[0]).sum()
    (answers,) = run_of("classification").answers([text])
    assert about(folder)["labels"][int(probabilities_C.argmax())] == answers[0].text
    assert float(probabilities_C.max()) == pytest.approx(answers[0].score, abs=1e-5)


def test_numpy_classifies_a_picture_as_we_do() -> None:
    folder = exported("pictures")
    said = about(folder)["input"]
    assert (said["channels"], said["shape"], said["resize"]) == (3, [12, 12], "crop")
    mean_C, std_C = np.array(said["mean"]), np.array(said["std"])
    pixels = np.stack([(np.asarray(Image.open(path)) / 255 - mean_C) / std_C for path in pictures()])
    (logits_BC,) = session_of(folder).run(None, {"values": pixels.transpose(0, 3, 1, 2).astype(np.float32)})
    labels = [about(folder)["labels"][place] for place in logits_BC.argmax(-1)]
    assert labels == run_of("pictures").predict(list(map(str, pictures())))


def test_what_the_folder_says() -> None:
    folder = exported("masked")
    assert sorted(path.name for path in folder.iterdir()) == ["model.onnx", "regard.json", "tokenizer.json"]
    said = about(folder)
    assert said["symbols"] == {"source": {"pad": 0, "sos": 1, "eos": 2, "unk": 3, "mask": 4}}
    assert said["longest"] == {"source": 20}
    assert said["task"]["kind"] == "masked-language-model"
    for name in NAMES:
        graph, session = about(exported(name))["graphs"]["model.onnx"], session_of(exported(name))
        for listed, found in ((graph["inputs"], session.get_inputs()), (graph["outputs"], session.get_outputs())):
            assert {key: values["shape"] for key, values in listed.items()} == {one.name: one.shape for one in found}
    assert list(about(exported("embedding"))["graphs"]["model.onnx"]["outputs"]) == ["vectors"]
    assert not about(exported("pictures")).keys() & {"tokenizers", "symbols", "longest"}


def test_two_texts_are_enclosed_as_the_model_reads_them() -> None:
    folder, run = exported("question-answering"), run_of("question-answering")
    made = Tokenizer.from_file(str(folder / "tokenizer.json")).encode("der Hund", "ein Vogel singt")
    first, second = (run.vocabularies.source.encode(text) for text in ("der Hund", "ein Vogel singt"))
    assert made.ids == [1, *first, 2, *second, 2]
    assert made.type_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_a_number_of_a_text_whose_tokenizer_hides_nothing_leaves_too(tmp_path: Path) -> None:
    lines = [f"{'very ' * (number % 4)}good cat {number}\t{number % 4}" for number in range(40)]
    (tmp_path / "texts.tsv").write_text("\n".join(["text\tlabel", *lines]), encoding="utf-8")
    regard.train(
        {
            "data": {"kind": "labelled", "train": str(tmp_path / "texts.tsv"), "validation_size": 4},
            "model": CLASSIFIER["model"],
            "task": {"kind": "regression"},
            "training": {"steps": 1, "batch_tokens": 64},
        },
        tmp_path / "run",
    )
    export(tmp_path / "run", "onnx", tmp_path / "out")
    ids = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json")).encode("very good cat").ids
    given = {"tokens": [ids], "lengths": [len(ids)], "segments": [[0] * len(ids)]}
    ((said,),) = session_of(tmp_path / "out").run(None, {name: np.array(own) for name, own in given.items()})
    task = about(tmp_path / "out")["task"]
    (number,) = regard.load(tmp_path / "run").predict(["very good cat"])
    assert said * task["std"] + task["mean"] == pytest.approx(float(number), abs=1e-3)


@pytest.mark.parametrize("name", ["question-answering", "pictures"])
def test_check_compares_the_export(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def right(run: Run, out: Path) -> None:
        for file in exported(name).iterdir():
            (out / file.name).write_bytes(file.read_bytes())

    monkeypatch.setattr(onnx_export, "fill", right)
    found = {one.name: one for one in check(run_of(name))}["onnx"]
    assert found.holds
    assert not found.skipped
    monkeypatch.setattr(onnx_running, "read", lambda folder, inputs: ours(run_of(name), inputs).flip(-1))
    assert not {one.name: one for one in check(run_of(name))}["onnx"].holds


TEXT_BODIES: dict[str, dict[str, Any]] = {
    "bert": {"layers": 2, "width": 12, "heads": 3, "segments": 0},
    "gpt": {"layers": 2, "width": 12, "heads": 3, "position": {"kind": "none"}},
    "llama": {"layers": 2, "width": 12, "heads": 2, "groups": 1},
    "transformer": {"width": 12, "heads": 4, "encoder_layers": 2, "decoder_layers": 1},
    "convolution": {"width": 6, "embedding": {"width": 5}},
    "fixed-context": {"width": 6, "embedding": {"width": 5}, "encoder_layers": 2},
    "bahdanau": {"width": 6, "embedding": {"width": 5}, "cell": {"kind": "lstm"}},
    "luong": {"width": 6, "embedding": {"width": 5}, "bidirectional": True},
}


@pytest.mark.parametrize("kind", TEXT_BODIES)
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_what_is_traced_gives_our_logits(kind: str, pooling: Any) -> None:
    """Every body, before the exporter has it."""
    torch.manual_seed(5)
    recipe = parse(Recipe, {"data": {"kind": "toy"}, "model": {"kind": kind, **TEXT_BODIES[kind]}})
    ports = text_ports(11, 11, shared=True)
    body: Any = recipe.model.build(ports)
    model = Headed(body, ClassHead(Pool(pooling, body), body.width, 5, 0.1)).eval()
    (graph,) = READERS[kind](model, ports)
    assert list(graph.inputs) == ["tokens", "lengths"]
    assert graph.outputs["logits"].shape == ("batch", 5)
    tokens_BS, lengths_B = torch.randint(0, 11, (3, 7)), torch.tensor([7, 1, 4])
    with torch.no_grad():
        assert torch.allclose(graph.module(tokens_BS, lengths_B), model(Inputs(tokens_BS, lengths_B)), atol=1e-6)


def test_pictures_behind_any_front_are_traced() -> None:
    front = {"kind": "convolution", "channels": [4, 6], "strides": [1, 2], "size": 2, "class_token": False}
    tree = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "front": front}
    ports = {INPUT: Arrays(3, (8, 12))}
    recipe = parse(Recipe, {"data": {"kind": "pictures"}, "input": {"kind": "image"}, "model": tree})
    body: Any = recipe.model.build(ports)
    patches, whole = TokenHead(12, 3, 0.0), VectorHead(Pool("mean", body), unit=True)
    for head, shape in ((patches, ("batch", "length", 3)), (whole, ("batch", 12))):
        model = Headed(body, head).eval()
        (graph,) = reader(model, ports)
        assert graph.inputs["values"].shape == ("batch", 3, 8, 12)
        assert next(iter(graph.outputs.values())).shape == shape
        with torch.no_grad():
            values_BC = torch.randn(5, 3, 8, 12)
            assert torch.equal(graph.module(values_BC), model(Inputs(values_BC)))
    assert not reads_segments(body_of(model))


def test_a_body_that_walks_through_a_text_is_refused(tmp_path: Path) -> None:
    walking = {"kind": "recurrent", "width": 12, "embedding": {"width": 8}}
    headed_run(tmp_path / "run", {**CLASSIFIER, "model": walking})
    with pytest.raises(OptionError) as caught:
        export(tmp_path / "run", "onnx", tmp_path / "out")
    wanted = "model.kind = 'recurrent' with task.kind = 'classification' cannot be exported to ONNX; supported: 'bert'"
    assert wanted in str(caught.value)
    assert not (tmp_path / "out").exists()

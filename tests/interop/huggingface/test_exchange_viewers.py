"""ViT and DeiT come in and go out, their preprocessing included: the same pixels, logits and labels on both sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    AutoImageProcessor,
    AutoModelForImageClassification,
    DeiTForImageClassificationWithTeacher,
    ViTModel,
    pipeline,
)

import regard
from regard.core.errors import OptionError, RunError
from regard.core.inputs import Inputs
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run
from regard.training.checkpoints import weights_hash, weights_of
from tests.inspection.picture_runs import LABELS, trained
from tests.inspection.picture_runs import pictures as shapes
from tests.interop.huggingface.strangers import check_tensors_return, furthest
from tests.interop.huggingface.viewers import (
    BODY,
    BY_SIDE,
    CROPPED,
    IMAGENET,
    MODELS,
    STRETCHED,
    deit,
    pictures,
    save,
    vit,
)

Pair = tuple[Any, Run, Path]


@pytest.fixture(scope="module", params=MODELS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    make, preprocessing = MODELS[request.param]
    theirs, folder = make(), tmp_path_factory.mktemp("theirs")
    import_folder(save(theirs, preprocessing, folder), folder.with_name(f"{folder.name}-run"))
    return theirs, regard.load(folder.with_name(f"{folder.name}-run")), folder


@torch.inference_mode()
def said_here(run: Run, values_BCHW: Tensor) -> Tensor:
    return run.model(Inputs(values_BCHW))


@torch.inference_mode()
def said_there(theirs: Any, values_BCHW: Tensor) -> Tensor:
    return theirs(pixel_values=values_BCHW).logits


def values_for(run: Run, rows: int) -> Tensor:
    port: Any = run.modalities.input.port()
    return torch.randn(rows, port.channels, *port.shape, generator=torch.Generator().manual_seed(rows))


def ours_of(run: Run, paths: list[Path]) -> Tensor:
    modality = run.modalities.input
    return modality.collate(modality.encode([modality.parse(str(path)) for path in paths])).values


def theirs_of(folder: Path, paths: list[Path]) -> Tensor:
    return AutoImageProcessor.from_pretrained(folder)([Image.open(path) for path in paths], return_tensors="pt")[
        "pixel_values"
    ]


# -- in ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_logits_are_the_same(pair: Pair, rows: int) -> None:
    theirs, run, _ = pair
    values_BCHW = values_for(run, rows)
    ours_BC = said_here(run, values_BCHW)
    assert furthest(ours_BC, said_there(theirs, values_BCHW)) < 1e-4
    assert float(ours_BC.std()) > 0.05


def test_pictures_are_prepared_as_there(pair: Pair, tmp_path: Path) -> None:
    """To the pixel: also large JPEGs, and those that have the size already."""
    theirs, run, folder = pair
    paths = pictures(tmp_path / "pictures", "L" if theirs.config.num_channels == 1 else "RGB")
    assert furthest(ours_of(run, paths), theirs_of(folder, paths)) < 1e-5


def test_the_pipeline_says_what_theirs_says(pair: Pair, tmp_path: Path) -> None:
    theirs, run, folder = pair
    paths = [str(path) for path in pictures(tmp_path / "pictures", "L" if theirs.config.num_channels == 1 else "RGB")]
    ours = regard.pipeline("image-classification", model=str(run.folder.path))(paths, top_k=3)
    model, values = AutoModelForImageClassification.from_pretrained(folder).eval(), theirs_of(folder, paths)
    for said, probabilities_C in zip(ours, said_there(model, values).softmax(-1), strict=True):
        wanted = sorted(zip(probabilities_C.tolist(), ("cat", "dog", "owl"), strict=True), reverse=True)
        assert [one["label"] for one in said] == [label for _, label in wanted]
        assert [one["score"] for one in said] == pytest.approx([share for share, _ in wanted], abs=1e-5)


def test_their_own_pipeline_agrees(tmp_path: Path) -> None:
    folder = save(vit(), STRETCHED, tmp_path / "theirs")
    import_folder(folder, tmp_path / "run")
    path = str(pictures(tmp_path / "pictures")[0])
    ours = regard.pipeline("image-classification", model=str(tmp_path / "run"))(path)
    theirs = pipeline("image-classification", model=str(folder), device="cpu")(path)
    assert [one["label"] for one in ours] == [one["label"] for one in theirs]
    assert [one["score"] for one in ours] == pytest.approx([one["score"] for one in theirs], abs=1e-5)


def test_every_check_holds(pair: Pair, no_onnx: None) -> None:
    checks = {one.name: one for one in check(pair[1])}
    assert all(one.holds for one in checks.values()), checks
    assert not checks["huggingface"].skipped


def test_the_way_in_and_out_gives_what_they_have(pair: Pair, tmp_path: Path) -> None:
    theirs, run, folder = pair
    averaged = {f"{name}.bias" for name in ("cls_classifier", "distillation_classifier")}
    check_tensors_return(*pair, tmp_path / "out", but=averaged)
    back = AutoModelForImageClassification.from_pretrained(tmp_path / "out").eval()
    values_BCHW = values_for(run, 3)
    assert furthest(said_there(back, values_BCHW), said_there(theirs, values_BCHW)) < 1e-4
    assert back.config.id2label == theirs.config.id2label
    paths = pictures(tmp_path / "pictures", "L" if theirs.config.num_channels == 1 else "RGB")
    assert furthest(theirs_of(tmp_path / "out", paths), theirs_of(folder, paths)) < 1e-5
    again = import_folder(tmp_path / "out", tmp_path / "again")
    assert again.weights_sha256 == weights_hash(weights_of(run.model))


def test_a_body_alone_has_the_same_states_and_a_new_head(tmp_path: Path) -> None:
    make, preprocessing = BODY
    theirs = make()
    found = import_folder(save(theirs, preprocessing, tmp_path / "theirs"), tmp_path / "run")
    assert found.notes == ("the folder has no head: the run's own, which says which class it is, is new and untrained",)
    run = regard.load(tmp_path / "run")
    model: Any = run.model
    assert run.recipe.task.labels == ("LABEL_0", "LABEL_1")  # type: ignore[attr-defined]
    values_BCHW = values_for(run, 2)
    with torch.inference_mode():
        states = theirs(pixel_values=values_BCHW).last_hidden_state
        assert furthest(model.body.represent(Inputs(values_BCHW)).x_BND, states) < 1e-4
    assert isinstance(theirs, ViTModel)


def test_names_of_todays_code_are_understood(tmp_path: Path) -> None:
    folder = save(deit(), CROPPED, tmp_path / "old")
    old = import_folder(folder, tmp_path / "old-run").weights_sha256
    deit().save_pretrained(folder, save_original_format=False)
    names = load_file(folder / "model.safetensors").keys()
    assert any("q_proj" in name for name in names), sorted(names)
    assert import_folder(folder, tmp_path / "new-run").weights_sha256 == old


def test_pixels_may_be_scaled_in_other_ways(tmp_path: Path) -> None:
    """Not at all, or to another number than 1, or without a mean."""
    paths = pictures(tmp_path / "pictures")
    for number, changes in enumerate([
        {"do_rescale": False, "image_mean": [120.0, 110.0, 100.0], "image_std": [60.0, 61.0, 62.0]},
        {"rescale_factor": 1 / 127.5, **IMAGENET}, {"do_normalize": False}, {"image_mean": 0.4, "image_std": 0.2},
    ]):  # fmt: skip
        folder = save(vit(), {**STRETCHED, **changes}, tmp_path / f"{number}")
        import_folder(folder, tmp_path / f"{number}-run")
        assert furthest(ours_of(regard.load(tmp_path / f"{number}-run"), paths), theirs_of(folder, paths)) < 1e-4


# -- out --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("ours"), 30, count=60)


def test_a_run_of_ours_says_the_same_there(made: Run, tmp_path: Path) -> None:
    exported = export(made.folder.path, "huggingface", tmp_path / "out")
    assert (exported.architecture, exported.loader) == ("ViTForImageClassification", "AutoModelForImageClassification")
    theirs, report = AutoModelForImageClassification.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"], report
    assert not report["unexpected_keys"], report
    paths = [*shapes()]
    assert furthest(ours_of(made, paths), theirs_of(tmp_path / "out", paths)) < 1e-5
    said = said_there(theirs.eval(), theirs_of(tmp_path / "out", paths)).argmax(-1).tolist()
    assert [theirs.config.id2label[place] for place in said] == made.predict([str(path) for path in paths])
    assert set(theirs.config.id2label.values()) == set(LABELS)
    import_folder(tmp_path / "out", tmp_path / "again")
    assert regard.load(tmp_path / "again").predict([str(path) for path in paths]) == made.predict(list(map(str, paths)))


def test_what_they_do_not_have_is_named(tmp_path: Path) -> None:
    stem = {"kind": "convolution", "channels": [4], "strides": [2], "size": 2, "class_token": False}
    run = trained(tmp_path, 1, count=6, class_token=False, front=stem, position={"kind": "sinusoidal"})
    with pytest.raises(OptionError) as caught:
        export(run.folder.path, "huggingface", tmp_path / "out")
    assert str(caught.value).splitlines()[1:] == [
        "  - model.front.kind = 'convolution'; they have 'patches' only",
        "  - model.position.kind = 'sinusoidal'; they have 'learned' only",
        "  - task.pooling = 'mean'; they have 'first' only, which is chosen before training",
    ]


# -- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": {"height": 24, "width": 24}}, "makes pictures of 24 × 24, the model of config.json reads 20 × 20"),
        ({"do_resize": False}, "do_resize = False, but pictures are always brought to one size here"),
        ({"size": {"shortest_edge": 20}}, "without do_center_crop gives pictures of different sizes"),
        ({"image_mean": [0.5, 0.5]}, "image_mean = [0.5, 0.5], image_std = [0.5, 0.5, 0.5], for 3 channels"),
        ({"do_flip_channel_order": True}, "do_flip_channel_order = True is not known here"),
        ({"image_processor_type": "BitImageProcessor"}, "image_processor_type = 'BitImageProcessor' is not known here"),
        ({"resample": 9}, "resample = 9; known are 0, 1, 2, 3, 4, 5"),
    ],
    ids=["another size", "any size", "no crop", "two means", "unknown", "another class", "no filter"],
)
def test_preprocessing_that_cannot_be_followed_is_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = save(vit(), {**STRETCHED, **changes}, tmp_path / "theirs")
    with pytest.raises(RunError) as caught:
        import_folder(folder, tmp_path / "run")
    assert words in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_folders_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    folder = save(vit(), STRETCHED, tmp_path / "theirs")
    with pytest.raises(OptionError, match=r"--case is for texts, and .* reads pictures; leave it out"):
        import_folder(folder, tmp_path / "run", case="keep")
    held = load_file(folder / "model.safetensors")
    held["vit.embeddings.position_embeddings"] = torch.zeros(1, 9, 40)
    save_file(held, folder / "model.safetensors")
    wrong = r"vit.embeddings.position_embeddings is \(1, 9, 40\), config.json asks for \(1, 17, 40\)"
    with pytest.raises(RunError, match=wrong):
        import_folder(folder, tmp_path / "run")
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(RunError, match=r"has no preprocessor_config.json, which says how pictures are prepared"):
        import_folder(folder, tmp_path / "run")


def test_other_layouts_of_a_picture_are_read_alike(tmp_path: Path) -> None:
    """Arrays and Pillow's pictures, as a pipeline takes them."""
    folder = save(deit(DeiTForImageClassificationWithTeacher), BY_SIDE, tmp_path / "theirs")
    import_folder(folder, tmp_path / "run")
    path = pictures(tmp_path / "pictures")[1]
    ask = regard.pipeline("image-classification", model=str(tmp_path / "run"))
    with Image.open(path) as image:
        assert ask(image) == ask(str(path)) == ask(np.asarray(image))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert {one["label"] for one in ask(str(path))} == set(config["id2label"].values())

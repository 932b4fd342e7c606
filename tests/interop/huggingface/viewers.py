"""Small models of other people's making that read pictures, and pictures of all sizes and modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from transformers import (
    DeiTConfig,
    DeiTForImageClassification,
    DeiTForImageClassificationWithTeacher,
    ViTConfig,
    ViTForImageClassification,
    ViTModel,
)

from tests.interop.huggingface.strangers import shaken

LABELS = {"id2label": {0: "cat", 1: "dog", 2: "owl"}, "label2id": {"cat": 0, "dog": 1, "owl": 2}}
SIZES = {
    "num_hidden_layers": 3, "hidden_size": 40, "num_attention_heads": 5, "intermediate_size": 52, "patch_size": 5,
    "image_size": 20, **LABELS,
}  # fmt: skip
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
STRETCHED = {"image_processor_type": "ViTImageProcessor", "size": {"height": 20, "width": 20}}
CROPPED = {
    "feature_extractor_type": "DeiTFeatureExtractor", "size": 25, "crop_size": 20, "do_center_crop": True,
    "resample": 3, **IMAGENET,
}  # fmt: skip
BY_SIDE = {
    "image_processor_type": "CLIPImageProcessorFast", "size": {"shortest_edge": 23}, "do_center_crop": True,
    "crop_size": {"height": 20, "width": 20}, "resample": 3, "do_convert_rgb": True, **IMAGENET,
}  # fmt: skip


def vit(family: Any = ViTForImageClassification, **settings: Any) -> Any:
    return shaken(family, ViTConfig(**{**SIZES, **settings}))


def deit(family: Any = DeiTForImageClassificationWithTeacher, **settings: Any) -> Any:
    return shaken(family, DeiTConfig(**{**SIZES, **settings}))


MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "vit": (vit, STRETCHED),
    "vit oblong, loose, relu": (
        lambda: vit(image_size=[20, 35], layer_norm_eps=1e-3, hidden_act="relu"),
        {**STRETCHED, "size": {"height": 20, "width": 35}},
    ),
    "vit grey, oblong patches": (
        lambda: vit(num_channels=1, patch_size=[4, 5]), {**STRETCHED, "image_mean": [0.3], "image_std": [0.7]}
    ),
    "deit": (deit, CROPPED),
    "deit by the class token": (lambda: deit(DeiTForImageClassification), BY_SIDE),
}  # fmt: skip
BODY = (lambda: vit(ViTModel, id2label={0: "LABEL_0", 1: "LABEL_1"}, label2id={"LABEL_0": 0, "LABEL_1": 1}), STRETCHED)


def save(model: Any, preprocessing: dict[str, Any], folder: Path) -> Path:
    """A folder with everything in it."""
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessing), encoding="utf-8")
    return folder


def pictures(folder: Path, mode: str = "RGB") -> list[Path]:
    """Smooth ones with some noise, wide, high, small and of the very size; the last a large JPEG."""
    generator, found = np.random.default_rng(1), []
    folder.mkdir(parents=True, exist_ok=True)
    for number, (height, width) in enumerate([(31, 47), (60, 24), (9, 8), (20, 20), (230, 310)]):
        rows, columns = np.mgrid[:height, :width]
        waves = np.stack([np.sin(rows / (3 + own) + own) * np.cos(columns / (7 - own)) for own in range(3)], -1)
        noise = generator.normal(0, 20, waves.shape)
        image = Image.fromarray((127 + 90 * waves + noise).clip(0, 255).astype(np.uint8)).convert(mode)
        found.append(folder / f"{number}.{'jpg' if height > 200 else 'png'}")
        image.save(found[-1], quality=95)
    return found

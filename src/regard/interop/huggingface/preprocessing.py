"""How pictures are prepared, in their preprocessor_config.json and in our ``[input]`` table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.core.errors import RunError, enumerate_problems
from regard.core.files import read_json

FILE = "preprocessor_config.json"
HALF = (0.5, 0.5, 0.5)
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
VIT, DEIT, CLIP = "ViTImageProcessor", "DeiTImageProcessor", "CLIPImageProcessor"
USUAL: dict[str, dict[str, Any]] = {
    VIT: {"size": 224, "resample": 2, "do_center_crop": False, "image_mean": HALF, "image_std": HALF},
    DEIT: {"size": 256, "resample": 3, "do_center_crop": True, "image_mean": HALF, "image_std": HALF},
    CLIP: {
        "size": {"shortest_edge": 224}, "resample": 3, "do_center_crop": True, "image_mean": CLIP_MEAN,
        "image_std": CLIP_STD,
    },
}  # fmt: skip
"""By the class that reads the file: what it means where the file is silent."""
EVERYWHERE = {"do_resize": True, "do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255, "crop_size": 224}
HARMLESS = {
    "image_processor_type", "feature_extractor_type", "processor_class", "do_convert_rgb", "data_format",
    "input_data_format", "return_tensors", "disable_grouping", "device", "_valid_processor_keys",
}  # fmt: skip
"""How a call is made, or what our decoding does in any case."""
RESAMPLES = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def read_preprocessing(folder: Path, usual: str, channels: int) -> dict[str, Any]:
    """Our ``[input]`` table; ``usual`` is the class that is meant where the file names none."""
    if not (folder / FILE).is_file():
        raise RunError(
            f"{folder} has no {FILE}, which says how pictures are prepared; to write what transformers does without "
            "it: transformers.AutoImageProcessor.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    held = read_json(folder / FILE)
    where = folder / FILE
    if not isinstance(held, dict):
        raise RunError(f"{where} is not a table of settings")
    kind = str(held.get("image_processor_type") or held.get("feature_extractor_type") or usual)
    kind = kind.removesuffix("Fast").removesuffix("Pil").replace("FeatureExtractor", "ImageProcessor")
    if kind not in USUAL:
        raise RunError(f"{where}: image_processor_type = {kind!r} is not known here; known are {', '.join(USUAL)}")
    said = {**EVERYWHERE, **USUAL[kind], **{name: value for name, value in held.items() if value is not None}}
    problems = [
        f"{name} = {value!r} is not known here"
        for name, value in said.items()
        if value and name not in {*EVERYWHERE, *USUAL[kind], *HARMLESS}
    ]
    table = {"kind": "image", "channels": channels, "decode": "exact", **sized(said, problems)}
    table |= normalised(said, channels, problems)
    if problems:
        raise RunError(enumerate_problems(f"{where} cannot be followed", problems))
    return table


def sized(said: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Size, and the way to it."""
    if said["resample"] not in RESAMPLES:
        problems.append(f"resample = {said['resample']!r}; known are {', '.join(map(str, RESAMPLES))}")
        return {}
    if not said["do_resize"]:
        problems.append("do_resize = False, but pictures are always brought to one size here")
        return {}
    found: dict[str, Any] = {"resample": RESAMPLES[said["resample"]]}
    size = both_sides(said["size"])
    if not said["do_center_crop"]:
        if len(size) != 2:
            problems.append(f"size = {said['size']!r} without do_center_crop gives pictures of different sizes")
        return {**found, "size": size, "resize": "stretch"}
    crop = both_sides(said["crop_size"])
    if len(crop) != 2 or not size:
        problems.append(f"size = {said['size']!r}, crop_size = {said['crop_size']!r}; rows and columns are needed")
    return {**found, "size": crop, "resize": "crop" if len(size) == 1 else "stretch", "resized": size}


def both_sides(size: Any) -> tuple[int, ...]:
    """(rows, columns), or of a shorter side (side,)."""
    if isinstance(size, int):
        return size, size
    if isinstance(size, Mapping) and {*size} == {"height", "width"}:
        return size["height"], size["width"]
    if isinstance(size, Mapping) and {*size} == {"shortest_edge"}:
        return (size["shortest_edge"],)
    return ()


def normalised(said: Mapping[str, Any], channels: int, problems: list[str]) -> dict[str, Any]:
    """(factor · pixel − mean) / std, as (pixel / 255 − mean) / std; of one number for all channels, one for each."""
    given = (said["image_mean"], said["image_std"]) if said["do_normalize"] else (0.0, 1.0)
    means, stds = ([*own] if isinstance(own, list | tuple) else [own] for own in given)
    means, stds = (own * channels if len(own) == 1 else own for own in (means, stds))
    if {len(means), len(stds)} != {channels}:
        problems.append(f"image_mean = {means}, image_std = {stds}, for {channels} channels")
    factor = 255 * said["rescale_factor"] if said["do_rescale"] else 255
    scale = 1.0 if abs(factor - 1) < 1e-9 else 1 / factor
    return {"mean": [own * scale for own in means], "std": [own * scale for own in stds]}


def written_preprocessing(said: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Their file for what our modality says of itself."""
    rows, columns = said["shape"]
    side, resized = {"height": rows, "width": columns}, said["resized"]
    numbers = {name: number for number, name in RESAMPLES.items()}
    kind, size = VIT, side
    if len(resized) == 2:
        kind, size = DEIT, {"height": resized[0], "width": resized[1]}
    elif said["resize"] == "crop":
        kind, size = CLIP, {"shortest_edge": resized[0] if resized else rows}
        if rows != columns and not resized:
            problems.append(
                f'input.resize = "crop" to {rows} × {columns}; they cut a middle out of pictures whose shorter side '
                "has one size: set input.resized"
            )
    cropped = {} if kind == VIT else {"do_center_crop": True, "crop_size": side}
    return {
        "image_processor_type": kind, "do_resize": True, "size": size, "resample": numbers[said["resample"]],
        **cropped, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": said["mean"],
        "image_std": said["std"], "do_convert_rgb": said["channels"] == 3,
    }  # fmt: skip

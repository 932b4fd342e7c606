"""Training speed of a ViT, pictures per second, against a plain loop over Hugging Face's ViT of its shape: ours and the
peer in one run, in turns.

    python benchmarks/vit_speed.py [--rounds 12] [--threads 2]

Same shape, optimiser (AdamW, clipped gradients) and precision: float32, and bfloat16 where one matrix product is faster
in it. Each side and way waits in a process of its own and trains a few steps whenever it is its turn; a ratio is the
median over rounds (``turns.py``).
"""

import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from common import machine_facts, write_result
from turns import bfloat16_is_faster, in_turns, ratio, train_in_turns, turns_parser

HERE = Path(__file__).resolve().parent
PICTURES = 2_000
SHAPES: dict[str, dict[str, int]] = {
    "4 layers, 128 wide, 32×32 in patches of 4, batch 64": {
        "layers": 4, "width": 128, "heads": 4, "side": 32, "patch": 4, "batch": 64, "steps": 4,
    },
    "12 layers, 192 wide (ViT-tiny), 32×32 in patches of 4, batch 32": {
        "layers": 12, "width": 192, "heads": 3, "side": 32, "patch": 4, "batch": 32, "steps": 2,
    },
    "12 layers, 192 wide (ViT-tiny), 224×224 in patches of 16, batch 16": {
        "layers": 12, "width": 192, "heads": 3, "side": 224, "patch": 16, "batch": 16, "steps": 1,
    },
}  # fmt: skip
WAYS = ("float32", "bfloat16")


def write_pictures(folder: Path, side: int) -> Path:
    """Noise and labels as a pair of idx files."""
    import numpy as np

    generator = np.random.default_rng(1)
    pictures = generator.integers(0, 256, (PICTURES, side, side, 3), np.uint8)
    labels = generator.integers(0, 10, PICTURES).astype(np.uint8)
    for name, values in (("train-images-idx3-ubyte", pictures), ("train-labels-idx1-ubyte", labels)):
        sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
        (folder / name).write_bytes(bytes([0, 0, 8, values.ndim]) + sizes + values.tobytes())
    return folder / "train-images-idx3-ubyte"


def ours(shape: dict[str, int], way: str) -> None:
    """The loop that trains recipes; run in a process of its own by ``--ours``."""
    from regard.training import machine

    machine.tune_allocator()
    with tempfile.TemporaryDirectory() as folder:
        images = write_pictures(Path(folder), shape["side"])
        tree = {
            "data": {"kind": "pictures", "train": str(images), "validation_size": 0},
            "input": {"kind": "image"},
            "model": {"kind": "vit", **{name: shape[name] for name in ("layers", "width", "heads")}, "dropout": 0.0,
                      "front": {"kind": "patches", "size": shape["patch"]}},
            "task": {"kind": "classification", "pooling": "first", "dropout": 0.0},
            "training": {"steps": 10**6, "batch_tokens": shape["batch"], "learning_rate": 1e-3, "precision": way,
                         "optimizer": {"kind": "adamw"}, "schedule": {"kind": "constant"}},
        }  # fmt: skip
        train_in_turns(tree, Path(folder) / "run", 3, shape["steps"])


def measured(name: str, shape: dict[str, int], rounds: int, ways: tuple[str, ...]) -> dict[str, Any]:
    """Both sides in every way, in turns; medians of pictures per second, and of their ratios."""
    asked = [word for key, value in shape.items() for word in (f"--{key}", str(value))]
    commands: dict[str, tuple[Path, list[str]]] = {}
    for way in ways:
        commands[f"regard {way}"] = Path(__file__), ["--ours", name, "--way", way]
        commands[f"peer {way}"] = HERE / "peers" / "huggingface_vit.py", [*asked, "--way", way]
    found = in_turns(name, commands, rounds)
    return {
        "pictures_per_second": {key: round(statistics.median(own), 1) for key, own in found.items()},
        "ratio": {way: ratio(found[f"regard {way}"], found[f"peer {way}"]) for way in ways},
    }


def main() -> None:
    parser = turns_parser(__doc__.splitlines()[0], SHAPES, WAYS)
    parser.add_argument("--threads", type=int, default=0, help="of each side; 0: as torch chooses")
    given = parser.parse_args()
    if given.ours:
        ours(SHAPES[given.ours], given.way)
        return
    if given.threads:
        os.environ["OMP_NUM_THREADS"] = str(given.threads)
    chosen = {given.shape: SHAPES[given.shape]} if given.shape else SHAPES
    ways = WAYS if bfloat16_is_faster() else WAYS[:1]
    shapes = {name: measured(name, shape, given.rounds, ways) for name, shape in chosen.items()}
    for name, result in shapes.items():
        print(f"{name}: " + ", ".join(f"{own:.2f} times in {way}" for way, own in result["ratio"].items()))
    if not given.shape:
        write_result("vit_speed", {"machine": machine_facts(), "shapes": shapes})


if __name__ == "__main__":
    main()

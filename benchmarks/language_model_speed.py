"""Training speed of a GPT, tokens per second, against a plain loop over Hugging Face's GPT-2 of its shape: ours and
the peer in one run, in turns.

    python benchmarks/language_model_speed.py [--rounds 3]

Same shape, dropout, optimiser (AdamW, clipped gradients) and precision first, then the best way of each: float32,
compiled, or bfloat16. A way that needs more than ``PATIENCE`` seconds is left out, and said so.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import machine_facts, write_result

HERE = Path(__file__).resolve().parent
VOCABULARY = 69  # Shakespeare's 65 characters, and four special symbols
SHAPES: dict[str, dict[str, Any]] = {
    "4 layers, 128 wide, context 64, batch 12": {
        "layers": 4, "width": 128, "heads": 4, "context": 64, "batch": 12, "dropout": 0.0, "steps": 300,
    },
    "6 layers, 384 wide, context 256, batch 16": {
        "layers": 6, "width": 384, "heads": 6, "context": 256, "batch": 16, "dropout": 0.2, "steps": 8,
    },
}  # fmt: skip
WAYS = ("float32", "compiled", "bfloat16")
PATIENCE = 150


def ours(shape: dict[str, Any], way: str) -> dict[str, Any]:
    """The loop that trains recipes, on random characters; run in a process of its own by ``--ours``."""
    import random
    import string

    from regard.runs.folder import RunFolder
    from regard.runs.recipe import Recipe
    from regard.runs.train import prepare
    from regard.training import machine

    machine.keep_memory()
    machine.set_threads(0)
    alphabet = (string.ascii_letters + string.digits + ".,;")[: VOCABULARY - 4]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        count = (shape["steps"] + 7) * shape["batch"] * shape["context"]
        text.write_text("".join(random.Random(1).choices(alphabet, k=count)), encoding="utf-8")
        tree = {
            "data": {"kind": "text", "file": str(text), "validation_share": 0.0},
            "tokenizer": {"kind": "character"},
            "model": {"kind": "gpt", "position": {"kind": "learned", "longest": shape["context"]},
                      **{name: shape[name] for name in ("layers", "width", "heads", "dropout")}},
            "task": {"kind": "language-model", "context": shape["context"], "sample": 0},
            "training": {"steps": 10**6, "batch_tokens": shape["batch"] * shape["context"], "learning_rate": 1e-3,
                         "precision": "bfloat16" if way == "bfloat16" else "float32",
                         "compile": way == "compiled", "optimizer": {"kind": "adamw"},
                         "schedule": {"kind": "constant"}},
        }  # fmt: skip
        loop = prepare(Recipe.of(tree), RunFolder(Path(folder) / "run"), machine.Ranks(), [])
        batches = loop.batches()
        for _ in range(5):
            loop.step(next(batches))
        before = loop.progress.seconds, loop.progress.tokens
        for _ in range(shape["steps"]):
            loop.step(next(batches))
        seconds, tokens = loop.progress.seconds - before[0], loop.progress.tokens - before[1]
    return {"tokens_per_second": round(tokens / seconds, 1), "seconds": round(seconds, 3)}


def in_a_process(script: Path, *arguments: str) -> float:
    """Tokens per second; 0 where patience ran out."""
    try:
        done = subprocess.run(
            [sys.executable, script, *arguments], check=True, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return 0.0
    return json.loads(done.stdout.splitlines()[-1])["tokens_per_second"]


def measured(name: str, shape: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Every side and way in turns; medians of tokens per second."""
    asked = [word for key, value in shape.items() for word in (f"--{key}", str(value))]
    peer = HERE / "peers" / "huggingface_language_model.py"
    found: dict[str, list[float]] = {}
    for number in range(rounds):
        for way in WAYS:
            sides = {
                "regard": lambda way=way: in_a_process(Path(__file__), "--ours", name, "--way", way),
                "peer": lambda way=way: in_a_process(peer, *asked, "--vocabulary", str(VOCABULARY), "--way", way),
            }
            for side, run in sides.items():
                speeds_so_far = found.setdefault(f"{side} {way}", [])
                if 0.0 not in speeds_so_far:  # too slow once, too slow always
                    speeds_so_far.append(run())
        said = ", ".join(f"{side} {own[-1]:,.0f}" for side, own in found.items())
        print(f"{name}, round {number + 1}: {said}", flush=True)
    speeds = {side: statistics.median(own) for side, own in found.items()}
    best = {side: max(speed for key, speed in speeds.items() if key.startswith(side)) for side in ("regard", "peer")}
    return {
        "tokens_per_second": speeds,
        "ratio_same": round(speeds["regard float32"] / speeds["peer float32"], 2),
        "ratio_best": round(best["regard"] / best["peer"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ours", choices=SHAPES, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=WAYS, default="float32", help=argparse.SUPPRESS)
    parser.add_argument("--shape", choices=SHAPES, help="This one alone, and nothing is written.")
    given = parser.parse_args()
    if given.ours:
        print(json.dumps(ours(SHAPES[given.ours], given.way)))
        return
    chosen = {given.shape: SHAPES[given.shape]} if given.shape else SHAPES
    shapes = {name: measured(name, shape, given.rounds) for name, shape in chosen.items()}
    for name, result in shapes.items():
        print(f"{name}: {result['ratio_same']:.2f} times (same precision), {result['ratio_best']:.2f} (best of each)")
    if not given.shape:
        write_result("language_model_speed", {"machine": machine_facts(), "shapes": shapes})


if __name__ == "__main__":
    main()

"""Training speed of a GPT, tokens per second, against a plain loop over Hugging Face's GPT-2 of its shape: ours and
the peer in one run, in turns.

    python benchmarks/language_model_speed.py [--rounds 12]

Same shape, dropout, optimiser (AdamW, clipped gradients) and precision first, then the best way of each: compiled or
not, in float32, or in bfloat16 where one matrix product is faster in it (a processor that emulates it takes minutes
for seconds). Each side and way waits in a process of its own and trains a few steps whenever it is its turn, so that
what else the machine does meets all of them; a ratio is the median over rounds (``turns.py``).
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

from common import machine_facts, write_result
from turns import bfloat16_is_faster, in_turns, ratio, train_in_turns, turns_parser

HERE = Path(__file__).resolve().parent
VOCABULARY = 69  # Shakespeare's 65 characters, and four special symbols
SHAPES: dict[str, dict[str, Any]] = {
    "4 layers, 128 wide, context 64, batch 12": {
        "layers": 4, "width": 128, "heads": 4, "context": 64, "batch": 12, "dropout": 0.0, "steps": 40,
    },
    "6 layers, 384 wide, context 256, batch 16": {
        "layers": 6, "width": 384, "heads": 6, "context": 256, "batch": 16, "dropout": 0.2, "steps": 2,
    },
}  # fmt: skip
WAYS = ("float32", "float32 compiled", "bfloat16", "bfloat16 compiled")


def ours(shape: dict[str, Any], way: str) -> None:
    """The loop that trains recipes, on random characters; run in a process of its own by ``--ours``.

    Says ``ready``, and then for each line that it is given how many tokens per second it trained.
    """
    import random
    import string

    from regard.training import machine

    machine.tune_allocator()
    machine.set_threads(0)
    alphabet = (string.ascii_letters + string.digits + ".,;")[: VOCABULARY - 4]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        count = 20 * shape["steps"] * shape["batch"] * shape["context"]
        text.write_text("".join(random.Random(1).choices(alphabet, k=count)), encoding="utf-8")
        tree = {
            "data": {"kind": "text", "train": str(text), "validation_share": 0.0},
            "tokenizer": {"kind": "character"},
            "model": {"kind": "gpt", "position": {"kind": "learned", "max_length": shape["context"]},
                      **{name: shape[name] for name in ("layers", "width", "heads", "dropout")}},
            "task": {"kind": "language-model", "max_length": shape["context"], "sample": 0},
            "training": {"steps": 10**6, "batch_tokens": shape["batch"] * shape["context"], "learning_rate": 1e-3,
                         "precision": way.split()[0], "compile": way.endswith("compiled"),
                         "optimizer": {"kind": "adamw"}, "schedule": {"kind": "constant"}},
        }  # fmt: skip
        train_in_turns(tree, Path(folder) / "run", 5, shape["steps"])


def worth_trying() -> tuple[str, ...]:
    if bfloat16_is_faster():
        return WAYS
    print("bfloat16 is left out: one product takes longer in it than in float32", flush=True)
    return tuple(way for way in WAYS if not way.startswith("bfloat16"))


def measured(name: str, shape: dict[str, Any], rounds: int, ways: tuple[str, ...]) -> dict[str, Any]:
    """Every side and way in turns; medians of tokens per second, and of their ratios."""
    asked = [word for key, value in shape.items() for word in (f"--{key}", str(value))]
    peer = HERE / "peers" / "huggingface_language_model.py"
    commands: dict[str, tuple[Path, list[str]]] = {}
    for way in ways:
        commands[f"regard {way}"] = Path(__file__), ["--ours", name, "--way", way]
        commands[f"peer {way}"] = peer, [*asked, "--vocabulary", str(VOCABULARY), "--way", way]
    found = in_turns(name, commands, rounds)
    speeds = {key: statistics.median(own) for key, own in found.items()}
    best = {
        side: max((key for key in speeds if key.startswith(side)), key=lambda key: speeds[key])
        for side in ("regard", "peer")
    }
    return {
        "tokens_per_second": {key: round(speed) for key, speed in speeds.items()},
        "ratio_same": ratio(found["regard float32"], found["peer float32"]),
        "ratio_best": ratio(found[best["regard"]], found[best["peer"]]),
        "best": best,
    }


def main() -> None:
    parser = turns_parser(__doc__.splitlines()[0], SHAPES, WAYS)
    given = parser.parse_args()
    if given.ours:
        ours(SHAPES[given.ours], given.way)
        return
    chosen = {given.shape: SHAPES[given.shape]} if given.shape else SHAPES
    ways = worth_trying()
    shapes = {name: measured(name, shape, given.rounds, ways) for name, shape in chosen.items()}
    for name, result in shapes.items():
        print(f"{name}: {result['ratio_same']:.2f} times (same precision), {result['ratio_best']:.2f} (best of each)")
    if not given.shape:
        write_result("language_model_speed", {"machine": machine_facts(), "shapes": shapes})


if __name__ == "__main__":
    main()

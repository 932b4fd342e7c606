"""Measures Joey NMT's training speed on Multi30k English-German, in `.venv-joeynmt`.

Joey NMT's own loop, `TrainManager.train_and_validate`, runs unaltered: batches, forward, loss, backward,
Adam, counters. We only note the clock whenever it enters `_train_step`. A measured step lasts from one entry
to the next, so that fetching the next batch is included, as it is in a real run. Nothing in it is patched.

Its `batch_type: token` puts sentences together in random order, without buckets, until
    sentences × max over them of (source pieces + 1, target pieces + 1)  >=  batch_size,
the sentence that reaches the budget included: the budget counts padding, on whichever side is longer.
"""

import argparse
import json
import logging
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import torch
from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

BENCHMARKS = Path(__file__).resolve().parent.parent
DATA = BENCHMARKS.parent.parent / "shared" / "data" / "multi30k" / "tok"
PIECES = BENCHMARKS / ".cache" / "joeynmt-pieces"
FILES = [f"{split}.{language}" for split in ("train", "val") for language in ("en", "de")]
MERGES = 10_000


def read_lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def require(folder: Path, remedy: str) -> None:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        sys.exit(f"{folder} lacks {', '.join(missing)}: {remedy}")


def segment(data: Path, pieces: Path) -> None:
    """Learns one BPE over both languages and writes the segmented files; once."""
    if all((pieces / name).is_file() for name in FILES):
        return
    pieces.mkdir(parents=True, exist_ok=True)
    codes = pieces / "codes"
    both = read_lines(data / "train.en") + read_lines(data / "train.de")
    with codes.open("w", encoding="utf-8") as outfile:
        learn_bpe(both, outfile, num_symbols=MERGES)
    with codes.open(encoding="utf-8") as infile:
        bpe = BPE(infile)
    for name in FILES:
        segmented = [bpe.process_line(line) for line in read_lines(data / name)]
        (pieces / name).write_text("\n".join(segmented) + "\n", encoding="utf-8")


def write_vocabulary(pieces: Path, file: Path) -> None:
    """The joint vocabulary: every piece of the training data, frequent ones first."""
    lines = [line for name in ("train.en", "train.de") for line in read_lines(pieces / name)]
    counts = Counter(piece for line in lines for piece in line.split())
    file.write_text("\n".join(piece for piece, _ in counts.most_common()) + "\n", encoding="utf-8")


def transformer(arguments: argparse.Namespace) -> tuple[dict, dict]:
    """Encoder and decoder. Its one `dropout` acts on attention weights, too."""
    half = {
        "type": "transformer",
        "num_layers": 4,
        "num_heads": 4,
        "hidden_size": 128,
        "ff_size": 256,
        "dropout": arguments.dropout,
        "layer_norm": arguments.layer_norm,
        "embeddings": {"embedding_dim": 128, "scale": True},
    }
    return half, dict(half)


def recurrent(arguments: argparse.Namespace) -> tuple[dict, dict]:
    """GRU encoder in both directions, GRU decoder with additive attention and input feeding."""
    both = {
        "type": "recurrent",
        "rnn_type": "gru",
        "hidden_size": 256,
        "num_layers": 1,
        "embeddings": {"embedding_dim": 256, "scale": False, "dropout": arguments.dropout},
    }
    decoder = {
        "attention": "bahdanau",
        "input_feeding": True,
        "init_hidden": "bridge",
        "hidden_dropout": arguments.dropout,
    }
    return {**both, "bidirectional": True}, {**both, **decoder}


MODELS = {"transformer": transformer, "recurrent": recurrent}


def configuration(arguments: argparse.Namespace, folder: Path) -> dict:
    """What would stand in Joey NMT's YAML file."""
    vocabulary = str(folder / "vocabulary.txt")
    encoder, decoder = MODELS[arguments.model](arguments)
    never = 10**9
    return {
        "name": "speed",
        "model_dir": str(folder),
        "use_cuda": False,
        "data": {
            "train": str(arguments.pieces / "train"),
            "dev": str(arguments.pieces / "val"),
            # The pieces are separated by spaces already: for Joey NMT they are words.
            "src": {"lang": "en", "level": "word", "voc_file": vocabulary},
            "trg": {"lang": "de", "level": "word", "voc_file": vocabulary},
        },
        "model": {"tied_embeddings": True, "tied_softmax": True, "encoder": encoder, "decoder": decoder},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 5e-4,
            "learning_rate_warmup": 1000,
            "learning_rate_min": 0.0,
            "scheduling": "warmupinversesquareroot",
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "batch_type": "token",
            "batch_size": arguments.batch_tokens,
            "epochs": never,
            # One step more than is measured: its entry is the end of the last measured one.
            "updates": arguments.warmup + arguments.steps + 1,
            "logging_freq": never,
            "validation_freq": never,
        },
        "testing": {},
    }


def train(settings: dict) -> list[dict]:
    """Trains as `joeynmt.training.train` does, and returns what was seen at each entry into a step."""
    args = parse_global_args(settings, rank=0, mode="train")
    model, train_data, dev_data, _ = prepare(args, rank=0, mode="train")
    trainer = TrainManager(
        rank=0,
        model=model,
        model_dir=args.model_dir,
        device=args.device,
        autocast=args.autocast,
        seed=args.seed,
        train_args=args.train,
        dev_args=set_validation_args(args.test),
    )
    entries: list[dict] = []
    train_step = trainer._train_step

    def noting_the_clock(batch):
        entries.append(
            {
                "clock": time.perf_counter(),
                "cpu_clock": time.process_time(),
                "sentences": batch.nseqs,
                # Unpadded positions of the loss: the pieces and <eos>, without <bos>.
                "target_tokens": batch.ntokens,
                "padded_target_tokens": batch.trg.numel(),
                "source_tokens": int(batch.src_mask.sum()),
                "padded_source_tokens": batch.src.numel(),
            }
        )
        return train_step(batch)

    trainer._train_step = noting_the_clock
    trainer.train_and_validate(train_data=train_data, valid_data=dev_data)
    return entries


def summary(entries: list[dict], warmup: int) -> dict:
    measured = entries[warmup:-1]
    clocks = [entry["clock"] for entry in entries[warmup:]]
    seconds = clocks[-1] - clocks[0]
    speeds = [
        entry["target_tokens"] / (end - start)
        for entry, (start, end) in zip(measured, pairwise(clocks), strict=True)
    ]
    totals = {key: sum(entry[key] for entry in measured) for key in measured[0] if not key.endswith("clock")}
    return {
        "steps": len(measured),
        "seconds": round(seconds, 3),
        # Far below threads × seconds: the process waited, perhaps for cores that others held.
        "cpu_seconds": round(entries[-1]["cpu_clock"] - entries[warmup]["cpu_clock"], 3),
        **totals,
        "target_tokens_per_second": round(totals["target_tokens"] / seconds, 1),
        # Over the steps: forgives a short disturbance, not a lasting one.
        "median_target_tokens_per_second": round(statistics.median(speeds), 1),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with {train,val}.{en,de}, tokenised")
    parser.add_argument("--pieces", type=Path, help="the same, already segmented: pieces separated by spaces")
    parser.add_argument("--model", choices=MODELS, default="transformer")
    parser.add_argument("--batch-tokens", type=int, required=True)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--layer-norm", choices=("pre", "post"), default="post")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    logging.disable(logging.INFO)
    if arguments.pieces is None:
        require(arguments.data, "name the folder of the tokenised Multi30k with --data")
        arguments.pieces = PIECES
        segment(arguments.data, arguments.pieces)
    require(arguments.pieces, "name a folder of segmented files with --pieces")
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder) / "vocabulary.txt"
        write_vocabulary(arguments.pieces, vocabulary)
        entries = train(configuration(arguments, Path(folder)))
        size = len(read_lines(vocabulary))
    result = {
        "peer": "joeynmt",
        "model": arguments.model,
        "version": version("joeynmt"),
        "torch": torch.__version__,
        **summary(entries, arguments.warmup),
        "vocabulary": size + 4,  # Joey NMT adds <unk>, <pad>, <s>, </s>
        "batch_tokens": arguments.batch_tokens,
        "dropout": arguments.dropout,
        "layer_norm": arguments.layer_norm,
        "threads": torch.get_num_threads(),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()

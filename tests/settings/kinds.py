"""Tiny recipes: for every kind that a table of a recipe may have, one in which it takes part and trains at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Tree = dict[str, Any]

SIZES: Tree = {"train_size": 40, "validation_size": 8, "test_size": 8}
WORLD: Tree = {**SIZES, "compositional_size": 4}

DATA_TABLES: dict[str, Tree] = {
    "small-world": WORLD, "toy": SIZES, "world-trees": WORLD, "world-english": SIZES, "world-moods": WORLD,
    "world-tags": WORLD, "world-questions": WORLD, "python-english": {"validation_share": 0.001},
    "python-code": {"packages": ["json"]}, "waves": {"hours": 400}, "wave-shapes": SIZES, "movie-reviews": {"some": 20},
    "pairs": {"train": "pairs.tsv"}, "trees": {"train": "trees.txt"}, "text": {"train": "text.txt"},
    "text-table": {"train": "pairs.tsv", "text": "source"}, "labelled": {"train": "pairs.tsv", "text": "source"},
    "pictures": {"train": "pictures"}, "sounds": {"train": "tones"}, "speech": {"train": "said.csv"},
    "series": {"train": "hours.csv"}, "labelled-series": {"train": "shapes.ts"}, "tagged": {"train": "tagged.txt"},
    "questions": {"train": "questions.jsonl"}, "graphs": {"train": "graphs.jsonl"}, "grey-digits": {},
    "graph-nodes": {"train": "clubs.json", "label": "club"}, "graph-links": {"train": "clubs.json"},
    "keypad": {**SIZES, "min_length": 2, "max_length": 3}, "videos": {"train": "clips"}, "moving-shapes": WORLD,
}  # fmt: skip
SLOW = ("movie-reviews", "python-english", "python-code")
"""Data that is read or learned in seconds, and is like other data that is not."""
DIVIDED_BY_SHARE = ("text", "series", "graph-links")
MODALITY_OF = {
    "pictures": "image", "sounds": "audio", "speech": "audio", "series": "series", "waves": "series",
    "labelled-series": "series", "wave-shapes": "series", "graphs": "graph", "graph-nodes": "graph",
    "graph-links": "graph", "keypad": "audio", "videos": "video", "moving-shapes": "video",
}  # fmt: skip

INPUT_TABLES: dict[str, Tree] = {
    "audio": {"features": {"bins": 8}}, "image": {"size": 8}, "video": {"frames": 4, "size": 8},
}  # fmt: skip
TASK_TABLES: dict[str, Tree] = {
    "language-model": {"max_length": 16, "sample": 0}, "masked-language-model": {"max_length": 16},
    "forecasting": {"context": 18, "horizon": 6}, "question-answering": {"max_length": 24, "stride": 4},
}  # fmt: skip
MODEL_TABLES: dict[str, Tree] = {
    "fixed-context": {"embedding": {"width": 8}}, "bahdanau": {"embedding": {"width": 8}},
    "luong": {"embedding": {"width": 8}}, "convolution": {"encoder_layers": 1, "decoder_layers": 1},
    "transformer": {"encoder_layers": 1, "decoder_layers": 1, "heads": 2}, "recurrent": {"embedding": {"width": 8}},
    "gpt": {"layers": 1, "heads": 2}, "llama": {"layers": 1, "heads": 2}, "transformer-xl": {"layers": 1, "heads": 2},
    "bert": {"layers": 1, "heads": 2},
    "hierarchical": {"layers": 1, "heads": 2, "part": 4, "summary_layers": 1},
    "vit": {"layers": 1, "heads": 2, "front": {"kind": "patches", "size": 4}},
    "graph-transformer": {"layers": 1, "heads": 2},
}  # fmt: skip
PART_TABLES: dict[str, Tree] = {
    "attention=window": {"size": 3}, "attention=dilated": {"size": 2, "stride": 2},
    "attention=longformer": {"size": 3}, "attention=sinks": {"size": 3, "sinks": 1},
    "attention=blockwise": {"block": 2}, "attention=block-sparse": {"block": 3}, "attention=bigbird": {"block": 2},
    "attention=top-k": {"keys": 2}, "attention=linformer": {"rows": 3, "max_length": 16},
    "attention=reformer": {"buckets": 4, "chunk": 2, "rounds": 2},
    "attention=performer": {"features": 8}, "scaling=llama3": {"trained": 10}, "features=waveform": {"hop": 0.05},
    "features=log-mel": {"bins": 8}, "front=hierarchy": {"sizes": [4, 2]}, "front=convolution": {"channels": [4, 6]},
    "front=patches": {"size": 4}, "embedding=learned": {"width": 8}, "adjacency=mask": {"heads": 1},
    "source=wordpiece": {"vocabulary": 200}, "target=wordpiece": {"vocabulary": 200},
}  # fmt: skip
WORDS: Tree = {"kind": "word", "min_frequency": 1}
PIECES: Tree = {"kind": "wordpiece", "vocabulary": 200, "min_frequency": 1}

DATA_OF_TASK = {
    "translation": "toy", "parsing": "trees", "language-model": "world-english", "classification": "world-moods",
    "regression": "labelled", "tagging": "world-tags", "question-answering": "world-questions",
    "embedding": "small-world", "masked-language-model": "world-english", "forecasting": "series",
    "node-classification": "graph-nodes", "link-prediction": "graph-links", "temporal-classification": "keypad",
    "transcription": "keypad",
}  # fmt: skip
MODEL_OF_TASK = {
    "translation": "transformer", "parsing": "transformer", "transcription": "transformer",
    "language-model": "gpt", "forecasting": "vit",
    "node-classification": "graph-transformer", "link-prediction": "graph-transformer",
}  # fmt: skip
TASK_OF_MODEL = {
    "recurrent": "language-model", "gpt": "language-model", "llama": "language-model",
    "transformer-xl": "language-model", "bert": "classification", "hierarchical": "classification",
    "vit": "classification", "graph-transformer": "classification",
}  # fmt: skip
DATA_OF_MODEL = {"vit": "pictures", "graph-transformer": "graphs"}
TASK_OF_DATA = {
    "small-world": "translation", "toy": "translation", "pairs": "translation", "trees": "parsing",
    "world-trees": "parsing", "text": "language-model", "text-table": "language-model",
    "python-english": "language-model", "python-code": "language-model", "world-english": "language-model",
    "series": "forecasting", "waves": "forecasting", "world-tags": "tagging", "tagged": "tagging",
    "questions": "question-answering", "world-questions": "question-answering",
    "graph-nodes": "node-classification", "graph-links": "link-prediction", "grey-digits": "language-model",
    "keypad": "temporal-classification", "speech": "temporal-classification",
}  # fmt: skip
DATA_OF_INPUT = {
    "text": "toy", "image": "pictures", "audio": "sounds", "graph": "graphs", "series": "series",
    "video": "moving-shapes",
}  # fmt: skip


def recipe(files: Path, task: str, data: str = "", model: str = "") -> Tree:
    """A tiny recipe of this task, on these data and with this model where they are said."""
    data = data or DATA_OF_TASK[task]
    modality = MODALITY_OF.get(data, "text")
    model = model or MODEL_OF_TASK.get(task, {"graph": "graph-transformer", "text": "bert"}.get(modality, "vit"))
    tree: Tree = {
        "data": data_table(files, data),
        "model": {"kind": model, "width": 8, "dropout": 0.1, **MODEL_TABLES[model]},
        "task": {"kind": task, **TASK_TABLES.get(task, {})},
        "training": {"steps": 2, "batch_tokens": 96, "threads": 1, "schedule": {"kind": "constant"}},
    }
    if task in ("temporal-classification", "transcription"):
        if model in ("vit", "transformer"):
            tree["model"]["front"] = {"kind": "patches", "size": [2, 8], "class_token": False}
        tree["training"]["batch_tokens"] = 400  # frames
        tree["tokenizer"] = {"kind": "character", "min_frequency": 1}
    if modality == "text":
        return {**tree, "tokenizer": PIECES if task == "masked-language-model" else WORDS}
    return {**tree, "input": {"kind": modality, **INPUT_TABLES.get(modality, {})}}


def data_table(files: Path, kind: str) -> Tree:
    table = {"kind": kind, **DATA_TABLES[kind]}
    if "train" not in table:
        return table
    return {**table, "folder": str(files), **({} if kind in DIVIDED_BY_SHARE else {"validation_size": 4})}


def recipe_with(files: Path, table: str, kind: str) -> Tree:
    """A tiny recipe in which a table of the first level has this kind."""
    if table == "task":
        return recipe(files, kind)
    if table == "model":
        return recipe(files, TASK_OF_MODEL.get(kind, "translation"), DATA_OF_MODEL.get(kind, ""), kind)
    data = kind if table == "data" else DATA_OF_INPUT.get(kind, "toy")
    tree = recipe(files, TASK_OF_DATA.get(data, "classification"), data)
    if table in ("data", "input"):
        return tree
    own: Tree = {"kind": kind, **({"min_frequency": 1} if kind in ("word", "whitespace") else {})}
    return {**tree, table: own}


def file_values(files: Path, kind: str, key: str) -> list[Any]:
    """Other files for a split."""
    name = str(files / DATA_TABLES[kind]["train"])
    return [[name, name]] if key == "train" else [{"others": name}] if key == "other_splits" else [name]

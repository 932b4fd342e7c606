"""Another valid value for each key, and what must stand beside it for its effect to be seen."""

from __future__ import annotations

import typing
from typing import Any

from tests.settings.kinds import WORLD, Tree

LISTED = {
    "format": "says how the file is written; other values are refused, or upgraded as they are read",
    "name": "what the run is called",
    "description": "a sentence for people",
    "device": "where it is computed; here is only a CPU",
    "training.threads": "how fast it is computed; sums are rounded differently",
    "training.recompute": "less memory for more work: the same gradients",
    "training.compile": "how fast it is computed",
    "training.precision": "how fast it is computed, and rounded; auto takes float32 where nothing narrower is fast",
    "training.keep": "how many checkpoints are kept on the disk",
    "training.log_every": "which lines are written to metrics.jsonl",
    "input=image.decode": "how fast JPEG is decoded, where a picture is much larger than it is read",
    "data=pictures.verify": "whether every picture is decoded before training, so that a damaged one is found then",
    "start.taken": "written by the run itself: the model of start.run stands in the recipe already",
    "data=movie-reviews.*": "of a data set that is not part of the repository",
    "tokenizer=imported.*": "comes with an imported model; the tests of importing see that each symbol counts",
    "model=*.embedding=borrowed.*": "needs files of vectors; tests/runs/test_pretrained_vectors.py sees every key",
}
"""Keys that change only speed, place or what people read, or that other tests look at, each with the reason."""

OTHERS: dict[str, list[Any]] = {
    "data=pairs.source_column": ["label"], "data=pairs.target_column": ["label"],
    "data=text-table.text": ["target"],
    "data=labelled.text": ["target"], "data=labelled.second": ["target"],
    "data=labelled.label": ["group"], "data=labelled.group": ["group"],
    "data=python-code.packages": [["email"]],
    "data=pictures.image": ["path"], "data=pictures.label": ["class"],
    "data=pictures.shape": [[8, 8]], "data=pictures.classes": [["a", "b"]],
    "data=series.time": ["z"], "data=series.values": [["z"]],
    "data=graph-nodes.label": ["parity"], "data=graph-nodes.split": ["part"],
    "task=tagging.scheme": ["bio"], "data=tagged.tag": [1, 2], "data=keypad.decibels": [[5.0, 10.0]],
    "input=video.size": [4], "model=*max_length": [2], "task=parsing.max_length": [2],
    "data=graphs.label": ["half"], "data=graphs.group": ["half"],
    "input=image.size": [4], "input=image.resized": [12],
    "input=image.mean": [[0.1, 0.2, 0.3]], "input=image.std": [[0.1, 0.2, 0.3]],
    "input=audio.augmentation.noise": [[1.0, 9.0]],
    "input=series.calendar": [["week"]],
    "*=wordpiece.vocabulary": [40], "tokenizer=bpe.vocabulary": [262], "tokenizer=code.vocabulary": [262],
    "*.layout": [["x...", "xx..", ".xx.", "..xx"]], "*.pattern": [["full", "local"]],
    "*front=patches.size": [2], "*front=hierarchy.sizes": [[4]],
    "*front=convolution.channels": [[4, 8]], "*front=convolution.strides": [[2, 1]],
    "*front=convolution.size": [2],
    "task=forecasting.targets": [["z"]], "task=forecasting.quantiles": [[0.2, 0.5, 0.8]],
    "task=forecasting.seasons": [[5]], "task=forecasting.units": [[3.0, 2.0]],
    "task=*.labels": [["a", "b", "c", "d"]],
    "task=regression.names": [["a", "b"]], "task=regression.mean": [[3.0]], "task=regression.std": [[3.0]],
    "task=question-answering.threshold": [-50.0, 50.0],
    "start.frozen": [["*embedding*"]], "start.adapters.targets": [["*.output"]],
}  # fmt: skip
"""Another value where none can be guessed by the type of the key, by its name or a pattern of names."""

SPLITS = ("train", "validation", "test", "other_splits")
NO_VALIDATION: Tree = {"data.validation_size": None, "data.validation_share": None}
BESIDE: dict[str, Tree] = {
    "tokenizer=*": {"data": {"kind": "small-world", **WORLD}},
    "*attention=reformer.*": {"model.projection": {"kind": "shared"}},
    "*=alternating.pattern": {"model.attention.local": {"kind": "window", "size": 2}},
    "*=grid.rows": {"model.position.columns": 2},
    "data=graph-nodes.validation": {"data.validation_size": 0},
    "data=*.validation": NO_VALIDATION,
    "*=experts.active_groups": {"model.feed_forward.groups": 2},
    "*=experts.group_best": {"model.feed_forward.groups": 4},
    "*=experts.dense_width": {"model.feed_forward.dense": 1},
    "model=transformer.cross": {"model.encoder_layers": 2, "model.decoder_layers": 2},
    "input=video.resize": {"input.size": [8, 4]},
    "task=*.keep": {"task.max_length": 6},
    "task=tagging.piece": {"tokenizer": {"kind": "bpe", "vocabulary": 300}},
    "task=question-answering.unanswerable": {"task.unanswerable": "yes", "task.threshold": -50.0},
    "task=question-answering.threshold": {"task.unanswerable": "yes"},
    "*.average": {"training.final": "average", "training.checkpoint_every": 1},
    "training.final": {"training.validate_every": 1, "training.learning_rate": 0.1},
    "training.patience": {"training.validate_every": 1, "training.steps": 6, "training.learning_rate": 0.3},
    "task=language-model.prompt": {"task.sample": 4},
}
"""What else must be set, by the key's name or a pattern of names."""


def guesses(annotation: Any, now: Any) -> list[Any]:
    """Other values of this type."""
    if annotation is bool:
        return [not now]
    if typing.get_origin(annotation) is typing.Literal:
        return [value for value in typing.get_args(annotation) if value != now]
    if annotation is int:
        usual = [1, 2, 3, now // 2 if isinstance(now, int) else 5, 4, 0, 7, 16, 60, 280]
        return [value for value in dict.fromkeys(usual) if value != now]
    if annotation is float:
        return [value for value in (0.5, 0.25, 2.0, 0.9, 0.05, 1.0, 0.001) if value != now]
    return ["a"] if annotation is str else []

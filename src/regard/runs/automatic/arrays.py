"""What is proposed for pictures, sounds, series and graphs, with reasons."""

from __future__ import annotations

from typing import Any, TypeVar

from regard.core import rules
from regard.data.discovery.found import Discovery, GraphFacts, PictureFacts, SeriesFacts, SoundFacts, numbered
from regard.runs.automatic.proposal import Decision, Proposal, Size
from regard.runs.automatic.texts import is_unbalanced

KnownFacts = TypeVar("KnownFacts")


def pictures(found: Discovery) -> Proposal:
    """What is said of a picture: a Vision Transformer behind a small convolutional stem."""
    facts = _facts(found, PictureFacts)
    side = rules.picture_side(max((max(size) for size in facts.sizes), default=32))
    channels = 1 if set(facts.modes) == {"grey"} else 3
    decisions = [
        Decision("input.kind", "image"),
        Decision("input.channels", channels, "grey" if channels == 1 else "colour"),
        Decision("input.size", [side, side], "rows and columns"),
        Decision("input.augmentation", {"flip": True}, "a mirrored picture has the same class"),
        Decision("model.kind", "vit", "patches as tokens"),
        Decision("model.position", {"kind": "sinusoidal"}),
        *_question(found),
        Decision("training.optimizer", {"kind": "muon", "others": 0.4}),
        Decision("training.learning_rate", 0.01),
        Decision("training.precision", "auto"),
    ]
    sizes = []
    for layers, width in rules.PICTURE_LADDER:
        stem, strides = rules.stem(side, width)
        front = {"kind": "convolution", "channels": stem, "strides": strides, "size": 1, "class_token": False}
        sizes.append(_size(layers, width, front))
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_PICTURES, rules.POSITIONS_OF_A_PICTURE)


def sounds(found: Discovery) -> Proposal:
    """What is said of a sound: an encoder over slices of its spectrogram, behind a convolutional stem."""
    facts = _facts(found, SoundFacts)
    rate = next(iter(facts.rates))
    bins = rules.mel_bins(rate)
    seconds = rules.hearing(facts.milliseconds.p95 / 1000)
    decisions = [
        Decision("input.kind", "audio"),
        Decision("input.seconds", seconds, "what is longer is cut; 5 % are longer at the most"),
        Decision("input.rate", rate, "samples a second; others are resampled" if len(facts.rates) > 1 else ""),
        Decision("input.features", {"kind": "log-mel", "bins": bins}, "how strong each pitch is over time"),
        Decision("input.augmentation", {"shift": 0.02, "time_masks": 1, "pitch_masks": 1}, "more to learn from"),
        Decision("model.kind", "vit", "slices of time as tokens"),
        Decision("model.position", {"kind": "sinusoidal"}),
        *_question(found),
        Decision("model.dropout", 0.2, "strong, since labels carry little information"),
        *_adam(),
        Decision("training.batch_tokens", rules.batch_of(found.examples["train"], 100 * facts.milliseconds.mean / 1000),
                 "frames of 10 milliseconds"),
    ]  # fmt: skip
    sizes = []
    for layers, width in rules.SOUND_LADDER:
        front = {"kind": "convolution", "channels": [width // 4, width // 2], "strides": [2, 2],
                 "size": [1, bins // rules.FRAMES_A_SLICE], "class_token": False}  # fmt: skip
        sizes.append(_size(layers, width, front))
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_SOUNDS, 1 / rules.FRAMES_A_SLICE)


def series(found: Discovery) -> Proposal:
    """Which class a series has: an encoder over its steps."""
    facts = _facts(found, SeriesFacts)
    patch = rules.steps_a_patch(facts.steps.p95)
    decisions = [
        Decision("input.kind", "series"),
        Decision("input.normalise", "channel", "the level of a series may say what it is"),
        Decision("model.kind", "vit", f"{patch} steps as a token" if patch > 1 else "steps as tokens"),
        Decision("model.position", {"kind": "sinusoidal"}),
        *_question(found),
        Decision("model.dropout", 0.2, "strong, since labels carry little information"),
        Decision("input.length", -(-facts.steps.longest // patch) * patch, "steps; the longest is read whole"),
        *_adam(),
        Decision("training.batch_tokens", rules.batch_of(found.examples["train"], facts.steps.mean), "steps"),
    ]
    front = {"kind": "patches", "size": patch, "class_token": False}
    sizes = tuple(_size(layers, width, front) for layers, width in rules.ENCODER_LADDER)
    return Proposal(found.data, tuple(decisions), sizes, rules.EPOCHS_OF_SERIES, 1 / patch)


def forecasting(found: Discovery) -> Proposal:
    """What comes next: an encoder over patches of what was, and of what is to be."""
    facts = _facts(found, SeriesFacts)
    lengths = rules.forecast_lengths(facts.steps.longest, facts.season)
    season = f"{facts.season} steps, after which things recur," if facts.season else "no season is known, so 12 steps"
    decisions = [
        Decision("input.kind", "series"),
        Decision("model.kind", "vit", f"{lengths.patch} steps as a token"),
        Decision("task.kind", "forecasting", "times, and numbers beside"),
        Decision("task.context", lengths.context, "steps that are read"),
        Decision("task.horizon", lengths.horizon, f"steps that are forecast; {season} are the measure"),
        Decision("model.dropout", 0.0, "windows overlap, and each is seen a few times only"),
        Decision("task.dropout", 0.0),
        Decision("training.optimizer", {"kind": "muon"}, "fewer steps than Adam for the same loss"),
        Decision("training.learning_rate", 0.01),
        Decision("training.batch_tokens", 64 * (lengths.context + lengths.horizon), "64 windows"),
    ]
    front = {"kind": "patches", "size": lengths.patch, "class_token": False}
    sizes = tuple(_size(layers, width, front) for layers, width in rules.SERIES_LADDER)
    return Proposal(found.data, tuple(decisions), sizes, rules.EPOCHS_OF_FORECASTS, 1 / lengths.patch)


def graphs(found: Discovery) -> Proposal:
    """What is said of a graph: an encoder whose nodes see one another, and know how far they are apart."""
    facts = _facts(found, GraphFacts)
    decisions = [
        Decision("input.kind", "graph"),
        Decision("input.structure", {"random_walk": 8, "distance": 6, "degree": 4}, "where in a graph each node is"),
        Decision("model.kind", "graph-transformer", "nodes as tokens"),
        *_question(found),
        Decision("task.pooling", "sum", "how many nodes there are counts too"),
        Decision("model.dropout", 0.1 if found.task == "regression" else 0.2),
        *([Decision("task.loss", "absolute", "outliers count no more than others")] if found.task == "regression"
          else []),
        *_adam(),
        Decision("training.batch_tokens", rules.batch_of(found.examples["train"], facts.nodes.mean), "nodes"),
    ]  # fmt: skip
    sizes = tuple(_size(layers, width) for layers, width in rules.GRAPH_LADDER)
    return Proposal(found.data, tuple(decisions), sizes, rules.EPOCHS_OF_GRAPHS)


def _facts(found: Discovery, kind: type[KnownFacts]) -> KnownFacts:
    assert isinstance(found.inputs, kind), f"{kind.__name__} are expected, found {found.inputs!r}"
    return found.inputs


def _question(found: Discovery) -> list[Decision]:
    """A class, or a number, of the whole."""
    if found.task == "regression":
        return [Decision("task.kind", "regression", "a number for each")]
    unequal = Decision("task.balance", "classes", "the most frequent class is ten times the rarest or more")
    kind = Decision("task.kind", "classification", f"{len(found.labels):,} labels")
    return [kind, *([unequal] if is_unbalanced(found.labels) else [])]


def _adam() -> list[Decision]:
    return [
        Decision("training.optimizer", {"kind": "adamw"}),
        Decision("training.learning_rate", 1e-3, "for narrow models"),
        Decision("training.schedule", {"kind": "cosine"}),
    ]


def _size(layers: int, width: int, front: dict[str, Any] | None = None) -> Size:
    settings = {"model.layers": layers, "model.width": width, **({"model.front": front} if front else {})}
    return Size(f"{numbered(layers, 'layer')}, width {width}", settings)

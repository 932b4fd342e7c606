"""What must be true of every modality: inputs are encoded alone, padding is invisible, loaded equals saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch

from regard.core.config import parse
from regard.core.inputs import Inputs
from regard.core.seams.modality import Modality
from regard.data import TOKENIZERS, TokenizerPart
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.modalities import MODALITIES, ModalityPart
from regard.data.modalities.audio.sounds import LabelledSound, Waveform
from regard.data.modalities.both import Modalities
from regard.data.modalities.graph.examples import LabelledGraph
from regard.data.modalities.graph.graphs import Edge, Node, make
from regard.data.modalities.image.pictures import LabelledPicture
from regard.data.modalities.series.series import Clock, LabelledSeries, Series, SeriesSplit, Window
from regard.data.modalities.text.tokenizers import BpeTokenizer, ImportedTokenizer
from regard.data.modalities.text.vocabularies import JOINT
from regard.data.modalities.video.clips import Frames, LabelledClip
from regard.runs.recipe import Recipe

TEXTS = ("the cat sleeps", "a", "zebras, the old man and the dog sleep here", "the dog\tthe dog sleeps")
PAIRS = tuple(Pair(f"the {one} cat sleeps", f"die {one} Katze schläft") for one in ("old", "young", "old", "grey"))
PICTURES = tuple(
    np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    for seed, shape in enumerate(((7, 5, 3), (6, 4), (4, 9, 3), (12, 8, 3)))
)
SOUNDS = tuple(
    Waveform(np.random.default_rng(seed).uniform(-0.7, 0.7, count).astype(np.float32), rate)
    for seed, (count, rate) in enumerate(((701, 1000), (80, 1000), (1103, 1500), (1999, 1000)))
)
GRAPHS = tuple(
    make(
        [Node(name, {"colour": "red" if name in "abe" else "green", "weight": float(place)})
         for place, name in enumerate(names)],
        [Edge(*ends, {"kind": "long" if "a" in ends else "short"}) for ends in edges],
    ).graph
    for names, edges in (
        ("abcde", ("ab", "bc", "cd", "bd", "de")), ("ab", ("ab",)), ("abcdefg", ("ab", "bc", "ca", "cd", "de", "fg")),
        ("a", ()),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A modality by its tables in a recipe, what it learns from, inputs that differ in length, and a small reader."""

    name: str
    table: dict[str, Any]
    corpus: Any
    raws: Sequence[Any]
    model: dict[str, Any]

    @cached_property
    def recipe(self) -> Recipe:
        return parse(Recipe, {**self.table, "model": self.model})  # no question is asked of it

    @property
    def part(self) -> ModalityPart:
        return self.recipe.input

    @property
    def tokenizer(self) -> TokenizerPart:
        return self.recipe.tokenizer

    @cached_property
    def modalities(self) -> Modalities:
        if not isinstance(self.tokenizer, ImportedTokenizer):
            return self.part.fit(self.corpus, self.tokenizer)
        with TemporaryDirectory() as folder:  # never trained: it comes as a file
            BpeTokenizer(vocabulary=280).train(one.source for one in PAIRS).save(Path(folder) / JOINT)
            return self.part.load(Path(folder), self.tokenizer)

    def reader(self) -> Any:
        torch.manual_seed(3)
        return self.recipe.model.build(self.modalities.ports()).eval()


def text(**tokenizer: Any) -> Subject:
    name = tokenizer["kind"] + ("" if tokenizer.get("joint", True) else "-apart")
    reader = {"kind": "bert", "layers": 1, "width": 12, "heads": 3, "position": {"max_length": 64}}
    return Subject(f"text-{name}", {"tokenizer": tokenizer}, Corpus({"train": PAIRS}, Ledger()), TEXTS, reader)


def image(name: str, **table: Any) -> Subject:
    corpus: Any = Corpus({"train": tuple(LabelledPicture(one, "a") for one in PICTURES)}, Ledger())  # type: ignore[arg-type]
    reader = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "front": {"kind": "patches", "size": 2}}
    return Subject(name, {"input": {"kind": "image", **table}}, corpus, PICTURES, reader)


def audio(name: str, front: dict[str, Any], **table: Any) -> Subject:
    corpus: Any = Corpus({"train": tuple(LabelledSound(one, "a") for one in SOUNDS)}, Ledger())
    reader = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "front": front, "position": {"kind": "sinusoidal"}}
    return Subject(name, {"input": {"kind": "audio", **table}}, corpus, SOUNDS, reader)


MEL = {"kind": "log-mel", "bins": 6, "hop": 0.02, "window": 0.07}


def graph(name: str, **table: Any) -> Subject:
    corpus: Any = Corpus({"train": tuple(LabelledGraph(one, "a") for one in GRAPHS)}, Ledger())
    reader = {"kind": "graph-transformer", "layers": 1, "width": 12, "heads": 3}
    return Subject(name, {"input": {"kind": "graph", **table}}, corpus, GRAPHS, reader)


def series(name: str, *, labelled: bool, **table: Any) -> Subject:
    generator = np.random.default_rng(7)
    clock = Clock(1_704_067_200, 6 * 3600, "s")
    made = []
    for length in (5, 3, 13, 8):
        values_NC = 40 + 7 * generator.standard_normal((length, 2))
        values_NC[length // 2, 1] = np.nan
        made.append(Series(values_NC, ("load", "price"), clock, f"series of {length}"))
    learned = tuple(
        LabelledSeries(one, "a") if labelled else SeriesSplit(one, 0, len(one)) for one in (*made[:2], *made[3:])
    )
    corpus: Any = Corpus({"train": learned}, Ledger())
    raws = [*made, Window(made[2], 3, 7, 5)]
    reader = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "front": {"kind": "patches", "size": 4}}
    return Subject(name, {"input": {"kind": "series", **table}}, corpus, raws, reader)


def video(name: str, front: dict[str, Any], position: str, **table: Any) -> Subject:
    generator = np.random.default_rng(5)
    clips = tuple(Frames(generator.integers(0, 256, (count, 6, 8, 3), np.uint8)) for count in (5, 3, 9, 8))
    corpus: Any = Corpus({"train": tuple(LabelledClip(one, "a") for one in clips)}, Ledger())
    reader = {"kind": "vit", "layers": 1, "width": 12, "heads": 3, "front": front, "position": {"kind": position}}
    return Subject(name, {"input": {"kind": "video", **table}}, corpus, clips, reader)


SUBJECTS = [
    video("video", {"kind": "patches", "size": [2, 3, 4]}, "factorised"),
    video("video-grey", {"kind": "patches", "size": [3, 2, 2], "class_token": False}, "sinusoidal", size=[6, 4],
          frames=6, channels=1, resize="stretch"),
    series("series", labelled=False, length=16, calendar=["day", "week"]),
    series("series-by-channel", labelled=True, length=16, normalise="channel"),
    text(kind="bpe", vocabulary=280),
    text(kind="bpe", vocabulary=280, dropout=0.2, joint=False),
    text(kind="word", min_frequency=1),
    text(kind="whitespace", min_frequency=1),
    text(kind="character"),
    text(kind="byte"),
    text(kind="per-side", joint=False, source={"kind": "character"}, target={"kind": "bpe", "vocabulary": 280}),
    text(kind="code", vocabulary=280),
    text(kind="wordpiece", vocabulary=60, min_frequency=1),
    text(kind="imported", sos=2, eos=1, unk=3),  # symbols in another order, and none for padding
    image("image", size=[6, 4]),
    image("image-grey", size=[6, 4], channels=1, resize="stretch", augmentation={"shift": 2, "flip": True}),
    audio("audio-mel", {"kind": "patches", "size": [4, 3]}, features=MEL,
          augmentation={"shift": 0.1, "noise": [0, 20], "time_masks": 1, "pitch_masks": 1, "pitch_mask": 3}),
    audio("audio-mel-convolution", {"kind": "convolution", "channels": [5], "strides": [2], "size": [2, 3]},
          features=MEL, rate=900),
    audio("audio-waveform", {"kind": "patches", "size": 3}, features={"kind": "waveform", "hop": 0.013}),
    audio("audio-hierarchy", {"kind": "hierarchy", "sizes": [12, 5, 2]}, features={"kind": "waveform", "hop": 0.01}),
    audio("audio-mel-hierarchy", {"kind": "hierarchy", "sizes": [8, 3], "class_token": False}, features=MEL),
    graph("graph"),
    graph("graph-placed", scale="none", hops=2, augmentation={"drop_nodes": 0.3, "drop_edges": 0.2},
          structure={"laplacian": 2, "random_walk": 3, "degree": 2, "distance": 2}),
]  # fmt: skip


every_modality = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


def assert_same(one: Inputs, other: Inputs) -> None:
    assert torch.equal(one.values, other.values)
    for ours, theirs in (
        (one.lengths_B, other.lengths_B), (one.segments_BN, other.segments_BN), (one.edges_M3, other.edges_M3),
        (one.pairs_BNNC, other.pairs_BNNC),
    ):
        assert (ours is None) == (theirs is None)
        assert ours is None or torch.equal(ours, theirs)  # type: ignore[arg-type]


def test_no_modality_and_no_tokenizer_escapes_the_laws() -> None:
    assert {one.part.kind for one in SUBJECTS} == set(MODALITIES.kinds())
    assert {one.tokenizer.kind for one in SUBJECTS if one.part.is_text} == set(TOKENIZERS.kinds())


@every_modality
def test_it_is_a_modality(subject: Subject) -> None:
    modality = subject.modalities.input
    assert isinstance(modality, Modality)
    assert modality.port() == subject.modalities.ports()["input"]
    assert modality.name
    assert modality.batch_positions > 0


@every_modality
def test_an_input_is_encoded_alone(subject: Subject) -> None:
    modality = subject.modalities.input
    together, backwards = modality.encode(subject.raws), modality.encode(subject.raws[::-1])
    assert len(together) == len(subject.raws)
    for raw, item, again in zip(subject.raws, together, reversed(backwards), strict=True):
        (alone,) = modality.encode([raw])
        for other in (alone, again):
            assert_same(modality.collate([other]), modality.collate([item]))
            assert modality.size(other) == modality.size(item) > 0
            assert modality.cut(other) == modality.cut(item) == 0
            assert modality.axis(other) == modality.axis(item)


@every_modality
def test_padding_is_invisible(subject: Subject) -> None:
    modality, model = subject.modalities.input, subject.reader()
    items = modality.encode(subject.raws)
    with torch.no_grad():
        together = model.represent(modality.collate(items))
        for row, item in enumerate(items):
            alone = model.represent(modality.collate([item]))
            assert alone.lengths_B is None or alone.lengths_B.tolist() == [alone.x_BND.shape[1]]
            own = together.x_BND[row : row + 1, : alone.x_BND.shape[1]]
            torch.testing.assert_close(own, alone.x_BND, atol=1e-5, rtol=1e-5)
            if together.lengths_B is not None:
                assert together.lengths_B[row] == alone.x_BND.shape[1]


@every_modality
def test_saved_and_loaded_is_the_same(subject: Subject, tmp_path: Path) -> None:
    assert not subject.part.is_kept(tmp_path)
    subject.modalities.save(tmp_path)
    assert subject.part.is_kept(tmp_path)
    loaded = subject.part.load(tmp_path, subject.tokenizer)
    assert loaded.ports() == subject.modalities.ports()
    if subject.part.is_text:
        assert loaded.vocabularies.dropout == subject.modalities.vocabularies.dropout == subject.tokenizer.pair_dropout
    for before, after in ((subject.modalities.input, loaded.input), (subject.modalities.output, loaded.output)):
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert_same(*(own.collate(own.encode(subject.raws)) for own in (before, after)))
            one, other = (own.axis(own.encode(subject.raws)[2]) for own in (before, after))
            assert one == other


@every_modality
def test_chance_is_a_function_of_the_generator(subject: Subject) -> None:
    """The item that is changed stays as it was, for the next epoch."""
    modality = subject.modalities.input
    (item,) = modality.encode(subject.raws[:1])
    before = modality.collate([item])
    for seed in range(5):
        one, other = (modality.augment(item, np.random.default_rng((3, seed))) for _ in range(2))
        assert_same(modality.collate([one]), modality.collate([other]))
        assert modality.size(one) > 0
    assert_same(modality.collate([item]), before)


@pytest.mark.parametrize("name", ["image-grey", "audio-mel"])
def test_what_chance_changes_differs_from_generator_to_generator(name: str) -> None:
    subject = next(one for one in SUBJECTS if one.name == name)
    modality = subject.modalities.input
    (item,) = modality.encode(subject.raws[:1])
    drawn = [modality.collate([modality.augment(item, np.random.default_rng(seed))]).values for seed in range(6)]
    assert len({tuple(one.flatten().tolist()) for one in drawn}) > 3

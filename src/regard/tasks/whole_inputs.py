"""Examples that are one input each, in any modality: encoded once or on demand, augmented in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from regard.core.batch import Examples
from regard.core.probe import Probe
from regard.core.seams.modality import Mixes, MixesLengths, Modality
from regard.core.seams.task import Session
from regard.data.batching import in_length_order, mixed_order, with_progress
from regard.data.corpus import Corpus
from regard.tasks.augmented import augmented
from regard.tasks.noting import HasPlace, note_changes
from regard.tasks.probing import (
    check_no_target,
    check_probe_length,
    drawing_of,
    forward_head,
    grid_axis,
    head_logits,
    max_probe_length,
    pixels_of,
)
from regard.tasks.reading import logits_of


class Whole(NamedTuple):
    """An input as its modality encodes it, and what is to be said of it."""

    item: Any
    answer: Any


@dataclass(frozen=True)
class WholeInputs:
    """The examples of a corpus; ``answer`` makes of one of them what is to be said, and ``mixed`` of the answers to two
    that are mixed, with the share of the first, that to the mixture. Without it nothing is mixed."""

    corpus: Corpus[Any]
    modality: Modality
    answer: Callable[[Any], Any]
    seed: int
    mixed: Callable[[Any, Any, float], Any] | None = None

    def encode(self, examples: Sequence[HasPlace], split: str = "") -> list[Whole]:
        """What is cut is listed in the ledger, where it belongs to a split."""
        items = self.modality.encode([one.input for one in examples])
        if split:
            note_changes(self.modality, examples, items, split, self.corpus.ledger)
        return [Whole(item, self.answer(one)) for one, item in zip(examples, items, strict=True)]

    @cached_property
    def encoded(self) -> dict[str, Examples]:
        """Every split without augmentation; where the modality is lazy, only the sizes are known in advance."""
        return {split: self.split(own, split) for split, own in self.corpus.splits.items()}

    def split(self, examples: Sequence[HasPlace], name: str = "") -> Examples:
        encoded = self.encode(examples, name)
        if not self.modality.lazy:
            return self.gathered(encoded)
        return Examples(Decoded(self, examples), self.gathered(encoded).lengths_NA, lazy=True)

    @property
    def static_shapes(self) -> bool:
        training = self.encoded.get("train", Examples())
        return self.modality.lazy and len(np.unique(training.lengths_NA)) <= 1

    def examples(self, split: str, epoch: int) -> Examples:
        """Those of a split; training examples are augmented by a function of seed and epoch."""
        found = self.encoded.get(split, Examples())
        if split != "train":
            return found
        found, key = replace(found, weights=self.corpus.weights), (self.seed, epoch)
        if isinstance(self.modality, MixesLengths) and self.modality.mixes_lengths:
            order = partial(mixed_order, found.lengths_NA, seed=self.seed, epoch=epoch, weights=found.weights)
            found = replace(found, order=order)
        if self.modality.lazy:
            return replace(found, items=Decoded(self, self.corpus.splits.get(split, ()), key))
        return augmented(found, self.modality, key)

    def gathered(self, items: Sequence[Whole]) -> Examples:
        sizes = [self.modality.size(one.item) for one in items]
        return Examples(items, np.array(sizes, np.int64).reshape(-1, 1))

    def positions(self, items: Sequence[Whole]) -> int:
        """How many are read of these."""
        return sum(self.modality.size(one.item) for one in items)

    def outputs(
        self, session: Session, examples: Examples, collate: Callable[[Sequence[Whole]], Any]
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Places of examples, batch by batch, and what the model says of them; ``collate`` gives batches with
        ``inputs``."""
        model = session.model.eval()
        order = in_length_order(examples.lengths_NA, self.modality.batch_positions)
        for indices in with_progress(order, len(examples), session.progress):
            batch = session.move(collate(examples.at(indices)))
            yield indices, logits_of(model, batch.inputs).cpu().double()

    # -- probes ---------------------------------------------------------------------------------------------

    def one(self, raw: Any, target: str) -> Whole:
        """A raw input that is looked at; it is shown whole or not at all."""
        check_no_target(target, self.modality.name)
        item = self.modality.encode([raw])[0]
        cut = self.modality.cut(item)
        if cut:
            what = f"the {self.modality.name}, including its special symbols,"
            check_probe_length(self.modality.size(item) + cut, self.modality.max_length, what)
        return Whole(item, None)

    def probe(self, session: Session, items: Sequence[Whole], **more: Any) -> Probe:
        modality, first = self.modality, items[0].item
        return session.move(
            Probe(
                modality.collate([one.item for one in items]), forward_head, head_logits,
                axis=grid_axis(session.model, modality.axis(first)), text=modality.describe(first),
                pixels_HWC=pixels_of(session.model, modality, first), drawing=drawing_of(modality, first), **more,
            )
        )  # fmt: skip

    def random(self, session: Session, generator: np.random.Generator, rows: int, length: int) -> list[Any]:
        room = max_probe_length(session.model, self.modality.max_length, length)
        return list(self.modality.random_items(generator, rows, room))


class Decoded(Sequence[Whole]):
    """Examples that are encoded when they are asked for; with a ``key`` they are changed and mixed by (key, place)."""

    def __init__(
        self, inputs: WholeInputs, examples: Sequence[HasPlace], key: tuple[int, ...] | None = None
    ) -> None:
        self.inputs, self.own, self.key = inputs, examples, key

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, place: Any) -> Any:
        if self.key is None:
            return self.encoded(place)
        generator, modality = np.random.default_rng((*self.key, int(place))), self.inputs.modality
        first = self.changed(place, generator)
        if self.inputs.mixed is None or not isinstance(modality, Mixes) or not modality.mixes:
            return first
        second = self.changed(int(generator.integers(len(self.own))), generator)
        item, share = modality.mix(first.item, second.item, generator)
        return Whole(item, self.inputs.mixed(first.answer, second.answer, share))

    def encoded(self, place: Any) -> Whole:
        return self.inputs.encode([self.own[place]])[0]

    def changed(self, place: Any, generator: np.random.Generator) -> Whole:
        """As training sees it."""
        one = self.encoded(place)
        return one._replace(item=self.inputs.modality.augment(one.item, generator))

"""Examples that are one input each, of any modality: encoded once or when they are asked for, changed in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from regard.core.batch import Examples
from regard.core.probe import Probe
from regard.core.seams.modality import Modality, ShowsPixels
from regard.core.seams.task import Session
from regard.data.batching import in_length_order, telling
from regard.data.corpus import Corpus
from regard.tasks.augmented import augmented
from regard.tasks.probing import check_no_target, check_room, forward_head, grid_axis, head_logits, room_of
from regard.tasks.reading import logits_of


class Placed(Protocol):
    """An input that was read somewhere."""

    @property
    def input(self) -> Any: ...

    @property
    def line(self) -> int: ...

    @property
    def origin(self) -> str: ...


class Whole(NamedTuple):
    """An input as its modality encodes it, and what is to be said of it."""

    item: Any
    answer: Any


@dataclass(frozen=True)
class WholeInputs:
    """The examples of a corpus; ``answer`` makes of one of them what is to be said."""

    corpus: Corpus[Any]
    modality: Modality
    answer: Callable[[Any], Any]
    seed: int

    def encode(self, examples: Sequence[Placed], split: str = "") -> list[Whole]:
        """What is cut is listed in the ledger, where it belongs to a split."""
        items = self.modality.encode([one.input for one in examples])
        if split:
            for one, item in zip(examples, items, strict=True):
                if cut := self.modality.cut(item):
                    reason = f"longer than task.max_length = {self.modality.max_length} tokens"
                    self.corpus.ledger.truncate(split, one.origin, one.line, reason, f"{cut} tokens were cut")
        return [Whole(item, self.answer(one)) for one, item in zip(examples, items, strict=True)]

    def encoded(self) -> dict[str, list[Whole]]:
        """Every split, where its modality encodes once for all."""
        if self.modality.lazy:
            return {}
        return {split: self.encode(own, split) for split, own in self.corpus.splits.items()}

    def examples(self, encoded: dict[str, list[Whole]], split: str, epoch: int) -> Examples:
        """Those of a split; training ones are changed by chance, as seed and epoch say."""
        weights = self.corpus.weights if split == "train" else ()
        key = (self.seed, epoch) if split == "train" else None
        if not self.modality.lazy:
            found = self.gathered(encoded.get(split, []), weights)
            return found if key is None else augmented(found, self.modality, key)
        items = Decoded(self, self.corpus.splits.get(split, ()), key)
        return Examples(items, np.ones((len(items), 1), np.int64), weights, lazy=True)

    def gathered(self, items: Sequence[Whole], weights: Sequence[float] = ()) -> Examples:
        sizes = [self.modality.size(one.item) for one in items]
        return Examples(items, np.array(sizes, np.int64).reshape(-1, 1), weights)

    def positions(self, items: Sequence[Whole]) -> int:
        """How many are read of these."""
        return sum(self.modality.size(one.item) for one in items)

    def outputs(
        self, session: Session, examples: Examples, collate: Callable[[Sequence[Whole]], Any]
    ) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Places of examples, batch by batch, and what the model says of them; ``collate`` gives batches with
        ``inputs``."""
        model = session.model.eval()
        order = in_length_order(examples.lengths_NA, self.modality.at_once)
        for indices in telling(order, len(examples), session.progress):
            batch = session.move(collate(examples.at(indices)))
            yield indices, logits_of(model, batch.inputs).cpu().double()

    # -- probes ---------------------------------------------------------------------------------------------

    def one(self, raw: Any, target: str) -> Whole:
        """A raw input that is looked at; it is shown whole or not at all."""
        check_no_target(target, self.modality.name)
        item = self.modality.encode([raw])[0]
        cut = self.modality.cut(item)
        if cut:
            what = f"the {self.modality.name}, the symbols around it among them,"
            check_room(self.modality.size(item) + cut, self.modality.max_length, what)
        return Whole(item, None)

    def probe(self, session: Session, items: Sequence[Whole], **more: Any) -> Probe:
        modality, first = self.modality, items[0].item
        return session.move(
            Probe(
                modality.collate([one.item for one in items]), forward_head, head_logits,
                axis=grid_axis(session.model, modality.axis(first)), text=modality.describe(first),
                pixels_HWC=modality.pixels(first) if isinstance(modality, ShowsPixels) else None, **more,
            )
        )  # fmt: skip

    def random(self, session: Session, generator: np.random.Generator, rows: int, length: int) -> list[Any]:
        return list(
            self.modality.random_items(generator, rows, room_of(session.model, self.modality.max_length, length))
        )


class Decoded(Sequence[Whole]):
    """Examples that are encoded when they are asked for; with a ``key`` they are changed by (key, place)."""

    def __init__(self, inputs: WholeInputs, examples: Sequence[Placed], key: tuple[int, ...] | None) -> None:
        self.inputs, self.own, self.key = inputs, examples, key

    def __len__(self) -> int:
        return len(self.own)

    def __getitem__(self, place: Any) -> Any:
        one, modality = self.own[place], self.inputs.modality
        item = modality.encode([one.input])[0]
        if self.key is not None:
            item = modality.augment(item, np.random.default_rng((*self.key, int(place))))
        return Whole(item, self.inputs.answer(one))

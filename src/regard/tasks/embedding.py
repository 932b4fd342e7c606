"""Sentence embedding: learned from pairs of texts, with the other texts of the batch as negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.answers import Answer, NumberAnswer, VectorAnswer
from regard.core.batch import Examples
from regard.core.errors import DataError, OptionError
from regard.core.metrics import Metric, share
from regard.core.ports import Ports
from regard.core.probe import Probe
from regard.core.seams.task import Session, Sums
from regard.core.yardsticks import Yardstick
from regard.data.corpus import Corpus, Pair
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.enclosing import Enclosed, Window, collate_texts, enclose_all, split_texts
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.wording import random_texts
from regard.layers.headed import Pool, Pooling, VectorHead
from regard.tasks import TaskPart
from regard.tasks.baselines.yardsticks import retrieval_yardsticks
from regard.tasks.metrics.retrieval import retrieval_scores
from regard.tasks.probing import check_enclosed, check_no_target, max_probe_length, text_probe
from regard.tasks.reading import TextBatch, check_length, logits_of
from regard.tasks.vectors.sentence_vectors import Embedder

NEVER = float("-inf")


class EmbeddingConfig(TaskPart):
    """One vector per text, learned from pairs: source and target of a pair should be near, the other pairs of the batch
    are negatives, so a large ``training.batch_tokens`` teaches more."""

    headline = (
        share("retrieval_accuracy", "retrieval accuracy"), Metric("mean_reciprocal_rank", "mean reciprocal rank"),
    )  # fmt: skip
    accuracy = "mates_found"

    kind: str = "embedding"
    max_length: int = Field(128, ge=4)  # tokens, symbols around a text included; longer texts are truncated and listed
    pooling: Pooling = "auto"
    temperature: float = Field(0.05, gt=0)  # divides cosines before the softmax

    def build(self, corpus: Corpus, modalities: Modalities, seed: int) -> Embedding:
        if any(not isinstance(one, Pair) for own in corpus.splits.values() for one in own[:1]):
            raise DataError('embedding learns from pairs of texts; choose data.kind = "pairs" (or small-world)')
        vocabularies = modalities.vocabularies
        if not vocabularies.joint:
            raise OptionError("one model reads both sides of a pair and needs one tokenizer: set tokenizer.joint=true")
        return Embedding(self, corpus, vocabularies)


class TextPair(NamedTuple):
    """Two texts that belong together."""

    source: Enclosed
    target: Enclosed


@dataclass(frozen=True, slots=True)
class TextPairBatch(TextBatch):
    """All sources, then all targets; ``same_BB`` says which of the others are no strangers, being equal texts."""

    same_BB: Tensor

    @property
    def loss_terms(self) -> int:
        return len(self.same_BB)


class Embedding:
    """The task over one corpus, which is encoded once."""

    additive = False  # a pair is told apart from the other pairs of its batch
    static_shapes = False

    def __init__(self, config: EmbeddingConfig, corpus: Corpus, vocabularies: Vocabularies) -> None:
        self.config = config
        self.corpus = corpus
        self.vocabularies = vocabularies
        self._encoded = {split: self.encode(own, split) for split, own in corpus.splits.items()}

    @property
    def tokenizer(self) -> Tokenizer:
        return self.vocabularies.target

    @property
    def window(self) -> Window:
        return Window(self.tokenizer.specials, self.config.max_length)

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def head(self, body: Any) -> nn.Module:
        """A pooled state of length 1; it has nothing to learn of its own."""
        check_length(body, self.config.max_length)
        return VectorHead(Pool(self.config.pooling, body), unit=True)

    # -- examples and batches -------------------------------------------------------------------------------

    def encode(self, pairs: Sequence[Pair], split: str = "") -> list[TextPair]:
        """What is cut is listed in the ledger, where it belongs to a split."""
        sides = [
            enclose_all(self.tokenizer, self.window, [(text,) for text in texts])
            for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs])
        ]
        made = [TextPair(*both) for both in zip(*sides, strict=True)]
        if split:
            for pair, mates in zip(pairs, made, strict=True):
                if mates.source.cut or mates.target.cut:
                    reason = f"longer than task.max_length = {self.config.max_length} tokens"
                    cut = f"{mates.source.cut + mates.target.cut} tokens were cut"
                    self.corpus.ledger.truncate(split, pair.origin, pair.line, reason, cut)
        return made

    def examples(self, split: str, epoch: int) -> Examples:
        items = self._encoded.get(split, [])
        lengths = [(len(one.source.tokens), len(one.target.tokens)) for one in items]
        weights = self.corpus.weights if split == "train" else ()
        return Examples(items, np.array(lengths, np.int64).reshape(-1, 2), weights)

    def collate(self, items: Sequence[TextPair]) -> TextPairBatch:
        sides = [one.source for one in items], [one.target for one in items]
        text = collate_texts([*sides[0], *sides[1]], self.tokenizer.specials.pad)
        same_BB = duplicate_mask(sides[0]) | duplicate_mask(sides[1])
        return TextPairBatch(text, torch.from_numpy(same_BB))

    # -- probes ---------------------------------------------------------------------------------------------

    def probe(self, session: Session, raw: str, target: str = "") -> Probe:
        check_no_target(target)
        text = enclose_all(self.tokenizer, self.window, [(raw,)])[0]
        check_enclosed(text, self.config.max_length)
        return self.probe_examples(session, [TextPair(text, text)])

    def probe_examples(self, session: Session, items: Sequence[TextPair]) -> Probe:
        """The first of the two texts."""
        return session.move(text_probe([one.source for one in items], self.tokenizer, unit="number"))

    def random_examples(
        self, session: Session, generator: np.random.Generator, rows: int, length: int
    ) -> list[TextPair]:
        room = max_probe_length(session.model, self.config.max_length, length)
        return [TextPair(text, text) for text in random_texts(generator, self.tokenizer, rows, room)]

    # -- loss -----------------------------------------------------------------------------------------------

    def sums(self, model: nn.Module, batch: TextPairBatch) -> Sums:
        """The cross-entropy of finding the mate among the batch, in both directions (van den Oord et al. 2018, eq. 4),
        over cosines divided by the temperature."""
        sources_BD, targets_BD = logits_of(model, batch.text).chunk(2)
        count = len(sources_BD)
        logits_BB = (sources_BD @ targets_BD.T / self.config.temperature).masked_fill(batch.same_BB, NEVER)
        mates_B = torch.arange(count, device=logits_BB.device)
        loss = functional.cross_entropy(logits_BB, mates_B, reduction="sum")
        loss = (loss + functional.cross_entropy(logits_BB.T, mates_B, reduction="sum")) / 2
        right = (logits_BB.argmax(dim=1) == mates_B).sum()
        return Sums({"loss": loss, "mates_found": right}, {"loss": count, "mates_found": count})

    # -- answers and scores ---------------------------------------------------------------------------------

    def embedder(self, model: nn.Module, device: torch.device) -> Embedder:
        return Embedder.of(
            model, self.tokenizer, device, pooling=self.config.pooling, max_length=self.config.max_length, unit=True
        )

    def predict(self, session: Session, inputs: Sequence[str | tuple[str, str]]) -> list[list[Answer]]:
        """Of two texts with a tab between them their cosine, of one its vector as numbers."""
        rows = [split_texts(one) for one in inputs]
        flat = [text for row in rows for text in row]
        vectors = iter(self.embedder(session.model, session.device).embed_all(flat, session.progress))
        return [[vector_answer([next(vectors) for _ in row])] for row in rows]

    def score(self, session: Session, split: str) -> dict[str, Any]:
        """How often the nearest text of the other side is the mate, and its mean reciprocal rank."""
        return self.judge(session, self.corpus.splits[split], self._encoded[split])

    def score_pairs(self, session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
        """The same for pairs that a user gives."""
        return self.judge(session, pairs, self.encode(pairs))

    def yardsticks(self, corpus: Corpus, split: str) -> Mapping[str, Yardstick]:
        """The cosine of weighted words."""
        return retrieval_yardsticks(corpus.splits["train"], corpus.splits[split])

    def judge(self, session: Session, pairs: Sequence[Pair], encoded: Sequence[TextPair]) -> dict[str, Any]:
        texts = [one.source for one in encoded] + [one.target for one in encoded]
        vectors_ND = self.embedder(session.model, session.device).vectors(texts, session.progress)
        sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
        scores = retrieval_scores(vectors_ND[: len(pairs)], vectors_ND[len(pairs) :], *sides)
        return {**scores, "texts_cut": sum(text.cut > 0 for text in texts)}


def vector_answer(vectors: Sequence[np.ndarray]) -> Answer:
    """Of one text its vector, of two how near they are."""
    cosine = float(vectors[0] @ vectors[-1])
    if len(vectors) > 1:
        return NumberAnswer(f"{cosine:.6f}", 0.0, cosine)
    return VectorAnswer(" ".join(f"{number:.6f}" for number in vectors[0]), 0.0, cosine, vectors[0])


def duplicate_mask(texts: Sequence[Enclosed]) -> np.ndarray:
    """same_BB: which of the others are the same text, which nobody could tell apart."""
    keys: dict[bytes, int] = {}
    kinds_B = np.array([keys.setdefault(text.tokens.tobytes(), len(keys)) for text in texts])
    same_BB = kinds_B[:, None] == kinds_B
    np.fill_diagonal(same_BB, val=False)
    return same_BB

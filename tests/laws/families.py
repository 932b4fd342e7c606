"""Two tiny families and a task from outside the package: a recurrent one with attention, and a decoder alone."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention.cache import AttentionCache
from regard.attention.heads import HeadShape, SelfAttention
from regard.attention.masks import CAUSAL, padding
from regard.attention.memory import Memory, join_memories
from regard.attention.places import places_after
from regard.attention.softmax import AdditiveScore, ScaledDot, Softmax
from regard.core.answers import Answer
from regard.core.batch import Examples, TokenBatch
from regard.core.ports import INPUT, OUTPUT, Ports, tokens_at
from regard.core.seams import Decodable, Hypothesis
from regard.core.seams.anatomy import Anatomy
from regard.core.seams.task import Session, Sums
from regard.core.symbols import EOS, SOS
from regard.data.corpus import Corpus
from regard.data.modalities.both import Modalities
from regard.data.padding import pad
from regard.decoding.engine import TorchEngine
from regard.layers.blocks import EncoderLayer, PreNorm
from regard.layers.dropout import Dropout
from regard.layers.embeddings import TokenEmbedding, VocabularyHead
from regard.layers.feed_forward import FeedForward
from regard.layers.positions import Rotary
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.models import ModelPart
from regard.tasks import TaskPart


class GruConfig(ModelPart):
    """A bidirectional GRU read by a GRU through additive attention (Bahdanau et al. 2015)."""

    kind: str = "tests.laws.families:GruConfig"
    width: int = 16
    dropout: float = 0.0

    def build(self, ports: Ports) -> Gru:
        return Gru(self, ports)


class Gru(nn.Module):
    """Its decoder asks the mechanism once a step; the tap then holds the steps along T."""

    anatomy = Anatomy(source_attention="attention")

    def __init__(self, config: GruConfig, ports: Ports) -> None:
        super().__init__()
        width = config.width
        inputs, outputs = (tokens_at(ports, side, config.kind).size for side in (INPUT, OUTPUT))
        self.source_embedding = TokenEmbedding(inputs, width)
        self.target_embedding = TokenEmbedding(outputs, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.first = nn.Linear(width, width)
        self.attention = Softmax(AdditiveScore(width, 2 * width, width))
        self.cell = nn.GRUCell(3 * width, width)
        self.combine = nn.Linear(3 * width, width)
        self.dropout = Dropout(config.dropout)
        self.head = VocabularyHead(outputs, width, self.target_embedding)

    def forward(self, source_BS: Tensor, source_lengths_B: Tensor, target_BT: Tensor) -> Tensor:
        return self.read(target_BT, self.start((source_BS, source_lengths_B)))

    def start(self, source: tuple[Tensor, Tensor]) -> GruState:
        source_BS, source_lengths_B = source
        packed = pack_padded_sequence(
            self.source_embedding(source_BS), source_lengths_B.cpu(), batch_first=True, enforce_sorted=False
        )
        states_BSC, _ = pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=source_BS.shape[1])
        backward_BD = states_BSC[:, 0].chunk(2, dim=-1)[1]
        memory_B1SC = self.dropout(states_BSC).unsqueeze(1)
        mask = padding(source_lengths_B, source_BS.shape[1])
        return GruState(Memory(memory_B1SC, memory_B1SC, mask), torch.tanh(self.first(backward_BD)))

    def step(
        self, tokens_BT: Tensor, state: GruState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, GruState]:
        return self.head(self.read(tokens_BT, state, lengths_B)), state

    def read(self, tokens_RT: Tensor, state: GruState, lengths_R: Tensor | None = None) -> Tensor:
        """states_RTD for the given tokens; the state goes along."""
        states = []
        for place, x_RD in enumerate(self.target_embedding(tokens_RT).unbind(1)):
            memory = state.memory
            q_B1ND = state.hidden_RD.view(len(memory.k_BGSK), 1, -1, state.hidden_RD.shape[1])
            context_B1NC = self.attention(q_B1ND, memory.k_BGSK, memory.v_BGSV, mask=memory.mask)
            context_RC = context_B1NC.reshape(len(x_RD), -1)
            hidden_RD = self.cell(torch.cat((x_RD, context_RC), dim=-1), state.hidden_RD)
            states.append(torch.tanh(self.combine(torch.cat((hidden_RD, context_RC), dim=-1))))
            if lengths_R is not None:
                hidden_RD = torch.where((place < lengths_R)[:, None], hidden_RD, state.hidden_RD)
            state.hidden_RD = hidden_RD
        return self.dropout(torch.stack(states, dim=1))


@dataclass(slots=True)
class GruState:
    """The memory by sentence, the cell's state by row."""

    memory: Memory
    hidden_RD: Tensor

    def reorder(self, rows: Tensor) -> GruState:
        sentences = len(self.memory.k_BGSK)
        owners = rows // (len(self.hidden_RD) // sentences)
        kept, counts = torch.unique_consecutive(owners, return_counts=True)
        if bool((counts != counts[0]).any()):
            kept = owners
        same = kept.tolist() == list(range(sentences))
        return GruState(self.memory if same else self.memory.select(kept), self.hidden_RD[rows])

    def join(self, other: GruState) -> GruState:
        (memory,) = join_memories([self.memory], len(self.hidden_RD), [other.memory], len(other.hidden_RD))
        return GruState(memory, torch.cat((self.hidden_RD, other.hidden_RD)))


class DecoderOnlyConfig(ModelPart):
    """A stack of causal blocks over the text so far."""

    kind: str = "tests.laws.families:DecoderOnlyConfig"
    layers: int = 2
    width: int = 16
    heads: int = 2
    dropout: float = 0.0

    def build(self, ports: Ports) -> DecoderOnly:
        return DecoderOnly(self, ports)


class DecoderOnly(nn.Module):
    """Reads nothing but its own words; its source is the number of answers that are wanted."""

    anatomy = Anatomy()

    def __init__(self, config: DecoderOnlyConfig, ports: Ports) -> None:
        super().__init__()
        width = config.width
        symbols = tokens_at(ports, OUTPUT, config.kind).size
        self.embedding = TokenEmbedding(symbols, width)
        self.position = Rotary()
        self.blocks = nn.ModuleList(
            EncoderLayer(
                SelfAttention(HeadShape(width, config.heads), ScaledDot()),
                FeedForward(width, 2 * width, torch.relu),
                lambda: PreNorm(width, config.dropout),
            )
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = VocabularyHead(symbols, width, self.embedding)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return self.read(tokens_BT, None)

    def read(
        self, tokens_RT: Tensor, caches: list[AttentionCache] | None, lengths_R: Tensor | None = None
    ) -> Tensor:
        mask = CAUSAL.at(0 if caches is None else places_after(caches[0].ages, tokens_RT.shape[1], lengths_R))
        x_RTD = self.embedding(tokens_RT)
        for index, block in enumerate(self.blocks):
            x_RTD = block(x_RTD, mask, self.position, None if caches is None else caches[index], lengths_R)
        return self.norm(x_RTD)

    def start(self, source: int) -> DecoderOnlyState:
        return DecoderOnlyState([block.attention.new_cache(source, self.embedding.weight) for block in self.blocks])

    def step(
        self, tokens_BT: Tensor, state: DecoderOnlyState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, DecoderOnlyState]:
        return self.head(self.read(tokens_BT, state.caches, lengths_B)), state


@dataclass(slots=True)
class DecoderOnlyState:
    """Caches by row; there is no source to keep."""

    caches: list[AttentionCache]

    def reorder(self, rows: Tensor) -> DecoderOnlyState:
        return DecoderOnlyState([cache.reorder(rows) for cache in self.caches])

    def join(self, other: DecoderOnlyState) -> DecoderOnlyState:
        return DecoderOnlyState([one.join(another) for one, another in zip(self.caches, other.caches)])


class LanguageModelConfig(TaskPart):
    """What comes next in the texts of the target side; ``pause`` makes a step last, so that it can be interrupted."""

    generates = True

    kind: str = "tests.laws.families:LanguageModelConfig"
    max_length: int = 32
    pause: float = 0.0
    breaks_at: int = 0  # from this many training batches on, the loss is multiplied by ``breaks_by``
    breaks_by: float = Field(float("nan"), allow_inf_nan=True)
    additive: bool = True

    def build(self, corpus: Corpus, modalities: Modalities, seed: int) -> LanguageModel:
        return LanguageModel(self, corpus, modalities)


@dataclass(frozen=True, slots=True)
class TextBatch(TokenBatch):
    """Texts with their opening symbol."""

    tokens_BT: Tensor


class LanguageModel:
    """The task seam in its smallest form."""

    static_shapes = False

    def __init__(self, config: LanguageModelConfig, corpus: Corpus, modalities: Modalities) -> None:
        self.config = config
        self.additive = config.additive
        self.vocabularies = modalities.vocabularies
        self.trained = 0
        self._encoded = {
            split: [
                np.asarray(ids[: config.max_length], np.int64)
                for ids in self.vocabularies.target.encode_batch([pair.target for pair in pairs])
            ]
            for split, pairs in corpus.splits.items()
        }

    def ports(self) -> Ports:
        return self.vocabularies.ports()

    def examples(self, split: str, epoch: int) -> Examples:
        items = self._encoded.get(split, [])
        return Examples(items, np.array([len(ids) + 1 for ids in items], np.int64).reshape(-1, 1))

    def collate(self, items: Sequence[np.ndarray]) -> TextBatch:
        tokens_BT, lengths_B = pad(items, before=SOS)
        targets_BT, _ = pad(items, after=EOS)
        real_N = np.flatnonzero(np.arange(tokens_BT.shape[1]) < lengths_B[:, None])
        arrays = (real_N, targets_BT.ravel()[real_N], tokens_BT)
        return TextBatch(*(torch.from_numpy(array) for array in arrays))

    def sums(self, model: nn.Module, batch: TextBatch) -> Sums:
        states_ND = model(batch.tokens_BT).flatten(0, 1).index_select(0, batch.real_N)
        head: Any = model.head
        loss = vocabulary_loss(states_ND, head.weight, batch.targets_N)
        total = loss.smoothed
        if model.training:
            time.sleep(self.config.pause)
            self.trained += 1
            if self.config.breaks_at and self.trained >= self.config.breaks_at:
                total = total * self.config.breaks_by
        return Sums({"loss": total}, {"loss": len(batch.targets_N)})

    def predict(self, session: Session, inputs: Sequence[str]) -> list[list[Answer]]:
        """How each text goes on."""
        prompts = self.vocabularies.target.encode_batch(list(inputs))
        engine = TorchEngine(cast(Decodable, session.model), len, device=session.device)
        found = engine.predict(prompts, session.options, prompts=prompts, progress=session.progress)
        return [[self._answer(hypothesis) for hypothesis in own] for own in found]

    def _answer(self, hypothesis: Hypothesis) -> Answer:
        text = self.vocabularies.target.decode(hypothesis.tokens)
        return Answer(text, hypothesis.log_probability, hypothesis.score)

    @torch.inference_mode()
    def score(self, session: Session, split: str) -> dict[str, Any]:
        batch = session.move(self.collate(self.examples(split, 0)))
        loss = self.sums(session.model.eval(), batch).mean("loss")
        return {"loss": loss, "perplexity": math.exp(loss)}

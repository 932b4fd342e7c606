"""Tokens become vectors, and vectors become scores over tokens, by one matrix or by two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from regard.core.errors import RecipeError
from regard.core.ports import INPUT, OUTPUT, Ports, share_vocabulary, tokens_at
from regard.layers import EmbeddingPart

Tied = Literal["all", "output", "none"]
"""Which embeddings share one matrix: source, target and output; target and output; none."""


class TokenEmbedding(nn.Module):
    """A learned vector for each symbol, multiplied by √d_model (Vaswani et al. 2017, section 3.4)."""

    def __init__(self, symbols: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(symbols, width))
        self.scale = math.sqrt(width)
        nn.init.normal_(self.weight, std=width**-0.5)

    @property
    def width(self) -> int:
        return self.weight.shape[1]

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return functional.embedding(tokens_BT, self.weight) * self.scale


class PlainEmbedding(TokenEmbedding):
    """A learned vector for each symbol, as it is; small at the start (Radford et al. 2019)."""

    def __init__(self, symbols: int, width: int) -> None:
        super().__init__(symbols, width)
        self.scale = 1.0
        nn.init.normal_(self.weight, std=0.02)


class OneHot(nn.Module):
    """The symbol's number as a vector with a single 1: nothing is learned, the next layer does all the work."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.width = symbols
        self.like: Tensor
        self.register_buffer("like", torch.empty(0), persistent=False)  # knows the device and the number type

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return functional.one_hot(tokens_BT, self.width).to(self.like)


class PretrainedEmbedding(TokenEmbedding):
    """Vectors that somebody else trained, as they are; frozen, or trained on."""

    def __init__(self, symbols: int, width: int, *, frozen: bool) -> None:
        super().__init__(symbols, width)
        self.scale = 1.0
        self.weight.requires_grad_(not frozen)

    @torch.no_grad()
    def load_pretrained(self, words: Sequence[str], vectors: Mapping[str, np.ndarray]) -> list[str]:
        """Takes the vector of every word that has one; returns the words without, whose rows stay random."""
        missing = []
        for place, word in enumerate(words):
            vector = vectors.get(word)
            if vector is None:
                missing.append(word)
            else:
                self.weight[place] = torch.from_numpy(vector)
        return missing


class VocabularyHead(nn.Module):
    """logits = states Wᵀ (+ b); W may be an embedding's own matrix (Press & Wolf 2017)."""

    def __init__(
        self, symbols: int, width: int, tied: TokenEmbedding | None = None, *, bias: bool = False
    ) -> None:
        super().__init__()
        if tied is None:
            self.weight = nn.Parameter(torch.empty(symbols, width))
            nn.init.normal_(self.weight, std=width**-0.5)
        else:
            self.weight = tied.weight
        self.bias = nn.Parameter(torch.zeros(symbols)) if bias else None

    @property
    def width(self) -> int:
        return self.weight.shape[1]

    def forward(self, states_BTD: Tensor) -> Tensor:
        return functional.linear(states_BTD, self.weight, self.bias)


class OutputLayer(Protocol):
    """What turns states into logits by one product: a ``VocabularyHead``, or an ``nn.Linear``."""

    @property
    def weight(self) -> Tensor: ...

    @property
    def bias(self) -> Tensor | None: ...


def output_matrix(head: OutputLayer) -> Tensor:
    """The matrix with which ``output_states`` are multiplied to give logits: a bias is one more column of it."""
    return head.weight if head.bias is None else torch.cat((head.weight, head.bias[:, None]), dim=1)


def output_states(head: OutputLayer, states_ND: Tensor) -> Tensor:
    """States as ``output_matrix`` wants them: with a constant 1 for the bias, where there is one."""
    if head.bias is None:
        return states_ND
    return torch.cat((states_ND, states_ND.new_ones(len(states_ND), 1)), dim=1)


class LearnedConfig(EmbeddingPart):
    """A learned vector for each symbol."""

    kind: str = "learned"
    width: int = Field(128, ge=1)

    def build(self, symbols: int) -> TokenEmbedding:
        return TokenEmbedding(symbols, self.width)


class OneHotConfig(EmbeddingPart):
    """A vector with a single 1, as wide as the vocabulary."""

    kind: str = "one-hot"

    def build(self, symbols: int) -> OneHot:
        return OneHot(symbols)


class PretrainedConfig(EmbeddingPart):
    """Vectors from a word2vec or GloVe file, text or binary, for the words that the tokenizer knows."""

    kind: str = "borrowed"
    width: int = Field(300, ge=1)  # must be the file's
    source: str = ""  # the file for the source language; with a joint vocabulary ``target`` serves both
    target: str = ""
    frozen: bool = True
    missing: Literal["refuse", "random"] = "refuse"  # words that the file does not have

    def build(self, symbols: int) -> PretrainedEmbedding:
        return PretrainedEmbedding(symbols, self.width, frozen=self.frozen)


@runtime_checkable
class HasEmbedding(Protocol):
    """Settings of a family that lets one choose how symbols become vectors."""

    embedding: EmbeddingPart


class Embeddings(NamedTuple):
    """Both sides' embeddings and the output matrix, sharing what they are told to share."""

    source: TokenEmbedding | OneHot
    target: TokenEmbedding | OneHot
    head: VocabularyHead


def build_embeddings(config: EmbeddingPart, ports: Ports, tied: Tied, width: int) -> Embeddings:
    """``width`` is the output's where nothing is tied."""
    inputs, outputs = (tokens_at(ports, side, "any of these").size for side in (INPUT, OUTPUT))
    target = config.build(outputs)
    source = target if tied == "all" and share_vocabulary(ports) else config.build(inputs)
    if tied == "none":
        return Embeddings(source, target, VocabularyHead(outputs, width))
    if isinstance(target, OneHot) or not target.weight.requires_grad:
        raise RecipeError(
            f"model.tied = {tied!r} makes the target embedding the output matrix too, which must be learned, but "
            f"model.embedding is {config.kind!r}; set model.tied = \"none\""
        )
    return Embeddings(source, target, VocabularyHead(outputs, target.width, target))

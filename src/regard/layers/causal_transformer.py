"""A decoder alone: reads the tokens so far, in parallel or step by step, and says what follows each of them."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from regard.attention.masks import CAUSAL, inside_segments
from regard.attention.places import places_after
from regard.core.inputs import Inputs, States
from regard.core.seams.anatomy import Anatomy, Entrance
from regard.layers.blocks import CausalStack, StackState, init_small
from regard.layers.embeddings import PlainEmbedding, VocabularyHead
from regard.layers.reversible import ReversibleStack


class CausalTransformer(nn.Module):
    """Tokens so far become states, ``head`` turns states into logits for what follows each of them.

    ``new_stack`` makes the layers after the embedding has been drawn; ``max_length`` is the most tokens that it reads,
    0: as many as its positions allow.
    """

    anatomy = Anatomy(
        state_path="stack.layers.0",
        depth_path="stack.layers.*",
        reading=("embedding", "stack"),
        entrances=(Entrance("tokens", "embedding", "stack.position"),),
    )
    causal = True

    def __init__(
        self,
        symbols: int,
        width: int,
        new_stack: Callable[[], CausalStack | ReversibleStack],
        *,
        tied: bool,
        max_length: int = 0,
    ) -> None:
        super().__init__()
        self.width, self.reads_at_most = width, max_length
        self.embedding = PlainEmbedding(symbols, width)
        self.stack = new_stack()
        init_small(self.stack)
        self.head = VocabularyHead(symbols, width, self.embedding if tied else None)

    @property
    def max_length(self) -> int:
        """How many tokens it can read; 0: as many as one likes."""
        return self.reads_at_most or self.stack.position.max_length

    def represent(self, inputs: Inputs) -> States:
        """What is padded stands behind everything; nobody looks there."""
        return States(self(inputs.values, lengths_B=inputs.lengths_B), inputs.lengths_B)

    def forward(
        self, tokens_BT: Tensor, segments_BT: Tensor | None = None, lengths_B: Tensor | None = None
    ) -> Tensor:
        """states_BTD for all positions at once; with segments, nobody looks beyond their own. ``lengths_B`` is told to
        networks that ask for it."""
        mask = CAUSAL if segments_BT is None else CAUSAL & inside_segments(segments_BT)
        return self.stack(self.embedding(tokens_BT), mask, (), lengths_B)

    def answer_at(self, states_BTD: Tensor) -> Tensor:
        """logits_BTW, were these states of a layer the last ones."""
        return self.head(self.stack.norm(states_BTD))

    def start(self, source: tuple[int, int]) -> StackState:
        """Nothing read yet: for so many rows, with room for so many tokens (0: it grows)."""
        return StackState(self.stack.new_caches(*source, self.embedding.weight))

    def step(
        self, tokens_BT: Tensor, state: StackState, lengths_B: Tensor | None = None
    ) -> tuple[Tensor, StackState]:
        mask = CAUSAL.at(places_after(state.ages, tokens_BT.shape[1], lengths_B))
        return self.head(self.stack(self.embedding(tokens_BT), mask, state.caches, lengths_B)), state

"""Linformer: what it computes, and what it must refuse."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.attention import MECHANISMS, AttentionContext
from regard.attention.formulas import attention
from regard.attention.masks import CAUSAL, EVERYTHING, Mask, inside_segments
from regard.attention.mechanisms.linformer import Linformer
from regard.core.config import parse
from regard.core.errors import NoMatrix, OptionError, RecipeError
from regard.core.ports import text_ports
from regard.core.seams import Mechanism
from regard.runs.recipe import Recipe


def made(max_length: int = 0, **context: Any) -> Any:
    torch.manual_seed(1)
    table = {"kind": "linformer", "rows": 3, "max_length": max_length}
    return parse(MECHANISMS.resolve("linformer"), table).build(AttentionContext(7, 7, 2, **context))


def test_keys_and_values_are_mixed_into_rows() -> None:
    mechanism = made(max_length=11)
    assert isinstance(mechanism, Mechanism)
    q, k, v = torch.randn(2, 2, 5, 7), torch.randn(2, 2, 9, 7), torch.randn(2, 2, 9, 4)
    mixed_k = torch.einsum("rs,bhsk->bhrk", mechanism.for_keys_RS[:, :9], k)
    mixed_v = torch.einsum("rs,bhsv->bhrv", mechanism.for_values_RS[:, :9], v)
    torch.testing.assert_close(mechanism(q, k, v, EVERYTHING), attention(q, mixed_k, mixed_v), atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_padding_is_invisible_and_an_empty_text_reads_zero() -> None:
    mechanism = made(max_length=11)
    q, k, v = torch.randn(2, 2, 8, 7), torch.randn(2, 2, 8, 7), torch.randn(2, 2, 8, 4)
    mask = Mask(lengths_B=torch.tensor([5, 0]))
    before = mechanism(q, k, v, mask)
    k[0, :, 5:], v[0, :, 5:] = 99, -99
    assert torch.equal(mechanism(q, k, v, mask), before)
    torch.testing.assert_close(before[:1], mechanism(q[:1], k[:1, :, :5], v[:1, :, :5], EVERYTHING))
    assert not before[1].any()


def test_it_has_no_matrix() -> None:
    mechanism = made(max_length=11)
    q = torch.randn(1, 2, 3, 7)
    with pytest.raises(NoMatrix, match="no single key has a weight"):
        mechanism.weights(q, q, EVERYTHING)


def test_what_it_cannot_do_is_refused_in_words() -> None:
    mechanism = made(max_length=11)
    q = torch.randn(1, 2, 3, 7)
    with pytest.raises(OptionError, match="linformer\" cannot be causal"):
        mechanism(q, q, q, CAUSAL)
    long = torch.randn(1, 2, 12, 7)
    with pytest.raises(OptionError, match="a sequence of 12 positions does not fit into Linformer's projection of 11"):
        mechanism(long, long, long, EVERYTHING)
    for mask in (inside_segments(torch.zeros(1, 3)), Mask(window=2), Mask(dense_BHTS=torch.ones(3, 3).bool())):
        with pytest.raises(OptionError, match="Linformer reads mixtures of all keys"):
            mechanism(q, q, q, mask)
    with pytest.raises(OptionError, match="Linformer reads mixtures of all keys"):
        mechanism(q, q, q, EVERYTHING, torch.zeros(2, 3, 3))
    with pytest.raises(RecipeError, match="this model sets no longest sequence of its own; give one"):
        made()


@pytest.mark.parametrize("kind", ["gpt", "transformer"])
def test_a_model_that_writes_refuses_it_when_it_is_built(kind: str) -> None:
    config = parse(Recipe, {"model": {"kind": kind, "width": 12, "heads": 3, "attention": {"kind": "linformer"}}}).model
    with pytest.raises(RecipeError, match=r"cannot be causal.* so the future would be read; choose \"linear\""):
        config.build(text_ports(7, 7, shared=True))


def test_the_longest_sequence_is_the_models_or_its_own() -> None:
    assert made(max_length=5).for_keys_RS.shape == (3, 5)
    table = {"kind": "linformer", "rows": 3}
    built = parse(MECHANISMS.resolve("linformer"), table).build(AttentionContext(7, 7, 2, max_length=9))
    assert isinstance(built, Linformer)
    assert built.for_keys_RS.shape == (3, 9)

"""Weights from their names and shapes into ours and back, by a family's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.core.errors import RunError, enumerate_problems
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.files import FLOATING, Stored
from regard.interop.huggingface.tensors import Pairing

BY_SYMBOL = (
    "embedding.weight", "source_embedding.weight", "target_embedding.weight", "head.weight", "head.bias",
    "head.words.bias",
)  # fmt: skip
"""Our tensors with a row for each symbol."""


def weights_in(
    family: Family, table: Mapping[str, Any], model: nn.Module, stored: Mapping[str, Stored], where: str
) -> dict[str, Tensor]:
    """Our weights in single precision. ``model`` has the shapes that are expected, and no contents; its ``[model]``
    table tells the family which tensors there are.

    All that is missing, unexpected or ill-shaped is named in one error. Of a body without its head, the body's alone.
    """
    saved_as = {full: name for full, name in family.full_names(stored).items() if family.needs(full)}
    found = {full: stored[name] for full, name in saved_as.items()}
    pairings = tuple(family.tensors(table))
    if family.lacks_head(found):
        pairings = tuple(one for one in pairings if not one.theirs[0].startswith(family.head))
    expected = expected_shapes(model, pairings)
    copies = sorted({*family.copies} & (found.keys() - expected.keys()))  # tied: they may be there or not
    embedding = pairings[0].theirs[0]
    if copies:
        found.setdefault(embedding, found[copies[0]])
    problems = [f"missing {name} {expected[name]}" for name in expected.keys() - found.keys()]
    problems += [f"unexpected {name} {found[name].shape}" for name in found.keys() - expected.keys() - {*copies}]
    problems += [
        f"{name} is {found[name].shape}, config.json asks for {expected[name]}"
        for name in expected.keys() & found.keys()
        if expected[name] != found[name].shape
    ]
    problems += [
        f"{name} is made of {one.number_type}; quantised weights are not read"
        for name, one in found.items()
        if one.number_type not in FLOATING
    ]
    if not problems:
        problems += [
            f"{name} is not {embedding}, although config.json says tie_word_embeddings = true"
            for name in copies
            if not torch.equal(found[name].read(), found[embedding].read())
        ]
    if problems:
        raise RunError(enumerate_problems(f"the tensors in {where} are not those of its config.json", sorted(problems)))
    return {
        pairing.ours: pairing.shaping.join([found[name].read().float() for name in pairing.theirs]).contiguous()
        for pairing in pairings
    }


def expected_shapes(model: nn.Module, pairings: tuple[Pairing, ...]) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor of theirs: the table run backwards over a model without contents."""
    ours = model.state_dict()
    return {
        name: tuple(tensor.shape)
        for pairing in pairings
        for name, tensor in zip(pairing.theirs, pairing.shaping.part(ours[pairing.ours]), strict=True)
    }


def weights_out(family: Family, table: Mapping[str, Any], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their weights by their names."""
    return {**family.constants(table)} | {
        name: tensor.contiguous()
        for pairing in family.tensors(table)
        for name, tensor in zip(pairing.theirs, pairing.shaping.part(weights[pairing.ours]), strict=True)
    }

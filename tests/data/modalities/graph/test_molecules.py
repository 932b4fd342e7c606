"""Molecules in SDF files: atoms, bonds, charges, missing hydrogens, what stands behind a block; and broken blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data.ledger import Ledger
from regard.data.modalities.graph.sdf import read_sdf
from regard.data.modalities.graph.written import Broken, Written
from regard.data.sources.graphs.labelled import GraphColumns, read_labelled_graphs

COUNTS = "{:3d}{:3d}  0  0  0  0  0  0  0  0999 V2000"


def atom(element: str, charge: int = 0) -> str:
    return f"    0.0000    0.0000    0.0000 {element:<3} 0{charge:3d}  0  0  0  0"


def block(name: str, atoms: list[str], bonds: list[tuple[int, int, int]], *rest: str) -> str:
    lines = [name, "  made by hand", "", COUNTS.format(len(atoms), len(bonds)), *atoms]
    lines += ["{:3d}{:3d}{:3d}  0".format(*one) for one in bonds]
    return "\n".join([*lines, "M  END", *rest, "$$$$", ""])


ETHANOL = block("ethanol", [atom("C"), atom("C"), atom("O")], [(1, 2, 1), (2, 3, 1)], "> <logS> (1)", "1.10", "")
ACETATE = block(
    "acetate", [atom("C"), atom("C"), atom("O"), atom("O", 5)], [(1, 2, 1), (2, 3, 2), (2, 4, 1)], "> <logS>", "0.5", ""
)


def written(tmp_path: Path, text: str) -> list[Written | Broken]:
    (tmp_path / "some.sdf").write_bytes(text.encode())
    return list(read_sdf(tmp_path / "some.sdf"))


def graphs(tmp_path: Path, text: str) -> list[Written]:
    found = written(tmp_path, text)
    return [one for one in found if isinstance(one, Written)]


def test_atoms_bonds_and_what_is_said_of_a_molecule(tmp_path: Path) -> None:
    first, second = graphs(tmp_path, ETHANOL + ACETATE)
    assert (first.line, second.line) == (1, 15)
    assert first.properties == {"name": "ethanol", "logS": "1.10"}
    assert first.graph.nodes == ("1", "2", "3")
    assert first.graph.edges_E2.tolist() == [[0, 1], [1, 2]]
    assert first.graph.node_features.words == {"element": ("C", "C", "O")}
    assert second.graph.edge_features.words == {"bond": ("single", "double", "single")}


def test_hydrogens_that_are_not_written_are_counted(tmp_path: Path) -> None:
    """CH3–CH2–OH; CH3–CO–O⁻, whose charge leaves no room for one."""
    first, second = graphs(tmp_path, ETHANOL + ACETATE)
    assert first.graph.node_features.names == ("charge", "hydrogens")
    assert first.graph.node_features.numbers_NF.tolist() == [[0, 3], [0, 2], [0, 1]]
    assert second.graph.node_features.numbers_NF.tolist() == [[0, 3], [0, 0], [0, 0], [-1, 0]]


@pytest.mark.parametrize(
    ("atoms", "bonds", "hydrogens"),
    [
        (["N"], [], [3]), (["S", "O", "O", "C", "C"], [(1, 2, 2), (1, 3, 2), (1, 4, 1), (1, 5, 1)], [0, 0, 0, 3, 3]),
        (["C", "C"], [(1, 2, 3)], [1, 1]), (["C", "Cl"], [(1, 2, 1)], [3, 0]), (["Na"], [], [0]),
        (["C"] * 6, [(1, 2, 4), (2, 3, 4), (3, 4, 4), (4, 5, 4), (5, 6, 4), (1, 6, 4)], [1] * 6),
        (["N", "O", "O", "C"], [(1, 2, 2), (1, 3, 2), (1, 4, 1)], [0, 0, 0, 3]),
    ],
    ids=["ammonia", "sulfone", "ethyne", "chloromethane", "sodium", "benzene", "nitromethane"],
)  # fmt: skip
def test_usual_valences(
    tmp_path: Path, atoms: list[str], bonds: list[tuple[int, int, int]], hydrogens: list[int]
) -> None:
    (found,) = graphs(tmp_path, block("x", [atom(one) for one in atoms], bonds))
    assert found.graph.node_features.numbers_NF[:, 1].tolist() == hydrogens


def test_charges_that_are_stated_take_the_place_of_codes(tmp_path: Path) -> None:
    """Ammonium, by a line of its own; with it, codes in the lines of atoms mean nothing."""
    text = block("ammonium", [atom("N"), atom("Cl", 3)], []).replace("M  END", "M  CHG  2   1   1   2  -1\nM  END")
    (found,) = graphs(tmp_path, text)
    assert found.graph.node_features.numbers_NF.tolist() == [[1, 4], [-1, 0]]


def test_ends_of_lines_and_the_last_block_may_differ(tmp_path: Path) -> None:
    one, other = graphs(tmp_path, (ETHANOL + ACETATE.replace("$$$$\n", "")).replace("\n", "\r\n"))
    assert (one.graph.name, other.graph.name) == ("ethanol", "acetate")
    assert other.properties["logS"] == "0.5"


BROKEN = {
    "counts": (ETHANOL.replace("  3  2  0", "  x  2  0"), "ethanol: 'x' is no number of atoms"),
    "short": (ETHANOL.replace("  3  2  0", "  9  2  0"), "ethanol: the line '1  2  1  0' is not an atom"),
    "bond": (ETHANOL.replace("  2  3  1  0", "  2  7  1  0"), "ethanol: a bond from atom 2 to atom 7, and there are 3"),
    "truncated": ("ethanol\n", "ethanol: the block ends too early"),
    "v3000": (ETHANOL.replace("V2000", "V3000"), "written as V3000, and V2000 is read; convert it"),
    "empty": (block("nothing", [], []), "nothing: it has no atoms"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_block_is_skipped_counted_and_named(tmp_path: Path, name: str) -> None:
    text, told = BROKEN[name]
    whole = ETHANOL + text.removesuffix("$$$$\n") + "$$$$\n" + ACETATE
    (tmp_path / "some.sdf").write_text(whole)
    ledger = Ledger()
    kept = read_labelled_graphs(tmp_path / "some.sdf", "train", ledger, GraphColumns(label="logS"))
    assert [one.raw.name for one in kept] == ["ethanol", "acetate"]
    assert [one.number for one in kept] == [1, 3]
    counts = ledger.counts("train", str(tmp_path / "some.sdf"))
    assert (counts.read, counts.kept, counts.skipped) == (3, 2, 1)
    (skipped,) = ledger.exceptions
    assert (skipped.line, skipped.reason) == (15, "no readable molecule")
    assert told in skipped.detail

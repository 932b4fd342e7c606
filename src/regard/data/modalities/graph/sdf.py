"""Molecules in SDF files (V2000 blocks, as the CTfile formats describe them): atoms are nodes, bonds are edges.

Hydrogens that are not written are counted by the usual valences; "hydrogens" is a number of each atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regard.data.modalities.graph.graphs import Edge, Node, make
from regard.data.modalities.graph.written import Broken, Written
from regard.data.readers import read_lines

SUFFIXES = (".sdf", ".sd", ".mol")
END = "$$$$"
BROKEN = "no readable molecule"
BONDS = {1: "single", 2: "double", 3: "triple", 4: "aromatic"}
ORDERS = {"single": 1.0, "double": 2.0, "triple": 3.0, "aromatic": 1.5}
CHARGES = {1: 3, 2: 2, 3: 1, 5: -1, 6: -2, 7: -3}
"""What the code in an atom's line stands for; 0 and 4 are no charge."""
VALENCES: Mapping[str, tuple[int, ...]] = {
    "B": (3,), "C": (4,), "N": (3, 5), "O": (2,), "F": (1,), "Si": (4,), "P": (3, 5), "S": (2, 4, 6), "Cl": (1,),
    "Br": (1,), "I": (1,),
}  # fmt: skip
"""How many bonds an atom usually has."""


def read_sdf(path: Path) -> Iterator[Written | Broken]:
    """The molecules of a file, one after the other; what is broken says why, and the next one is read."""
    for line, block in blocks(read_lines(path)):
        try:
            yield molecule(block, line)
        except (ValueError, IndexError) as error:
            why = str(error) if isinstance(error, ValueError) else "the block ends too early"
            name = block[0].strip() if block else ""
            yield Broken(line, BROKEN, f"{name or 'without a name'}: {why}")


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each molecule, and on which line it begins, counted from 1."""
    start = 0
    for place, line in enumerate(lines):
        if line.startswith(END):
            yield start + 1, list(lines[start:place])
            start = place + 1
    if any(line.strip() for line in lines[start:]):
        yield start + 1, list(lines[start:])


def molecule(block: Sequence[str], line: int) -> Written:
    """One block: three lines of header, the counts, atoms, bonds, properties, and what is said of the whole."""
    name = block[0].strip()
    counts = block[3]
    if "V3000" in counts:
        raise ValueError("written as V3000, and V2000 is read; convert it")
    atoms, bonds = whole_number(counts[:3], "number of atoms"), whole_number(counts[3:6], "number of bonds")
    if not atoms:
        raise ValueError("it has no atoms")
    elements, charges = [], []
    for atom in block[4 : 4 + atoms]:
        element = atom[31:34].strip()
        if not element.isalpha() and element not in ("*", "R#"):
            raise ValueError(f"the line {atom.strip()!r} is not an atom")
        elements.append(element)
        charges.append(CHARGES.get(whole_number(atom[36:39] or "0", "charge"), 0))
    edges = [bond(one, atoms) for one in block[4 + atoms : 4 + atoms + bonds]]
    if len(elements) < atoms or len(edges) < bonds:
        raise ValueError(f"{atoms} atoms and {bonds} bonds are announced, and the block ends before them")
    rest = block[4 + atoms + bonds :]
    charges = stated_charges(rest, charges)
    hydrogens = missing_hydrogens(elements, charges, edges)
    nodes = [
        Node(str(place), {"element": element, "charge": charge, "hydrogens": bare})
        for place, (element, charge, bare) in enumerate(zip(elements, charges, hydrogens, strict=True), start=1)
    ]
    return Written(make(nodes, edges, name), {"name": name, **data_items(rest)}, line)


def bond(written: str, atoms: int) -> Edge:
    ends = [whole_number(written[start : start + 3], "end of a bond") for start in (0, 3)]
    order = whole_number(written[6:9], "kind of a bond")
    if not all(1 <= end <= atoms for end in ends):
        raise ValueError(f"a bond from atom {ends[0]} to atom {ends[1]}, and there are {atoms} atoms")
    return Edge(str(ends[0]), str(ends[1]), {"bond": BONDS.get(order, str(order))})


def stated_charges(rest: Sequence[str], charges: Sequence[int]) -> list[int]:
    """Lines "M  CHG" say all charges there are."""
    found: dict[int, int] = {}
    for line in rest:
        if line.startswith("M  CHG"):
            values = [int(one) for one in line[6:].split()]
            found |= dict(zip(values[1::2], values[2::2], strict=True))
        if line.startswith("M  END"):
            break
    if not found:
        return list(charges)
    return [found.get(place, 0) for place in range(1, len(charges) + 1)]


def missing_hydrogens(elements: Sequence[str], charges: Sequence[int], edges: Sequence[Edge]) -> list[int]:
    """How many hydrogens each atom has beside those that are written, by the least usual valence that suffices."""
    used = [0.0] * len(elements)
    for edge in edges:
        for end in (edge.first, edge.second):
            used[int(end) - 1] += ORDERS.get(edge.features["bond"], 1.0)
    found = []
    for element, charge, bonds in zip(elements, charges, used, strict=True):
        shift = -abs(charge) if element in ("C", "B", "Si") else charge
        room = [valence + shift - bonds for valence in VALENCES.get(element, ())]
        found.append(int(min((one for one in room if one >= 0), default=0)))
    return found


def data_items(rest: Sequence[str]) -> dict[str, str]:
    """What stands behind a block: a line "> <NAME>", then the value, up to an empty line."""
    found: dict[str, str] = {}
    lines = iter(rest)
    for line in lines:
        if line.startswith(">") and "<" in line:
            name = line[line.index("<") + 1 : line.rindex(">")] if line.rindex(">") > line.index("<") else ""
            value: list[str] = []
            for own in lines:
                if not own.strip():
                    break
                value.append(own.strip())
            found[name] = "\n".join(value)
    return found


def whole_number(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text.strip()!r} is no {what}") from None

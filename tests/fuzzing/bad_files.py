"""Bad files and folders to learn from, each made from a random generator."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from regard.core.config import parse
from regard.data import DATA
from regard.data.discovery.found import Hints
from regard.data.discovery.looking import discover
from regard.data.ledger import Ledger
from regard.data.modalities.audio.wav import wav_bytes
from regard.runs.automatic.questions import propose
from tests.fuzzing.trying import Case, Expected
from tests.graph_files import write_molecules
from tests.sounds import tone_of

WORDS = ("amber", "birch", "cedar", "dune", "elm", "fern", "grove", "heath", "iris", "jade", "kelp", "larch")
ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".txt", ".conll", ".mrg", ".ts", ".sdf", ".csv.gz", "-idx3-ubyte", "")
ENCODINGS = ("latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
ACCENTS = "é à ü ñ ö ê ç"
Maker = Callable[[random.Random, Path], tuple[Path, ...]]


def text_of(chance: random.Random, words: int = 7) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def labelled(chance: random.Random, rows: int = 60, labels: tuple[str, ...] = ("ham", "spam")) -> str:
    lines = [f"{text_of(chance)},{chance.choice(labels)}" for _ in range(rows)]
    return "\n".join(["text,label", *lines, ""])


def series_of(chance: random.Random, rows: int = 60) -> str:
    head = "@timeStamps false\n@classLabel true a b\n@data\n"
    lines = [",".join(f"{chance.random():.3f}" for _ in range(12)) for _ in range(rows)]
    return head + "".join(f"{line}:{chance.choice('ab')}\n" for line in lines)


def png(chance: random.Random) -> bytes:
    from PIL import Image

    image = Image.new("L", (8, 8), chance.randrange(256))
    image.putpixel((chance.randrange(8), chance.randrange(8)), chance.randrange(256))
    held = io.BytesIO()
    image.save(held, "PNG")
    return held.getvalue()


def wav(chance: random.Random) -> bytes:
    return wav_bytes(tone_of(chance.choice(("high", "low")), 0.1, chance.randrange(10**6)), 2000)


# -- tables -----------------------------------------------------------------------------------------------------


def unequal_rows(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    lines = labelled(chance).split("\n")
    place = chance.randrange(1, len(lines) - 1)
    lines[place] += ",more" * chance.randrange(1, 4)
    return (write(folder / "table.csv", "\n".join(lines)),)


def one_column_of_numbers(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    name = chance.choice(("value\n", ""))
    return (write(folder / "table.csv", name + "".join(f"{chance.random():.4f}\n" for _ in range(50))),)


def numbers_alone(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    rows = (",".join(f"{chance.random():.4f}" for _ in range(4)) for _ in range(50))
    return (write(folder / "table.csv", "a,b,c,d\n" + "".join(f"{row}\n" for row in rows)),)


def one_label(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    return (write(folder / "table.csv", labelled(chance, labels=("ham",))),)


def names_alone(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    name, between = chance.choice((("table.csv", ","), ("train.tsv", "\t")))
    return (write(folder / name, f"text{between}label\n"),)


def names_twice(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    return (write(folder / "table.csv", labelled(chance).replace("text,label", "label,label", 1)),)


def open_quotation(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    lines = ["text,label", *(f'"{text_of(chance)}",{chance.choice(("ham", "spam"))}' for _ in range(40))]
    place = chance.randrange(1, len(lines))
    lines[place] = lines[place].replace('",', ",")
    return (write(folder / "table.csv", "\n".join(lines)),)


# -- bytes ------------------------------------------------------------------------------------------------------


def other_encoding(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    lines = labelled(chance).replace("elm", chance.choice(ACCENTS.split())).encode(chance.choice(ENCODINGS))
    return (write(folder / f"table{chance.choice(('.csv', '.txt'))}", lines),)


def nul_bytes(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    held = bytearray(labelled(chance).encode())
    for _ in range(chance.randrange(1, 30)):
        held[chance.randrange(len(held))] = 0
    return (write(folder / f"table{chance.choice(('.csv', '.txt', '.tsv'))}", bytes(held)),)


def random_bytes(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    held = b"\xff\x00" + chance.randbytes(chance.randrange(1, 4000))
    return (write(folder / f"data{chance.choice(ENDINGS)}", held),)


def broken_gzip(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    packed = gzip.compress(labelled(chance).encode(), mtime=0)
    cut = packed[: chance.randrange(3, len(packed) - 9)]
    damaged = bytearray(packed)
    damaged[chance.randrange(12, len(packed) - 8)] ^= 0xFF
    held = chance.choice((cut, bytes(damaged), b"no gzip at all", packed[:-4] + b"abcd"))
    return (write(folder / "table.csv.gz", held),)


def nothing(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    held = chance.choice((b"", b"\n", b"\n\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b" ", b"\r\n\r\n"))
    return (write(folder / f"data{chance.choice(ENDINGS)}", held),)


def no_file(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    """Folders without files, names of nothing, and what is no file but has a name."""
    path = folder / f"data{chance.choice(ENDINGS)}"
    match chance.randrange(6):
        case 0:
            path.mkdir()
        case 1:
            (path / "deep" / ".hidden").mkdir(parents=True)
        case 2:
            os.mkfifo(path)
        case 3:
            path.symlink_to(path)
        case 4:
            path.symlink_to(folder / "gone")
        case _:
            with socket.socket(socket.AF_UNIX) as end:
                here = os.getcwd()
                os.chdir(folder)  # a socket's path must be short
                try:
                    end.bind("s")
                finally:
                    os.chdir(here)
            (folder / "s").rename(path)
    return (path,)


# -- other kinds ------------------------------------------------------------------------------------------------


def unequal_sides(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    counts = chance.sample(range(20, 90), 2)
    sides = zip(("train.de", "train.en"), counts)
    return tuple(write(folder / name, "".join(f"{text_of(chance)}\n" for _ in range(count))) for name, count in sides)


def wrong_json(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    deep = "[" * 100_000
    huge = '{"text": "a b c d e f", "label": ' + "9" * 5000 + "}\n"
    shapes = (
        "{}", "[]", "null", "3", '"text"', "[1, 2, 3]", '{"a": {"b": [1]}}', "[[1, 2], [3]]", '{"data": 3}',
        '{"data": [{"paragraphs": 3}]}', '{"version": 1, "data": [{"paragraphs": [{"qas": 1, "context": 2}]}]}',
        '{"nodes": 3', '{"nodes": "x", "edges": 3}', '[{"nodes": [{"id": 1}], "edges": [[1]]}]', deep, deep + "]" * 9,
        '{"nodes": 1e400, "edges": []}', '{"nodes": [1, 1], "edges": [], "label": "a"}', huge, "{" * 500,
        '{"text": "\\ud800", "label": 1', '{"text" "a"}', '{"data": [{"paragraphs": [{"qas": [], "context": ""}]}]}',
    )  # fmt: skip
    held = chance.choice(shapes) + chance.choice(("", "\n", "\n{}\n"))
    return (write(folder / f"data{chance.choice(('.json', '.jsonl'))}", held),)


def broken_pictures(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    """Some or all of the pictures are no pictures."""
    share = chance.choice((0.1, 1.0))
    for number in range(30):
        held = png(chance)
        if number == 0 or chance.random() < share:
            held = chance.choice((held[: chance.randrange(len(held) - 12)], b"", b"\x89PNG\r\n\x1a\n" + bytes(9)))
        write(folder / "pictures" / "ab"[number % 2] / f"{number}.png", held)
    return (folder / "pictures",)


def broken_sounds(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    share = chance.choice((0.1, 1.0))
    for number in range(24):
        held = wav(chance)
        if number == 0 or chance.random() < share:
            header = bytearray(held)
            header[22:26] = struct.pack("<HH", *chance.choice(((0, 0), (65535, 1), (1, 0), (0, 65535))))
            held = chance.choice((held[: chance.randrange(len(held) - 2)], b"", b"RIFF" + bytes(40), bytes(header)))
        write(folder / "sounds" / "ab"[number % 2] / f"{number}.wav", held)
    return (folder / "sounds",)


def broken_molecules(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    write_molecules(folder / "mol.sdf", 30, "SOL")
    text = (folder / "mol.sdf").read_text()
    wrong = chance.choice((
        text.replace("V2000", "V3000"), text[: chance.randrange(5, 60)], "\n".join(chance.choices(WORDS, k=40)),
        text.replace("> <SOL>", "> <>"), text.replace(" C ", " 9 "), "$$$$\n" * 9, text.replace("  1  0", " 99 99"),
    ))  # fmt: skip
    return (write(folder / "mol.sdf", wrong),)


def broken_series(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    text = series_of(chance)
    wrong = chance.choice((
        text.replace("@data", ""), text.replace(":a", ""), text.replace("0.", "x."), text.replace("true a b", "false"),
        text.replace("@timeStamps false", "@timeStamps true"), text.replace(":b", ":c"), text.split("@data")[0],
        text.replace(":a", ":1:a", 1), text + "1,2,3:a:b:a\n", text.split("@data")[0] + "@data\n",
    ))  # fmt: skip
    return (write(folder / "series.ts", wrong),)


def broken_idx(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    pictures = struct.pack(">IIII", 0x803, 40, 6, 6) + chance.randbytes(40 * 36)
    labels = struct.pack(">II", 0x801, 40) + bytes(chance.randrange(3) for _ in range(40))
    wrong = chance.choice((
        (pictures[: chance.randrange(4, 900)], labels), (pictures, labels[:-3]), (pictures, b""), (pictures, None),
        (struct.pack(">IIII", 0x803, 2**31, 6, 6) + pictures[16:], labels), (labels, labels),
        (struct.pack(">IIII", 0x803, 40, 0, 0), labels), (pictures, struct.pack(">II", 0x801, 2**32 - 1) + bytes(9)),
    ))  # fmt: skip
    if wrong[1] is not None:
        write(folder / "train-labels-idx1-ubyte", wrong[1])
    return (write(folder / "train-images-idx3-ubyte", wrong[0]),)


def irregular_times(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    lines = ["time,load"]
    for number in range(50):
        day = f"20{chance.randrange(10, 99)}-{chance.randrange(1, 13):02d}-{1 + number % 28:02d}"
        lines.append(f"{day},{chance.random()}")
    return (write(folder / "load.csv", "\n".join(lines)),)


def other_formats(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    zipped, packed = b"PK\x03\x04", b"\x1f\x8b"
    magic = {".xlsx": zipped, ".parquet": b"PAR1", ".pdf": b"%PDF-1.7\n", ".zip": zipped, ".tgz": packed}
    name = chance.choice([*magic])
    return (write(folder / f"data{name}", magic[name] + chance.randbytes(200)),)


def mutated(chance: random.Random, folder: Path) -> tuple[Path, ...]:
    """A good file of any kind, of which some bytes are others, or an end is missing."""
    makers: dict[str, Callable[[], bytes]] = {
        "table.csv": lambda: labelled(chance).encode(), "series.ts": lambda: series_of(chance).encode(),
        "text.txt": lambda: "\n".join(text_of(chance) for _ in range(60)).encode(),
        "tags.conll": lambda: ("".join(f"{word} X\n" for word in WORDS) + "\n").encode() * 9,
        "trees.mrg": lambda: b"(S (NP (D the) (N cat)) (VP (V runs)))\n" * 30,
        "rows.jsonl": lambda: b"".join(json.dumps({"text": text_of(chance), "label": "ab"[n % 2]}).encode() + b"\n"
                                       for n in range(60)),
        "molecules.sdf": lambda: molecules(folder),
    }  # fmt: skip
    name = chance.choice([*makers])
    held = bytearray(makers[name]())
    if chance.random() < 0.3:
        held = held[: chance.randrange(len(held))]
    for _ in range(chance.choice((0, 1, 5, 50))):
        if held:
            held[chance.randrange(len(held))] = chance.choice((chance.randrange(256), *b'\n,"\t(){}:;0'))
    return (write(folder / name, bytes(held)),)


def molecules(folder: Path) -> bytes:
    write_molecules(folder / "molecules.sdf", 30, "SOL")
    return (folder / "molecules.sdf").read_bytes()


KINDS: tuple[tuple[Maker, Expected], ...] = (
    (unequal_rows, "refused"), (one_column_of_numbers, "refused"), (numbers_alone, "refused"), (one_label, "refused"),
    (names_alone, "refused"), (names_twice, "refused"), (open_quotation, "refused"), (other_encoding, "refused"),
    (nul_bytes, "refused"), (random_bytes, "refused"), (broken_gzip, "refused"), (nothing, "refused"),
    (no_file, "refused"), (unequal_sides, "refused"), (wrong_json, "refused"), (broken_pictures, "told"),
    (broken_sounds, "told"), (broken_molecules, "told"), (broken_series, "refused"), (broken_idx, "refused"),
    (irregular_times, "refused"), (other_formats, "refused"), (mutated, "either"),
)  # fmt: skip


def bad_files(seed: int, number: int, folder: Path) -> Case:
    """The case with this number: looking at the files, proposing a recipe, reading the data."""
    chance = random.Random(f"{seed} {number}")
    maker, expected = KINDS[number % len(KINDS)]
    folder = folder / f"{number}"
    folder.mkdir(parents=True)
    paths = maker(chance, folder)

    def run() -> str:
        found = discover(paths, Hints())
        propose(found).first().recipe()
        ledger = Ledger()
        parse(DATA.resolve(found.data["kind"]), dict(found.data)).load(1, ledger)  # type: ignore[attr-defined]
        return " ".join([*found.warnings, *dict.fromkeys(one.reason for one in ledger.exceptions)])

    return Case(f"{maker.__name__} {number}", expected, run)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path

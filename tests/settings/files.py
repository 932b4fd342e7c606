"""Small files of every kind that a recipe can read, written once into one folder."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

from tests.sounds import write_tones

SUBJECTS, VERBS, PLACES = ("cat", "dog", "man", "House"), ("sleeps", "runs", "sings"), ("here", "there", "at home")
SENTENCES = [f"the {one} {verb} {place}" for place in PLACES for verb in VERBS for one in SUBJECTS]
"""36 sentences, all different."""
GERMAN = {"the": "die", "cat": "Katze", "dog": "Hund", "sleeps": "schläft", "here": "hier", "sings": "singt"}


def write_files(folder: Path) -> Path:
    """Everything under the names that ``kinds.DATA_TABLES`` reads, unless it is there."""
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    write_texts(folder)
    write_pictures(folder)
    write_series(folder)
    write_tones(folder / "tones", 6)
    lines = [f"tones/{label}/{number}.wav,{label} tone" for label in ("high", "low") for number in range(6)]
    (folder / "said.csv").write_text("\n".join(["sound,text", *lines]) + "\n", encoding="utf-8")
    write_lines(folder / "graphs.jsonl", map(json.dumps, map(ring, range(3, 27))))
    write_clips(folder / "clips")
    (folder / "clubs.json").write_text(json.dumps(clubs(24)), encoding="utf-8")
    return folder


def write_clips(folder: Path) -> None:
    """Six clips of four frames for each of two classes: a bright row that moves up, or down."""
    for label in ("down", "up"):
        for number in range(6):
            own = folder / label / str(number)
            own.mkdir(parents=True)
            for frame in range(4):
                pixels = np.zeros((8, 8, 3), np.uint8)
                pixels[2 * frame if label == "down" else 7 - 2 * frame] = 100 + 10 * number
                Image.fromarray(pixels).save(own / f"{frame}.png")


def ring(nodes: int) -> dict[str, object]:
    """A ring of so many nodes, each with a number and a colour."""
    return {
        "nodes": [{"id": one, "size": one % 5, "colour": "red" if one % 3 else "blue"} for one in range(nodes)],
        "edges": [[one, (one + 1) % nodes] for one in range(nodes)],
        "label": "odd" if nodes % 2 else "even",
        "half": "first" if nodes < 14 else "second",
    }


def clubs(nodes: int) -> dict[str, object]:
    """Two rings with a bridge; each node has a club, another class, and a split that it belongs to."""
    near, far = range(nodes // 2), range(nodes // 2, nodes)
    people = [
        {"id": one, "club": "first" if one in near else "second", "parity": "odd" if one % 2 else "even",
         "part": ("train", "train", "validation", "test")[one % 4], "age": one % 7}
        for one in range(nodes)
    ]  # fmt: skip
    rings = [[own[place], own[(place + 1) % len(own)]] for own in (near, far) for place in range(len(own))]
    return {"nodes": people, "edges": [*rings, [0, nodes - 1]]}


def write_texts(folder: Path) -> None:
    told = [" ".join(GERMAN.get(word, word) for word in one.split()) for one in SENTENCES]
    rows = [f"{one}\t{other}\t{len(one) % 2}\t{one[4]}" for one, other in zip(SENTENCES, told, strict=True)]
    quoted = '"the cat and the dog"\tdie Katze und der Hund\t1\tc'  # signs, or what encloses a cell
    write_lines(folder / "pairs.tsv", ["source\ttarget\tlabel\tgroup", *rows, quoted])
    write_lines(folder / "text.txt", [*SENTENCES, *told])
    tags = [[f"{word} {'D O' if word == 'the' else 'N B-N'}" for word in one.split()] for one in SENTENCES]
    write_lines(folder / "tagged.txt", [line for own in tags for line in (*own, "")])
    trees = [f"(S (NP-SBJ (DT the) (NN {one})) (VP (VB {verb})))" for one in SUBJECTS for verb in VERBS]
    write_lines(folder / "trees.txt", trees)
    asked = [
        {"question": f"who {verb}", "context": f"the {one} {verb} here", "answer": one, "answer_start": 4}
        for one in SUBJECTS
        for verb in VERBS
    ]
    write_lines(folder / "questions.jsonl", map(json.dumps, asked))
    generator = np.random.default_rng(2)
    words = [*sorted({word for one in (*SENTENCES, *told) for word in one.split()}), *"abcdefghijklmnopqrstuvwxyz"]
    write_lines(folder / "vectors.txt", [" ".join([word, *map(str, generator.random(4).round(3))]) for word in words])


def write_lines(path: Path, lines: object) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")  # type: ignore[call-overload]


def write_pictures(folder: Path) -> None:
    generator = np.random.default_rng(1)
    for number in range(24):
        path = folder / "pictures" / f"class-{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (12, 10, 3), dtype=np.uint8)).save(path)


def write_series(folder: Path) -> None:
    generator, start = np.random.default_rng(3), datetime(2024, 1, 1)
    rows = [
        f"{(start + timedelta(hours=hour)).isoformat()},{np.sin(hour / 4) + own:.3f},{own:.3f}"
        for hour, own in enumerate(generator.random(240))
    ]
    write_lines(folder / "hours.csv", ["time,y,z", *rows])
    shapes = [
        ":".join([*(",".join(f"{value:.3f}" for value in own) for own in generator.random((2, 8))), str(one % 2)])
        for one in range(24)
    ]
    write_lines(folder / "shapes.ts", ["@data", *shapes])

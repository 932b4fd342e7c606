"""Makes the sounds of two recipes: digits that espeak-ng speaks in many voices, a table of tuxpaint's Spanish phrases.

    python benchmarks/sounds_data.py spoken-digits FOLDER     # needs espeak-ng (Debian: apt-get install espeak-ng)
    python benchmarks/sounds_data.py tuxpaint FOLDER          # FOLDER is where dpkg-deb -x put tuxpaint-stamps-default
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import random
import shutil
import subprocess
import sys
from pathlib import Path

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ACCENTS = ("en", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029")
VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5", "croak", "klatt", "whisper")
UNSEEN = {"accents": ("en-gb-scotland", "en-029"), "variants": ("m4", "m8", "f2", "f5")}
SPEEDS, PITCHES = (130, 160, 190), (35, 50, 65)
STAMPS = Path("usr", "share", "tuxpaint", "stamps")
SHARES = (("test", 0.1), ("validation", 0.1), ("train", 1.0))


def spoken_digits(folder: Path, seed: int = 1) -> int:
    """``train`` and ``test`` with a folder for each digit; no accent or variant of ``test`` is in a training sound."""
    if shutil.which("espeak-ng") is None:
        raise SystemExit("espeak-ng is not installed; on Debian: apt-get install espeak-ng")
    chance, count = random.Random(seed), 0
    for accent, variant in itertools.product(ACCENTS, VARIANTS):
        unseen = (accent in UNSEEN["accents"]) + (variant in UNSEEN["variants"])
        if unseen == 1:  # half known: neither learned from nor asked about
            continue
        for place, word in enumerate(WORDS):
            for take in range(3):
                own = folder / ("test" if unseen else "train") / str(place)
                own.mkdir(parents=True, exist_ok=True)
                how = ["-s", str(chance.choice(SPEEDS)), "-p", str(chance.choice(PITCHES))]
                file = own / f"{accent}-{variant}-{take}.wav"
                subprocess.run(["espeak-ng", "-v", f"{accent}+{variant}", *how, "-w", str(file), word], check=True)
                count += 1
    return count


def tuxpaint(folder: Path, language: str = "es") -> int:
    """``spanish-train.csv`` and so on, with paths and texts; equal recordings and equal texts are in one split."""
    rows: dict[tuple[str, str], tuple[str, str]] = {}
    for note in sorted((folder / STAMPS).rglob("*.txt")):
        told = [line for line in note.read_text(encoding="utf-8").splitlines() if line.startswith(f"{language}.utf8=")]
        sound = note.with_name(f"{note.stem}_desc_{language}.ogg")
        if told and sound.is_file():
            text = told[0].partition("=")[2].strip().lower().rstrip(".")
            digest = hashlib.md5(sound.read_bytes(), usedforsecurity=False).hexdigest()
            rows.setdefault((digest, text), (str(sound.relative_to(folder)), text))
    splits: dict[str, list[tuple[str, str]]] = {name: [] for name, _ in SHARES}
    for path, text in rows.values():
        place = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8
        for name, share in SHARES:
            if place < share:
                splits[name].append((path, text))
                break
            place -= share
    for name, own in splits.items():
        with (folder / f"spanish-{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("sound", "text"), *own])
    return len(rows)


if __name__ == "__main__":
    made = {"spoken-digits": spoken_digits, "tuxpaint": tuxpaint}
    if len(sys.argv) != 3 or sys.argv[1] not in made:
        raise SystemExit(__doc__)
    print(f"{made[sys.argv[1]](Path(sys.argv[2])):,} sounds")

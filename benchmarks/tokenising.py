"""From texts to the memory-mapped token file, against the ``tokenizers`` library alone on the same documents: ours and
the library in one run, in turns.

    python benchmarks/tokenising.py [--text tinyshakespeare.txt] [--copies 3] [--rounds 3]

Ours reads the files, cuts them, tokenises, counts, and writes the token file; the library gets the documents in memory
and makes its encodings, from which nobody reads the ids. ``encode_batch`` keeps the place of every token,
``encode_batch_fast`` does not.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import HERE, machine_facts, write_result

SHAKESPEARE = HERE.parent.parent / "shared" / "data" / "tinyshakespeare.txt"
PACKAGES = ("asyncio", "collections", "email", "json", "logging", "unittest")
VOCABULARY = 4000


def corpora(text: Path, copies: int, folder: Path) -> dict[str, Any]:
    """The three kinds of running text, nothing set aside."""
    from regard.data.ledger import Ledger
    from regard.data.sources.text_files import PythonCode, PythonEnglish, TextFiles

    for number in range(copies):
        (folder / f"{number}.txt").write_bytes(text.read_bytes())
    parts = {
        "text": TextFiles(train=str(folder / "*.txt"), validation_share=0.0),
        "python-english": PythonEnglish(validation_share=0.0),
        "python-code": PythonCode(validation_share=0.0, packages=PACKAGES),
    }
    return {name: part.load(1, Ledger()) for name, part in parts.items()}


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and on the processors: the latter hardly depend on who else is at work."""
    start, started = time.perf_counter(), time.process_time()
    made = work()
    seconds, worked = time.perf_counter() - start, time.process_time() - started
    del made  # not on anybody's clock
    return seconds, worked


def measured(corpus: Any, part: Any, rounds: int) -> dict[str, Any]:
    """Medians of seconds, all sides in turns; the token file is made anew each time."""
    from regard.data.modalities.text.token_files import token_file

    texts = corpus.splits["train"]
    documents = ["".join(text.blocks()) for text in texts]
    tokenizer = part.train(documents)
    found: dict[str, list[tuple[float, float]]] = {"regard": [], "encode_batch": [], "encode_batch_fast": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["REGARD_CACHE"] = cache
            found["regard"].append(timed(lambda: token_file(texts, tokenizer)))
        for name in ("encode_batch", "encode_batch_fast"):
            encode = getattr(tokenizer.raw, name)
            found[name].append(timed(lambda encode=encode: encode(documents, add_special_tokens=False)))
    clock, processors = (
        {name: statistics.median(own[place] for own in times) for name, times in found.items()} for place in (0, 1)
    )
    return {
        "documents": len(documents),
        "characters": sum(map(len, documents)),
        "seconds": {name: round(own, 4) for name, own in clock.items()},
        "processor_seconds": {name: round(own, 4) for name, own in processors.items()},
        "ratio": ratios(clock),
        "processor_ratio": ratios(processors),
    }


def ratios(seconds: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds["regard"] / own, 3) for name, own in seconds.items() if name != "regard"}


def main() -> None:
    from regard.data.modalities.text.tokenizers import BpeTokenizer, ByteTokenizer, CharacterTokenizer, CodeTokenizer

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, default=SHAKESPEARE)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    parts = [
        BpeTokenizer(vocabulary=VOCABULARY),
        CodeTokenizer(vocabulary=VOCABULARY),
        CharacterTokenizer(),
        ByteTokenizer(),
    ]
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in corpora(given.text, given.copies, Path(folder)).items():
            for part in parts:
                result = results.setdefault(name, {})[part.kind] = measured(corpus, part, given.rounds)
                said = "; ".join(
                    f"{result['ratio'][side]:.2f} of {side} (processors {result['processor_ratio'][side]:.2f})"
                    for side in result["ratio"]
                )
                print(f"{name:14} {part.kind:9} {result['seconds']['regard']:.2f} s, {said}", flush=True)
    write_result("tokenising", {"machine": machine_facts(), "rounds": given.rounds, "corpora": results})


if __name__ == "__main__":
    main()

"""Beam-5 translation of test2016, sentences per second, against Hugging Face `generate` on a Marian model of the
same size: ours and the peer in one run, in turns.

    python benchmarks/translation_speed.py RUN --data FOLDER [--rounds 3]

The peer has random weights of the same shapes, so it is told how long each answer is: it runs exactly as many
steps as our longest answer in each of its batches needs, at the best of several batch sizes.
"""

import statistics
import tempfile
import time
from pathlib import Path

from common import machine_facts, rounds_parser, write_result
from peers.environments import make
from training_speed import run

HERE = Path(__file__).resolve().parent


def ours(folder: Path, sources: list[str], beam: int) -> tuple[dict, list[int]]:
    """Seconds and answer lengths of one translation of everything, as the recipe decodes, detokenisation included."""
    from regard.runs.load import load

    loaded = load(folder)
    options = loaded.recipe.decoding.model_copy(update={"size": beam})
    loaded.predict(sources[:16], options)
    began = time.perf_counter()
    texts = loaded.predict(sources, options)
    seconds = time.perf_counter() - began
    lengths = [len(ids) + 1 for ids in loaded.vocabularies.target.encode_batch(texts)]
    return {
        "seconds": round(seconds, 3),
        "sentences_per_second": round(len(sources) / seconds, 2),
        "output_tokens": sum(lengths),
        "vocabulary": loaded.vocabularies.target.size,
    }, lengths


def main() -> None:
    parser = rounds_parser(__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--beam", type=int, default=5)
    arguments = parser.parse_args()
    peer = make("huggingface")
    test = arguments.data / "test2016.en"
    sources = test.read_text(encoding="utf-8").splitlines()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.txt"
        for number in range(arguments.rounds):
            mine, lengths = ours(arguments.run, sources, arguments.beam)
            answers.write_text("\n".join(map(str, lengths)) + "\n")
            theirs = run(
                peer, HERE / "peers" / "huggingface_translation.py", "--answers", answers, "--lengths", test,
                "--vocabulary", str(mine["vocabulary"]), "--beam", str(arguments.beam),
            )  # fmt: skip
            rounds.append({"regard": mine, "huggingface": theirs})
            print(f"round {number + 1}: regard {mine['sentences_per_second']}, "
                  f"Hugging Face {theirs['sentences_per_second']} sentences/s", flush=True)  # fmt: skip
    ratio = statistics.median(
        one["regard"]["sentences_per_second"] / one["huggingface"]["sentences_per_second"] for one in rounds
    )
    print(f"ratio {ratio:.2f}")
    write_result("translation_speed", {"ratio": round(ratio, 2), "machine": machine_facts(), "rounds": rounds})


if __name__ == "__main__":
    main()

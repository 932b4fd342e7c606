"""Measures how fast Hugging Face's `generate` translates with a Marian model, in `.venv-huggingface`.

With `--model` and `--sources` it translates real sentences with trained weights, which is the fair
comparison: such a model ends its sentences by itself. Without them it makes random weights, which would never
end, so `--answers` says how long each answer is to be: a batch runs exactly until its longest answer is done.
"""

import argparse
import json
import math
import resource
import sys
import time
from pathlib import Path

import torch
import transformers
from transformers import MarianConfig, MarianMTModel

BENCHMARKS = Path(__file__).resolve().parent.parent
TEST = BENCHMARKS.parent.parent / "shared" / "data" / "multi30k" / "tok" / "test2016.en"

Sentence = list[int]


def random_model(vocabulary: int) -> MarianMTModel:
    torch.manual_seed(1)
    pad, eos = 0, 1
    configuration = MarianConfig(
        vocab_size=vocabulary,
        decoder_vocab_size=vocabulary,
        d_model=128,
        encoder_layers=4,
        decoder_layers=4,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_position_embeddings=512,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=pad,
        decoder_start_token_id=pad,
        eos_token_id=eos,
        forced_eos_token_id=eos,
    )
    return MarianMTModel(configuration)


def read_sources(file: Path) -> list[Sentence]:
    """One sentence a line, as the encoder shall see it: with the end marker, if it was trained with one."""
    sources = [[int(token) for token in line.split()] for line in file.read_text().splitlines()]
    empty = [str(number) for number, source in enumerate(sources, 1) if not source]
    if empty or not sources:
        sys.exit(f"{file} has empty lines: {', '.join(empty) or 'no line at all'}")
    return sources


def random_sources(file: Path, model: MarianMTModel) -> list[Sentence]:
    """Random tokens, as many in each sentence as the file's line has words, and the end marker."""
    if not file.is_file():
        sys.exit(f"{file} is missing: name a text file with --lengths, or sources with --sources")
    torch.manual_seed(2)
    size, eos = model.config.vocab_size, model.config.eos_token_id
    lengths = [len(line.split()) for line in file.read_text(encoding="utf-8").splitlines()]
    return [[*torch.randint(2, size, (length,)).tolist(), eos] for length in lengths]


def up_to_end(tokens: Sentence, eos: int) -> Sentence:
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens


def translate(
    model: MarianMTModel, sources: list[Sentence], batch_size: int, arguments: argparse.Namespace
) -> tuple[list[Sentence], int]:
    """Translates in batches of similar length; returns outputs in order, and how many met the limit."""
    eos, pad = model.config.eos_token_id, model.config.pad_token_id
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]), reverse=True)
    outputs: list[Sentence] = [[] for _ in sources]
    cut = 0
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        longest = len(sources[chosen[0]])
        rows = [sources[index] + [pad] * (longest - len(sources[index])) for index in chosen]
        mask = [[1] * len(sources[index]) + [0] * (longest - len(sources[index])) for index in chosen]
        limit = math.ceil(arguments.length_factor * longest) + arguments.length_extra
        if arguments.answers:
            limit = max(arguments.answers[index] for index in chosen)
        produced = model.generate(
            input_ids=torch.tensor(rows),
            attention_mask=torch.tensor(mask),
            num_beams=arguments.beam,
            do_sample=False,
            length_penalty=arguments.length_penalty,
            early_stopping=False,
            max_length=None,
            max_new_tokens=limit,
            min_new_tokens=limit if arguments.answers else None,
        )
        without_start = produced[:, 1:].tolist()
        for index, tokens in zip(chosen, without_start, strict=True):
            outputs[index] = up_to_end(tokens, eos)
            cut += len(outputs[index]) >= limit
    return outputs, cut


def measure(
    model: MarianMTModel, sources: list[Sentence], batch_size: int, arguments: argparse.Namespace
) -> tuple[dict, list[Sentence]]:
    """The best of the repeats, and its outputs."""
    times = []
    for _ in range(arguments.repeats):
        start = time.perf_counter()
        outputs, cut = translate(model, sources, batch_size, arguments)
        times.append(time.perf_counter() - start)
    seconds = min(times)
    result = {
        "batch_size": batch_size,
        "seconds": round(seconds, 3),
        "sentences_per_second": round(len(sources) / seconds, 2),
        "output_tokens": sum(len(output) for output in outputs),
        "met_length_limit": cut,
    }
    return result, outputs


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a Marian folder with trained weights; else random ones")
    parser.add_argument("--sources", type=Path, help="token ids separated by spaces, one sentence a line")
    parser.add_argument("--lengths", type=Path, default=TEST, help="text whose lengths random sources take")
    parser.add_argument("--answers", type=Path, help="the number of tokens of each answer, one a line")
    parser.add_argument("--outputs", type=Path, help="where to write the translations' token ids")
    parser.add_argument("--vocabulary", type=int, default=10_000, help="size, for random weights")
    parser.add_argument("--sentences", type=int, help="translate only the first so many")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--length-penalty", type=float, default=1.0)
    parser.add_argument("--length-factor", type=float, default=1.5, help="limit: factor × longest + extra")
    parser.add_argument("--length-extra", type=int, default=10)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.sources is None):
        parser.error("--model and --sources go together: trained weights need their own token ids")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    transformers.logging.set_verbosity_error()
    if arguments.answers is not None:
        arguments.answers = [int(line) for line in arguments.answers.read_text().split()]
    transformers.logging.disable_progress_bar()
    if arguments.model is None:
        model = random_model(arguments.vocabulary).eval()
        sources = random_sources(arguments.lengths, model)
    else:
        model = MarianMTModel.from_pretrained(arguments.model, dtype=torch.float32).eval()
        sources = read_sources(arguments.sources)
    sources = sources[: arguments.sentences]
    translate(model, sources[:8], 8, arguments)
    results = [measure(model, sources, batch_size, arguments) for batch_size in arguments.batch_sizes]
    best, outputs = max(results, key=lambda result: result[0]["sentences_per_second"])
    if arguments.outputs is not None:
        arguments.outputs.write_text("".join(" ".join(map(str, output)) + "\n" for output in outputs))
    report = {
        "peer": "huggingface",
        "version": transformers.__version__,
        "torch": torch.__version__,
        "weights": "random" if arguments.model is None else str(arguments.model),
        "sentences": len(sources),
        "beam": arguments.beam,
        "length_penalty": arguments.length_penalty,
        **best,
        "by_batch_size": {str(result["batch_size"]): result["sentences_per_second"] for result, _ in results},
        "threads": torch.get_num_threads(),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

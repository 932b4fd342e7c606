"""CTranslate2 as our engine against Hugging Face `generate` with the same weights, in one run.

    python benchmarks/engines.py --translation RUN [--data FOLDER]   # beam 5 on test2016: BLEU, sentences a second
    python benchmarks/engines.py --generation                        # greedy, GPT-2 small's shape: tokens per second

Both sides get the best of several batch sizes or number types; the peer is our own export, opened by transformers.
Asked: less than 0.3 BLEU lost and 3.5 times the speed in translation, 1.6 times in generation.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from common import DATA, machine_facts, write_result

PROMPT = 32
BATCHES = (1, 16)
PEER = str(Path(__file__).parent / "peers" / "huggingface_generation.py")


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The best of the repeats, in seconds, and what came of the last."""
    best, made = float("inf"), None
    for _ in range(repeats):
        began = time.perf_counter()
        made = work()
        best = min(best, time.perf_counter() - began)
    return best, made


def table(rows: list[tuple[str, float, str]], base: float) -> None:
    """Each way with its speed and how many times the peer's best it is."""
    for name, speed, unit in rows:
        print(f"{name:34} {speed:9.1f} {unit:12} {speed / base:5.2f} ×", flush=True)


# -- translation ------------------------------------------------------------------------------------------------


def translation(arguments: argparse.Namespace) -> dict[str, Any]:
    from regard.interop.ctranslate2.engine import engine_of
    from regard.interop.exporting import to_huggingface
    from regard.runs.load import load
    from regard.tasks.metrics.bleu import bleu

    run = load(arguments.translation)
    options = run.recipe.decoding.model_copy(update={"size": 5})
    sources, references = (
        (arguments.data / f"test2016.{language}").read_text(encoding="utf-8").splitlines()[: arguments.sentences]
        for language in ("en", "de")
    )
    engines = {"torch": run}
    engines |= {f"ctranslate2 {kind}": run.with_engine(engine_of(run, kind)) for kind in ("float32", "int8")}
    found: dict[str, dict[str, float]] = {}
    for name, one in engines.items():
        one.predict(sources[:32], options)
        repeats = 1 if name == "torch" else arguments.repeats
        seconds, texts = timed(partial(one.predict, sources, options), repeats)
        score = bleu(texts, references, tokenize=run.recipe.task.bleu_tokenize).score
        found[name] = {"sentences_per_second": len(sources) / seconds, "bleu": score}
    with tempfile.TemporaryDirectory() as folder:
        exported = to_huggingface(run, Path(folder) / "model")
        peer = opened(exported.loader, Path(folder) / "model")
        ids = run.vocabularies.source.encode_batch(sources)
        closed = [[*own, run.vocabularies.source.specials.eos] for own in ids]
        for size in arguments.batch_sizes:
            seconds, answers = timed(partial(translate, peer, closed, size, options, run), arguments.repeats)
            texts = run.vocabularies.target.decode_batch(answers)
            score = bleu(texts, references, tokenize=run.recipe.task.bleu_tokenize).score
            found[f"Hugging Face, batches of {size}"] = {"sentences_per_second": len(sources) / seconds, "bleu": score}
    theirs = max(one["sentences_per_second"] for name, one in found.items() if name.startswith("Hugging"))
    rows = [(f"{name} (BLEU {one['bleu']:.2f})", one["sentences_per_second"]) for name, one in found.items()]
    table([(name, speed, "sentences/s") for name, speed in rows], theirs)
    lost = found["torch"]["bleu"] - found["ctranslate2 int8"]["bleu"]
    ratio = found["ctranslate2 int8"]["sentences_per_second"] / theirs
    print(f"BLEU lost in int8: {lost:.2f}; {ratio:.2f} times Hugging Face")
    return {"bleu_lost": lost, "ratio": ratio, "sentences": len(sources), "found": found}


def translate(model: Any, sources: list[list[int]], size: int, options: Any, run: Any) -> list[list[int]]:
    """All of them in batches of like length, as our limit for the longest of each allows."""
    specials = run.vocabularies.target.specials
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    answers: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        rows = [torch.tensor(sources[place]) for place in chosen]
        source_BS = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=specials.pad)
        mask_BS = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        limit = options.limit(len(sources[chosen[0]]) - 1)
        made_BT = model.generate(
            input_ids=source_BS, attention_mask=mask_BS, num_beams=options.size, do_sample=False, early_stopping=False,
            length_penalty=1.0, max_length=None, max_new_tokens=limit,
        )  # fmt: skip
        for place, own in zip(chosen, made_BT[:, 1:].tolist(), strict=True):
            answers[place] = own[: own.index(specials.eos)] if specials.eos in own else own
    return answers


# -- generation -------------------------------------------------------------------------------------------------


def generation(arguments: argparse.Namespace) -> dict[str, Any]:
    from regard.decoding.options import Greedy
    from regard.interop.ctranslate2.engine import engine_of
    from regard.interop.exporting import to_huggingface
    from regard.tasks.running.continuation import always

    by_batch: dict[int, list[dict[str, float]]] = {batch: [] for batch in BATCHES}
    with tempfile.TemporaryDirectory() as folder:
        run = untrained(Path(folder) / "run")
        exported = to_huggingface(run, Path(folder) / "model")
        begun = [prompts(run, batch) for batch in BATCHES]
        (Path(folder) / "prompts.json").write_text(json.dumps(begun), encoding="utf-8")
        peer = [sys.executable, PEER, f"{folder}/model", exported.loader, f"{folder}/prompts.json"]
        engines: dict[str, Any] = {"torch float32": run.continuation.engine(always(arguments.new))}
        engines |= {f"ctranslate2 {kind}": engine_of(run, kind) for kind in ("float32", "int8")}
        for number in range(arguments.rounds):
            told = subprocess.run(
                [*peer, str(arguments.new), str(arguments.repeats)], check=True, text=True, stdout=subprocess.PIPE
            ).stdout
            theirs = json.loads(told.splitlines()[-1])
            for (batch, rounds), rows, one in zip(by_batch.items(), begun, theirs, strict=True):
                speeds = {f"Hugging Face {one['kind']}": one["tokens_per_second"]}
                for name, engine in engines.items():
                    ask = partial(engine.predict, rows, Greedy(max_length=arguments.new), prompts=rows)
                    ask()
                    seconds, answers = timed(ask, arguments.repeats)
                    speeds[name] = sum(len(own[0].tokens) for own in answers) / seconds
                ours = max(speed for name, speed in speeds.items() if not name.startswith("Hugging"))
                rounds.append({**speeds, "ratio": ours / one["tokens_per_second"]})
                print(f"round {number + 1}, batch {batch}: {rounds[-1]['ratio']:.2f} times Hugging Face, best of each")
                table([(name, speed, "tokens/s") for name, speed in speeds.items()], one["tokens_per_second"])
    ratios = {batch: statistics.median(one["ratio"] for one in rounds) for batch, rounds in by_batch.items()}
    print("; ".join(f"batch {batch}: {ratio:.2f} times" for batch, ratio in ratios.items()))
    return {"prompt": PROMPT, "new": arguments.new, "ratios": ratios, "rounds": by_batch}


def prompts(run: Any, batch: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(batch)
    return torch.randint(4, run.vocabularies.target.size, (batch, PROMPT), generator=generator).tolist()


def untrained(folder: Path) -> Any:
    """GPT-2 small's shape, 50,257 symbols and random weights, as a run folder; the closing symbol is never likely."""
    import tokenizers

    from regard.core.config import parse
    from regard.core.files import write_text
    from regard.core.symbols import SPECIAL_SYMBOLS
    from regard.data.modalities.text.tokenizers import Tokenizer
    from regard.data.modalities.text.vocabularies import Vocabularies
    from regard.models.gpt import PRESETS
    from regard.runs.folder import RunFolder
    from regard.runs.load import load
    from regard.runs.recipe import Recipe
    from regard.runs.train import build_model
    from regard.training import checkpoints

    names = [*SPECIAL_SYMBOLS, *(f"w{number}" for number in range(50_257 - len(SPECIAL_SYMBOLS)))]
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel({name: id for id, name in enumerate(names)}, "<unk>"))
    raw.add_special_tokens(list(SPECIAL_SYMBOLS[:3]))
    tokenizer = Tokenizer(raw)
    recipe = parse(Recipe, {
        "model": {"kind": "gpt", **PRESETS["gpt2"]}, "data": {"kind": "text", "train": "none.txt"},
        "tokenizer": {"kind": "word", "vocabulary": 50_257}, "task": {"kind": "language-model", "sample": 0},
    })  # fmt: skip
    vocabularies = Vocabularies(tokenizer, tokenizer)
    torch.manual_seed(1)
    model = build_model(recipe, vocabularies.ports())
    folder.mkdir(parents=True)
    vocabularies.save(folder)
    write_text(folder / "recipe.toml", recipe.to_toml())
    checkpoints.save_tensors(RunFolder(folder).weights, checkpoints.weights_of(model))
    return load(folder, device="cpu")


def opened(loader: str, folder: Path) -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return getattr(transformers, loader).from_pretrained(folder, dtype=torch.float32).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted = "a run of multi30k with --set model.position.kind=sinusoidal, which Pegasus has"
    parser.add_argument("--translation", type=Path, metavar="RUN", help=wanted)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--generation", action="store_true")
    parser.add_argument("--sentences", type=int, help="only the first so many")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--new", type=int, default=128, help="tokens that are generated after each prompt")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="of generation: the peer and ours in turns")
    arguments = parser.parse_args()
    if not arguments.translation and not arguments.generation:
        parser.error("say what to measure: --translation RUN, --generation, or both")
    with torch.inference_mode():
        if arguments.translation:
            write_result("engines_translation", {"machine": machine_facts(), **translation(arguments)})
        if arguments.generation:
            write_result("engines_generation", {"machine": machine_facts(), **generation(arguments)})


if __name__ == "__main__":
    main()

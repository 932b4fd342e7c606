"""Greedy generation by `transformers`, alone in its process: what another library's threads do must not slow it.

    python huggingface_generation.py MODEL LOADER PROMPTS.json NEW REPEATS

Prints, by number type, the tokens per second of each batch in the file; types that would take too long are left out.
"""

import json
import sys
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
import transformers

PATIENCE = 60.0
"""Seconds for a number type that the processor may not have at all."""


def tokens_per_second(model: Any, prompts_BT: torch.Tensor, new: int, repeats: int) -> float:
    """The best of the repeats; 0 where a few tokens after the prompt show that one would wait too long."""
    few = 4
    per_token = (seconds(model, prompts_BT, 1 + few) - seconds(model, prompts_BT, 1)) / few
    if per_token * new > PATIENCE:
        return 0.0
    return len(prompts_BT) * new / min(seconds(model, prompts_BT, new) for _ in range(repeats))


def seconds(model: Any, prompts_BT: torch.Tensor, new: int) -> float:
    """For exactly so many new tokens."""
    mask_BT = torch.ones_like(prompts_BT)
    began = time.perf_counter()
    made_BT = model.generate(
        prompts_BT, attention_mask=mask_BT, max_new_tokens=new, min_new_tokens=new, do_sample=False
    )
    taken = time.perf_counter() - began
    assert made_BT.shape[1] == prompts_BT.shape[1] + new
    return taken


def main() -> None:
    folder, loader, prompts, new, repeats = sys.argv[1:]
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    batches = json.loads(Path(prompts).read_text(encoding="utf-8"))
    found = {}
    for kind in ("float32", "bfloat16"):
        model = getattr(transformers, loader).from_pretrained(folder, dtype=getattr(torch, kind)).eval()
        speeds = (tokens_per_second(model, torch.tensor(rows), int(new), int(repeats)) for rows in batches)
        measured = list(takewhile(bool, speeds))  # what is too slow for one batch is not asked for the next
        if len(measured) == len(batches):
            found[kind] = measured
    print(json.dumps(found))


if __name__ == "__main__":
    with torch.inference_mode():
        main()

"""Greedy generation by `transformers`, alone in its process: what another library's threads do must not slow it.

    python huggingface_generation.py MODEL LOADER PROMPTS.json NEW REPEATS

Prints, for each batch in the file, the tokens per second. The number type is bfloat16 where one product of matrices is
faster in it; a processor that has to emulate it takes minutes for what float32 does in seconds.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
import transformers


def product_seconds(dtype: torch.dtype) -> float:
    """For a layer's product, the best of three."""
    x, weight = torch.ones(16, 768, dtype=dtype), torch.ones(768, 3072, dtype=dtype)
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        x @ weight
        taken.append(time.perf_counter() - began)
    return min(taken)


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
    batches = [torch.tensor(rows) for rows in json.loads(Path(prompts).read_text(encoding="utf-8"))]
    kind = min(("float32", "bfloat16"), key=lambda name: product_seconds(getattr(torch, name)))
    model = getattr(transformers, loader).from_pretrained(folder, dtype=getattr(torch, kind)).eval()
    found = []
    for prompts_BT in batches:
        seconds(model, prompts_BT, 4)
        taken = min(seconds(model, prompts_BT, int(new)) for _ in range(int(repeats)))
        found.append({"kind": kind, "tokens_per_second": len(prompts_BT) * int(new) / taken})
    print(json.dumps(found))


if __name__ == "__main__":
    with torch.inference_mode():
        main()

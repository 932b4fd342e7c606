"""A plain training loop over Hugging Face's ViT: random weights, random pictures that lie in memory as bytes.

Says ``ready``, and then, for each line that it is given, trains so many steps and says how many pictures per second.
"""

import argparse
import time

import torch
from transformers import ViTConfig, ViTForImageClassification
from turn import take_turns

PICTURES = 2_000

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("layers", "width", "heads", "side", "patch", "batch", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--way", default="float32", help="float32 or bfloat16, and whether compiled")
    given = parser.parse_args()
    torch.manual_seed(1)
    config = ViTConfig(
        hidden_size=given.width, num_hidden_layers=given.layers, num_attention_heads=given.heads,
        intermediate_size=4 * given.width, image_size=given.side, patch_size=given.patch, num_labels=10,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-6,
    )  # fmt: skip
    model = ViTForImageClassification(config).train()
    forward = torch.compile(model) if given.way.endswith("compiled") else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    pictures = torch.randint(0, 256, (PICTURES, 3, given.side, given.side), dtype=torch.uint8)
    labels = torch.randint(0, 10, (PICTURES,))

    def step() -> None:
        chosen = torch.randint(0, PICTURES, (given.batch,))
        pixels = pictures[chosen].float().div_(127.5).sub_(1)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=given.way.startswith("bfloat16")):
            loss = forward(pixel_values=pixels, labels=labels[chosen]).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    take_turns(step, 3, given.steps, lambda done: (time.perf_counter(), done * given.batch))

"""A plain training loop over Hugging Face's GPT-2: random weights, random tokens.

Says ``ready``, and then, for each line that it is given, trains so many steps and says how many tokens per second.
"""

import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from turn import take_turns

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("layers", "width", "heads", "context", "batch", "vocabulary", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--dropout", type=float, required=True)
    parser.add_argument("--way", default="float32", help="float32 or bfloat16, and whether compiled")
    given = parser.parse_args()
    torch.manual_seed(1)
    # Dropout where ours has it too: on embeddings and sub-layers, not on attention weights.
    config = GPT2Config(
        vocab_size=given.vocabulary, n_positions=given.context, n_embd=given.width, n_layer=given.layers,
        n_head=given.heads, resid_pdrop=given.dropout, embd_pdrop=given.dropout, attn_pdrop=0.0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).train()
    forward = torch.compile(model) if given.way.endswith("compiled") else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        tokens = torch.randint(0, given.vocabulary, (given.batch, given.context))
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=given.way.startswith("bfloat16")):
            loss = forward(tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    take_turns(step, 5, given.steps, lambda done: (time.perf_counter(), done * given.batch * given.context))

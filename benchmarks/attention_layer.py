"""One layer of Regard's attention, forward and backward, in turns; run by attention_peers.py.

python benchmarks/attention_layer.py KIND LENGTH
"""

import sys

import torch

from peers.attention_layer import CHUNK, FEATURES, HEADS, ROUNDS, ROWS, WIDTH, WINDOW, take_turns
from regard.attention import HEADS as KINDS_OF_HEADS
from regard.attention import MECHANISMS, AttentionContext
from regard.attention.heads import HeadShape, no_norm
from regard.attention.masks import CAUSAL, EVERYTHING
from regard.core.config import parse
from regard.training.machine import tune_allocator

SETTINGS = {
    "softmax": {},
    "window": {"size": WINDOW},
    "performer": {"features": FEATURES},
    "linformer": {"rows": ROWS},
    "reformer": {"chunk": CHUNK, "rounds": ROUNDS},
}


def main() -> None:
    kind, length = sys.argv[1], int(sys.argv[2])
    tune_allocator()
    torch.manual_seed(1)
    causal = kind != "linformer"
    settings = {**SETTINGS[kind], "kind": kind, **({"buckets": length // CHUNK} if kind == "reformer" else {})}
    head_width = WIDTH // HEADS
    context = AttentionContext(head_width, head_width, HEADS, length, causal=causal)
    mechanism = parse(MECHANISMS.resolve(kind), settings).build(context)
    heads = parse(KINDS_OF_HEADS.resolve("shared" if kind == "reformer" else "multi-head"), {})
    layer = heads.self_attention(HeadShape(WIDTH, HEADS), mechanism, bias=False, new_norm=no_norm)
    take_turns(layer, lambda x: layer(x, CAUSAL if causal else EVERYTHING), length)


if __name__ == "__main__":
    main()

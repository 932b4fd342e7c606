"""One layer of attention of a PyPI package, forward and backward, in turns; run by attention_peers.py.

python benchmarks/peers/attention_layer.py PEER LENGTH
"""

import sys
import time
from pathlib import Path

import torch

WIDTH, HEADS, HEAD_WIDTH = 256, 4, 64
WINDOW, FEATURES, ROWS, CHUNK, ROUNDS = 256, 256, 256, 64, 4


def torch_layer(length):
    layer = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, bias=False)
    future = torch.nn.Transformer.generate_square_subsequent_mask(length)
    return layer, lambda x: layer(x, x, x, attn_mask=future, is_causal=True, need_weights=False)[0]


def x_transformers_layer(length):
    from x_transformers.x_transformers import Attention

    layer = Attention(dim=WIDTH, heads=HEADS, dim_head=HEAD_WIDTH, causal=True, flash=True)

    def call(x):
        found = layer(x)
        return found[0] if isinstance(found, tuple) else found

    return layer, call


def local_attention_layer(length):
    from local_attention.transformer import LocalMHA

    layer = LocalMHA(dim=WIDTH, heads=HEADS, dim_head=HEAD_WIDTH, window_size=WINDOW, causal=True, prenorm=False,
                     exact_windowsize=True, use_rotary_pos_emb=False)
    return layer, layer


def performer_layer(length):
    from performer_pytorch import SelfAttention

    layer = SelfAttention(dim=WIDTH, heads=HEADS, dim_head=HEAD_WIDTH, causal=True, nb_features=FEATURES)
    return layer, layer


def linformer_layer(length):
    from linformer import LinformerSelfAttention

    layer = LinformerSelfAttention(dim=WIDTH, seq_len=length, heads=HEADS, dim_head=HEAD_WIDTH, k=ROWS)
    return layer, layer


def reformer_layer(length):
    from reformer_pytorch import LSHSelfAttention

    layer = LSHSelfAttention(dim=WIDTH, heads=HEADS, bucket_size=CHUNK, n_hashes=ROUNDS, causal=True)
    return layer, layer


LAYERS = {
    "torch": torch_layer,
    "x-transformers": x_transformers_layer,
    "local-attention": local_attention_layer,
    "performer-pytorch": performer_layer,
    "linformer": linformer_layer,
    "reformer-pytorch": reformer_layer,
}


def take_turns(layer, call, length):
    """Says ``ready`` after one pass, then for each line of standard input how many passes a second there were."""
    x = torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(1), requires_grad=True)
    pull = torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(2))

    def step():
        layer.zero_grad(set_to_none=True)
        x.grad = None
        call(x).backward(pull)

    step()
    print("ready", flush=True)
    for _ in sys.stdin:
        began, done = time.perf_counter(), 0
        while done < 2 or time.perf_counter() - began < 1.0:
            step()
            done += 1
        print(done / (time.perf_counter() - began), flush=True)


def main():
    name, length = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(1)
    try:
        layer, call = LAYERS[name](length)
        take_turns(layer.train(), call, length)
    except Exception as error:  # whatever an old package does is told, not hidden
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
        raise SystemExit(1) from error


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    main()

"""Attention of PyPI packages and ours, in one run: a layer of 4 heads of 64, forward and backward, in turns.

    python benchmarks/attention_peers.py [PEER …] [--length 8192] [--rounds 5]

Each package gets an environment of its own (peers/environments.py) with the same torch. One that does not install, or
fails, is left out with its reason.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from common import HERE, machine_facts, write_result
from peers.environments import PACKAGES, make
from turns import Trainer, ratio

OURS = {
    "torch": "softmax",
    "x-transformers": "softmax",
    "local-attention": "window",
    "performer-pytorch": "performer",
    "linformer": "linformer",
    "reformer-pytorch": "reformer",
}
SAME_KERNEL = ("torch", "x-transformers")  # both call torch's scaled_dot_product_attention


def compare(peer: str, length: int, rounds: int) -> dict:
    try:
        python: str | Path = make(peer) if peer in PACKAGES else sys.executable
    except subprocess.CalledProcessError as error:
        return {"left_out": f"it does not install: {error}"}
    script = HERE / "peers" / "attention_layer.py"
    theirs = Trainer(script, peer, str(length), python=python)
    ours = Trainer(HERE / "attention_layer.py", OURS[peer], str(length))
    try:
        if not ours.is_ready():
            raise SystemExit(f"ours ({OURS[peer]}) is not ready; run python benchmarks/attention_layer.py {OURS[peer]}")
        told = theirs.first_line()
        if told != "ready":
            return {"left_out": told or "it ended without a word"}
        pairs = [(ours.turn(), theirs.turn()) for _ in range(rounds)]
    finally:
        ours.end()
        theirs.end()
    own, other = ([pair[place] for pair in pairs] for place in (0, 1))
    return {
        "kind": OURS[peer],
        "ours_ms": round(1e3 / statistics.median(own), 1),
        "theirs_ms": round(1e3 / statistics.median(other), 1),
        "speed_of_theirs": ratio(own, other),
        "same_kernel": peer in SAME_KERNEL,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help="packages; default: all")
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    unknown = [peer for peer in given.peers if peer not in OURS]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(OURS)}")
    found = {}
    for peer in given.peers or OURS:
        found[peer] = one = compare(peer, given.length, given.rounds)
        if "left_out" in one:
            print(f"{peer:<20} left out: {one['left_out']}", flush=True)
            continue
        times = f"ours {one['ours_ms']:>9,.1f} ms  theirs {one['theirs_ms']:>9,.1f} ms"
        note = "  (the same kernel)" if one["same_kernel"] else ""
        print(f"{peer:<20} {one['kind']:<10} {times}  {one['speed_of_theirs']:.2f} of its speed{note}", flush=True)
    write_result("attention_peers", {"machine": machine_facts(), "length": given.length, "peers": found})


if __name__ == "__main__":
    main()

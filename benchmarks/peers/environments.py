"""Makes a virtual environment for each peer, or for those that are named.

python benchmarks/peers/environments.py [joeynmt] [huggingface] [linformer] …
"""

import subprocess
import sys
import venv
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent

# torch comes first and stays pinned, so that peers and Regard run on the same kernels.
TORCH = "torch==2.13.0"
PACKAGES = {
    # Joey NMT imports importlib_metadata without declaring it.
    "joeynmt": ["joeynmt==2.3.0", "importlib_metadata"],
    "huggingface": ["transformers==5.22.2"],
    "x-transformers": ["x-transformers"],
    "performer-pytorch": ["performer-pytorch"],
    "linformer": ["linformer"],
    "reformer-pytorch": ["reformer-pytorch"],
    "local-attention": ["local-attention"],
}


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which may not exist yet."""
    return BENCHMARKS / f".venv-{peer}" / "bin" / "python"


def make(peer: str) -> Path:
    """Creates the environment unless it is complete, and returns its interpreter."""
    python = python_of(peer)
    complete = python.parent.parent / "complete"
    wanted = "\n".join([TORCH, *PACKAGES[peer]])
    if complete.exists() and complete.read_text() == wanted:
        return python
    venv.create(python.parent.parent, with_pip=True, clear=True)
    constraint = python.parent.parent / "constraint.txt"
    constraint.write_text(TORCH + "\n")
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraint)]
    subprocess.run([*install, TORCH], check=True)
    subprocess.run([*install, *PACKAGES[peer]], check=True)
    complete.write_text(wanted)
    return python


if __name__ == "__main__":
    unknown = [peer for peer in sys.argv[1:] if peer not in PACKAGES]
    if unknown:
        sys.exit(f"no such peer: {', '.join(unknown)}; there are {', '.join(PACKAGES)}")
    for peer in sys.argv[1:] or PACKAGES:
        print(make(peer))

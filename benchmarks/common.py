"""What the benchmarks share: where the data is, what machine this is, where results are kept."""

import argparse
import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "shared" / "data" / "multi30k" / "tok"
RESULTS = HERE / "results"


def machine_facts() -> dict[str, Any]:
    import torch

    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "date": datetime.date.today().isoformat(),
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def rounds_parser(description: str, rounds: int = 3) -> argparse.ArgumentParser:
    """Where the data is, and how often both sides take their turn."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def write_result(name: str, result: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

"""Bad settings at random end in a sentence: no traceback, no hang, nothing accepted in silence."""

from __future__ import annotations

import os

import pytest
import torch

from tests.settings.files import write_files
from tests.settings.fuzzing import cases, verdict

COUNT = int(os.environ.get("REGARD_BAD_SETTINGS", "60"))
"""How many are tried; more by this environment variable, as in REGARD_BAD_SETTINGS=1000."""


def test_bad_settings_end_in_a_sentence(tmp_path_factory: pytest.TempPathFactory) -> None:
    torch.set_num_threads(1)
    files = write_files(tmp_path_factory.mktemp("files") / "data")
    said = {
        f"{'file' if number % 2 else '--set'}: {case.name}": verdict(case, as_file=bool(number % 2))
        for number, case in enumerate(cases(files, COUNT, seed=COUNT))
    }
    wrong = {case: what for case, what in said.items() if what not in ("refused", "trained")}
    assert not wrong, "\n".join(f"{case}: {what}" for case, what in wrong.items())
    assert list(said.values()).count("refused") > COUNT * 0.8

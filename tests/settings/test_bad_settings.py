"""Bad settings at random end in a sentence: no traceback, no hang, nothing accepted in silence."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.fuzzing.bad_settings import bad_settings
from tests.fuzzing.trying import Failure, attempt

COUNT = 60
"""How many are tried; ``python -m tests.fuzzing --kind settings`` tries more."""


def test_bad_settings_end_in_a_sentence(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    folders = [tmp_path / str(number) for number in range(COUNT)]
    for folder in folders:
        folder.mkdir()
    ended = [attempt(bad_settings(COUNT, number, folder)) for number, folder in enumerate(folders)]
    wrong = [f"{one.name}: {one.kind}\n{one.detail}" for one in ended if isinstance(one, Failure)]
    assert not wrong, "\n".join(wrong)
    assert [one.kind for one in ended].count("refused") > COUNT * 0.7

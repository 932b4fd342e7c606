"""Data that presses Ctrl-C while it is read; a recipe names it as "tests.settings.stopping:StopsWhileReading"."""

from __future__ import annotations

import os
import signal
import time

from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.sources.toys import Toy


class StopsWhileReading(Toy):
    kind: str = "tests.settings.stopping:StopsWhileReading"

    def load(self, seed: int, ledger: Ledger) -> Corpus[Pair]:
        press_ctrl_c()
        return super().load(seed, ledger)


def press_ctrl_c() -> None:
    """As a user does; the signal is met within the pause."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)

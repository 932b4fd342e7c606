"""What tests of the laws share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def without_gradients(request: pytest.FixtureRequest) -> Iterator[None]:
    """Only a test that trains has gradients."""
    with torch.set_grad_enabled("overfitted" in request.node.name):
        yield

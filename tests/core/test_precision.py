"""Products by another library are the same products."""

import pytest
import torch

from regard.core import precision
from regard.core.precision import onednn_is_faster, repeated_products


def test_repeated_products_are_as_exact_as_others() -> None:
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randn(2, 256, 256, generator=generator)
    exact = a.double() @ b.double()
    with repeated_products():
        inside = a @ b
    for product in (inside, a @ b):
        assert float((product - exact).abs().max()) < 1e-3  # bfloat16 would miss by a tenth


def test_the_switch_is_turned_back_whatever_happens() -> None:
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    try:
        with repeated_products():
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert matmul.fp32_precision == before


def test_a_processor_that_would_round_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "ROUNDED", 0.0)  # as if every product were rounded
    onednn_is_faster.cache_clear()
    try:
        assert not onednn_is_faster()
    finally:
        onednn_is_faster.cache_clear()


def test_the_answer_does_not_depend_on_who_asks_first() -> None:
    """Asked inside autocast, whose products are narrow, it would be no for the rest of the process."""
    onednn_is_faster.cache_clear()
    outside = onednn_is_faster()
    onednn_is_faster.cache_clear()
    with torch.autocast("cpu", torch.bfloat16):
        assert onednn_is_faster() == outside

"""What tests of the ways in and out share."""

from __future__ import annotations

import pytest

from regard.interop.onnx import export as onnx_export


@pytest.fixture
def no_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if onnx were not installed: exporting takes seconds, and what is compared then is tested beside the export."""
    monkeypatch.setattr(onnx_export, "PACKAGES", ("onnx", "nowhere"))

"""Optional packages: imported when needed; an error says how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from regard.core.errors import OptionError


def optional(module: str, missing: str) -> Any:
    """The module; where its package is not installed, what is missing and the remedy."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(missing) from error

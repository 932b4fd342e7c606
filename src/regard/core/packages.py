"""Packages that not every installation has: imported when they are needed, or refused with how to get them."""

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

"""Roles: what a family of models can do beside reading, and what a task needs of its model."""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    """Each in words, as messages say it."""

    READS = "gives its inputs states, on which the head of a task stands"
    ANSWERS = "reads a source and writes an answer"
    CONTINUES = "continues a text"
    FILLS = "says what is hidden in a text"

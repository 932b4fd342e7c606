"""Upgrades recipes from format 2 to 3: a feed-forward width that follows the model's is "auto", not 0."""

from __future__ import annotations

from typing import Any

from regard.core.auto import AUTO

Tree = dict[str, Any]


def to_format_3(tree: Tree) -> Tree:
    """A recipe of format 2 in the keys of format 3."""
    model = tree.get("model", {})
    network = model.get("feed_forward", {})
    if network.get("width") != 0:
        return tree
    return {**tree, "model": {**model, "feed_forward": {**network, "width": AUTO}}}

"""From format 2 to format 3 of recipes: a feed-forward network whose width follows the model's says "auto", not 0."""

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

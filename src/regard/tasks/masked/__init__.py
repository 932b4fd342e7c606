"""Masked texts: how running text is cut, which tokens are masked, and how a model fills them in."""

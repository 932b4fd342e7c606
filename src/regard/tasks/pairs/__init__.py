"""Pairs of texts: their numbers epoch by epoch, and the alignment that attention finds between them."""

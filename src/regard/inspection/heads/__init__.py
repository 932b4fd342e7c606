"""Heads: which there are, what each reads, what kind it is and what it is worth."""

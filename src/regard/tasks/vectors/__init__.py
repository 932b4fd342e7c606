"""Vectors of texts: states of any body, pooled, and the search for what is near."""

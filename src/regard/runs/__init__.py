"""A recipe becomes a run, a folder becomes a model again."""

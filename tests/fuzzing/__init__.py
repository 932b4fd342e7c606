"""Bad input made from a seed: it is refused in a sentence; nothing hangs, and nothing raises anything else."""

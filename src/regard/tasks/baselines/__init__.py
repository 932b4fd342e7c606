"""Simple methods that are fitted in seconds: what a trained model should be better than."""

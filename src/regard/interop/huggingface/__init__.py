"""Hugging Face folders in and out: families by their settings and tensors, tokenizers, weights."""

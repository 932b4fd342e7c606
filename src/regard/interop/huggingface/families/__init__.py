"""Families of models as Hugging Face writes them: settings and tensors, one family a file."""

"""Text: tokenizers, the symbols around a text, and the modality that they make."""

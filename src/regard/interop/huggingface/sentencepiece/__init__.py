"""SentencePiece models: their files, the folders that hold them, and the tokenizers that they become."""

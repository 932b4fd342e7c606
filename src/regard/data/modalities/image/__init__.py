"""Images: found in folders, idx files or tables, checked once, decoded lazily, augmented in training."""

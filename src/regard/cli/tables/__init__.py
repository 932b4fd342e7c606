"""Tables of scores: by split, by class, beside simple methods."""

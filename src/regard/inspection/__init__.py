"""What happened inside: weights, alignment, the page."""

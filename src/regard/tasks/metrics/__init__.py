"""What counts as good, in figures: pure functions from answers and references to scores."""

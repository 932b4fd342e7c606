"""Forecasts: where their windows begin, and simple methods beside them."""

"""Figures: matplotlib's for paper, SVG for pages; each knows its numbers and says them in words."""

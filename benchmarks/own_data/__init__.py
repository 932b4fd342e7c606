"""Six data sets as a person would have them in files of their own, and what an automatic recipe makes of each."""

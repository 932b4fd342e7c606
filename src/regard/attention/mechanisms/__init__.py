"""Mechanisms past n²: one a file, chosen by ``[model.attention] kind``; what each sees, costs and remembers."""

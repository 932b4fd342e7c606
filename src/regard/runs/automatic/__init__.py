"""Recipes that nobody wrote: from what files hold, and the time there is, by the rules of ``core/rules.py``."""

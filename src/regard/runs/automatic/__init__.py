"""Recipes for files of your own: chosen by what the files hold and the time there is (``core/rules.py``)."""

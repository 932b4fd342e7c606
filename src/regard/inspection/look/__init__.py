"""The page of ``regard look``: what happens inside a model on a text, in one file that needs no network."""

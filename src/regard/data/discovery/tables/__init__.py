"""Tables of a user's own: how they are written, what their columns hold, and what can be learned from them."""

"""Graphs: how they are read, what is known of their nodes and edges, and how that becomes numbers."""

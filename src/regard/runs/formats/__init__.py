"""Formats of recipes and run folders: older ones become the newest as they are read."""

"""Recurrence: cells, stacks of them, what a decoder reads its answers off with, and an encoder–decoder of them."""

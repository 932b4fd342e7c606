"""Modalities: how raw inputs of one kind become numbers and back, and what that fixes about a model."""

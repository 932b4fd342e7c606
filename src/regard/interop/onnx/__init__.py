"""ONNX graphs of a run, and how they are called."""

"""Tasks that write down what is heard: step by step, or by a decoder."""

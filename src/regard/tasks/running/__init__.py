"""Running text: the tokens of every split, and continuations of prompts."""

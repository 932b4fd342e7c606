"""Running text: the tokens of every split, and how a text goes on."""

"""Hidden words: where texts are cut, what is hidden, and what a model would put there."""

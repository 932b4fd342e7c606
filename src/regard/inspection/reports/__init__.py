"""Reports about runs, each a page: the demo, a comparison, what a language model has learned."""

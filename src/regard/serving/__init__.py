"""How others call it: pipelines that are called as Hugging Face's are."""

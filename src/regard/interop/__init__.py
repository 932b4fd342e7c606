"""Other people's formats: Hugging Face folders of GPT-2 and Llama, in and out."""

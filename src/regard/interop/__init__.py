"""Other people's formats: Hugging Face folders of GPT-2, Llama, Marian and Pegasus, in and out."""

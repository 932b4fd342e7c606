"""Other people's formats: Hugging Face folders of GPT-2, Llama, Marian, Pegasus and BERT's family, in and out."""

"""Other people's formats: Hugging Face folders in and out, CTranslate2 as a format and as an engine."""

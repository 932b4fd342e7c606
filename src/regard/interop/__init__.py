"""Other people's formats: Hugging Face folders in and out, ONNX graphs, CTranslate2 as a format and as an engine."""

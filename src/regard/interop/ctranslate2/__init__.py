"""CTranslate2 as a format and as an engine."""

"""Words and spans: windows over long texts, the pieces of words, and where answers start and end."""

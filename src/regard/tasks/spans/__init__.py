"""Words and spans: windows over long texts, the words in them, and where answers start and end."""

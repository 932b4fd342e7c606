"""How ``regard predict`` reads inputs, answers them chunk by chunk and writes the answers."""

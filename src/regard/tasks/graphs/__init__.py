"""What tasks about parts of a graph share: its nodes and pairs of them."""

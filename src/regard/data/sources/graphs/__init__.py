"""Where graphs come from: many with a label each, one whose nodes have labels, one whose edges are asked about."""

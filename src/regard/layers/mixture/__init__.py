"""A mixture of experts: routing, balance, and products group by group."""

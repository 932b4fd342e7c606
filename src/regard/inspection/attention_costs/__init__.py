"""What mechanisms of attention cost as sequences grow, and how far their answers are from full attention's."""

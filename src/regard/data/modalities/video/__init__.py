"""Video: clips as folders of numbered frames, cut into blocks of space and time."""

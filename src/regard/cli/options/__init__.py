"""Options that several verbs share: engine, decoding, processes; and those that a run has no use for."""

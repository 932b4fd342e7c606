"""Options that several verbs share: engine, decoding, processes; and which options apply to which runs."""

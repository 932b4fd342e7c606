"""The shape legend: a suffix on a name says what its axes are, the same letters in the whole codebase.

====== ==================================== ====== ====================================
B      batch                                F      feed-forward width
H      heads                                W      vocabulary (the words to choose from)
G      key/value heads (groups)             L      layers
T      target or query positions            N      nodes or patches
S      source or key positions              R      latent rank, or rows of a search
D      model width                          E      experts
K      key width                            V      value width
U      experts of one position              M      rows for all of them, expert by expert
====== ==================================== ====== ====================================

So ``q_BHTK`` holds queries by batch, head, query position and key width, ``weights_BHTS`` is an attention
matrix and ``logits_BTW`` scores every word at every position.
"""

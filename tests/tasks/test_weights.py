"""Weights of training files reach the order of training, whatever the task makes of an example."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from regard.core.config import parse
from regard.data.batching import epoch_order
from regard.data.corpus import Corpus
from regard.data.examples import Labelled, QuestionExample, Reference, Tagged
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.tasks import TASKS

TEXT = "a b c d e f g h i j k l m n o p"
PIECES = WordPieceTokenizer(vocabulary=60).train([TEXT])
SETTINGS = {"max_length": 12, "stride": 2, "max_question_length": 4}
CASES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "classification": ({"max_length": 12}, [Labelled("a b", "x"), Labelled("c d", "y")]),
    "tagging": ({"max_length": 12}, [Tagged(("a", "b"), ("X", "Y")), Tagged(("c",), ("X",))]),
    "question-answering": (SETTINGS, [
        QuestionExample("a", TEXT, (Reference("b", 2),)), QuestionExample("c", "d e", (Reference("d", 0),)),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_an_example_of_weight_two_is_seen_twice(kind: str) -> None:
    settings, examples = CASES[kind]
    corpus: Corpus[Any] = Corpus({"train": tuple(examples)}, Ledger(), weights=(2.0, 1.0))
    config: Any = parse(TASKS.resolve(kind), {"kind": kind, **settings})
    resolved = config.resolved(corpus)
    both = Modalities.of_text(Vocabularies(PIECES, PIECES))
    encoded = resolved.build(corpus, both, 1).examples("train", 0)
    weights = encoded.weights
    assert set(weights) == {1.0, 2.0}
    seen = Counter(int(place) for batch in epoch_order(encoded.lengths_NA, 1000, 1, 0, weights) for place in batch)
    assert [seen[place] for place in range(len(encoded))] == [int(weight) for weight in weights]
    assert seen[0] == 2
    unweighted = resolved.build(Corpus({"train": tuple(examples)}, Ledger()), both, 1)
    assert unweighted.examples("train", 0).weights == ()

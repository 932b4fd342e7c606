"""BPE-dropout follows its seed, never changes a text, and drops as the paper does."""

import itertools
import json
import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import OptionError
from regard.data.modalities.text.bpe_dropout import BpeDropout
from regard.data.modalities.text.tokenizers import BpeTokenizer, ByteTokenizer, WordTokenizer

TEXTS = [
    "zwei junge weiße männer sind im freien in der nähe vieler büsche .",
    "",
    "mehrere männer mit  schutzhelmen",
    "ein kleines mädchen <eos> klettert in ein spielhaus aus holz . ",
] * 5
TOKENIZER = BpeTokenizer(vocabulary=400).train(TEXTS)


def lists(arrays):
    return [array.tolist() for array in arrays]


def test_nothing_dropped_is_the_plain_encoding():
    made = BpeDropout(TOKENIZER, TEXTS, 0.0, seed=1).encode(0)
    assert lists(made) == TOKENIZER.encode_batch(TEXTS)
    assert all(array.dtype == np.int32 for array in made)


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(max_size=23), max_size=5), seed=st.integers(0, 2**40))
def test_any_texts_come_back_whatever_is_dropped(texts, seed):
    assert lists(BpeDropout(TOKENIZER, texts, 0.0, seed).encode(3)) == TOKENIZER.encode_batch(texts)
    for probability in (0.3, 1.0):
        made = BpeDropout(TOKENIZER, texts, probability, seed, variants=3).encode(2)
        assert TOKENIZER.decode_batch(made) == texts


def test_everything_dropped_leaves_single_bytes():
    (made,) = BpeDropout(TOKENIZER, ["büsche"], 1.0, seed=1).encode(0)
    assert len(made) == len(" büsche".encode())


def test_pieces_are_a_function_of_seed_and_epoch():
    one = BpeDropout(TOKENIZER, TEXTS, 0.2, seed=7)
    again = BpeDropout(TOKENIZER, TEXTS, 0.2, seed=7)
    later = lists(one.encode(5))
    assert later == lists(again.encode(5))
    assert lists(one.encode(0)) == lists(again.encode(0)) != later
    assert lists(BpeDropout(TOKENIZER, TEXTS, 0.2, seed=8).encode(5)) != later


def slow_pieces(signs, ranks, probability, generator):
    """The paper's procedure, one word and one merge at a time."""
    while True:
        pairs = enumerate(itertools.pairwise(signs))
        possible = [(ranks[pair], place) for place, pair in pairs if pair in ranks]
        left = [merge for merge in possible if generator.random() >= probability]
        if not left:
            return signs
        place = min(left)[1]
        signs = [*signs[:place], signs[place] + signs[place + 1], *signs[place + 2 :]]


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_it_draws_segmentations_as_often_as_the_procedure_of_the_paper(probability):
    word, draws = "schutzhelmen", 4000
    merges = json.loads(TOKENIZER.raw.to_str())["model"]["merges"]
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    generator = random.Random(1)
    slow = Counter(tuple(slow_pieces(list("Ġ" + word), ranks, probability, generator)) for _ in range(draws))
    made = BpeDropout(TOKENIZER, [word] * draws, probability, seed=1, variants=draws).encode(0)
    fast = Counter(tuple(TOKENIZER.raw.id_to_token(id) for id in ids) for ids in made)
    # Six standard deviations: both are drawn, and ours is drawn once more from its table.
    for pieces in set(slow) | set(fast):
        assert abs(slow[pieces] - fast[pieces]) < 6 * math.sqrt(3 * max(slow[pieces], fast[pieces], 5))
    assert len(fast) > 5


def test_other_tokenizers_and_impossible_probabilities_are_refused():
    with pytest.raises(OptionError, match="of byte pairs, found WordLevel; use tokenizer kind 'bpe'"):
        BpeDropout(WordTokenizer().train(TEXTS), TEXTS, 0.1, seed=1)
    with pytest.raises(OptionError, match=r"from 0 to 1 and at least one variant, found 1\.5 and"):
        BpeDropout(TOKENIZER, TEXTS, 1.5, seed=1)
    assert lists(BpeDropout(ByteTokenizer().train([]), ["ab"], 0.5, seed=1).encode(0)) == [[101, 102]]


def test_an_epoch_of_real_text_is_the_same_text(shared):
    texts = shared("data/multi30k/tok/train.de").read_text(encoding="utf-8").split("\n")[:10_000]
    tokenizer = BpeTokenizer(vocabulary=8000).train(texts)
    dropout = BpeDropout(tokenizer, texts, 0.1, seed=1)
    made = dropout.encode(1)
    assert tokenizer.decode_batch(made[:1000]) == texts[:1000]
    assert lists(BpeDropout(tokenizer, texts, 0.0, seed=1).encode(0)) == tokenizer.encode_batch(texts)

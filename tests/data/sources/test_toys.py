"""Toy problems are solved rightly, follow the seed, and share no sequence between splits."""

import pytest

from regard.core.config import parse
from regard.core.errors import DataError, RecipeError
from regard.data.ledger import Ledger
from regard.data.sources.toys import Toy

SOLVE = {"copy": list, "reverse": lambda words: words[::-1], "sort": lambda words: sorted(words, key=int)}


@pytest.mark.parametrize("problem", ["copy", "reverse", "sort"])
def test_the_answer_is_right_and_the_gold_links_equal_symbols(problem):
    corpus = Toy(problem=problem, symbols=31, min_length=2, max_length=7, train_size=101, validation_size=13,
                 test_size=17).load(5, Ledger())
    assert [len(corpus.splits[split]) for split in ("train", "validation", "test")] == [101, 13, 17]
    for pair in corpus.splits["train"]:
        assert pair.target.split(" ") == SOLVE[problem](pair.source.split(" "))
        assert 2 <= len(pair.source.split(" ")) <= 7
    for gold in corpus.gold["test"]:
        assert all(gold.source_words[i] == gold.target_words[j] for i, j in gold.possible)
        assert gold.sure <= gold.possible
        assert {j for _, j in gold.possible} == set(range(len(gold.target_words)))


def test_only_a_sorted_repetition_is_unsure():
    def gold(problem):
        corpus = Toy(problem=problem, symbols=1, min_length=2, max_length=3, train_size=1, validation_size=1,
                     test_size=0).load(1, Ledger())
        return corpus.gold["validation"][0]

    assert gold("sort").sure == frozenset()
    assert len(gold("sort").possible) == len(gold("sort").source_words) ** 2
    copied = gold("copy")
    assert copied.sure == copied.possible == {(place, place) for place in range(len(copied.source_words))}


@pytest.mark.parametrize("symbols, sizes", [(20, (500, 50, 50)), (3, (20, 10, 9))])
def test_splits_are_disjoint_and_follow_the_seed(symbols, sizes):
    part = Toy(symbols=symbols, min_length=1, max_length=3, train_size=sizes[0], validation_size=sizes[1],
               test_size=sizes[2])
    splits = part.load(7, Ledger()).splits
    every = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(set(every)) == len(every) == sum(sizes)
    assert part.load(7, Ledger()).splits == splits
    assert part.load(8, Ledger()).splits != splits


def test_wanting_more_than_there_is_and_lengths_in_disorder_are_refused():
    with pytest.raises(DataError, match="2 symbols in lengths 1 to 2 give only 6 different sequences, but 7"):
        sizes = {"train_size": 5, "validation_size": 1, "test_size": 1}
        Toy(symbols=2, min_length=1, max_length=2, **sizes).load(1, Ledger())
    with pytest.raises(RecipeError, match="min_length 5 is greater than max_length 4"):
        parse(Toy, {"min_length": 5, "max_length": 4})


def test_middle_asks_for_the_symbol_in_the_middle_alone():
    corpus = Toy(problem="middle", symbols=7, train_size=50, validation_size=9, test_size=0).load(5, Ledger())
    for split, pairs in corpus.splits.items():
        for place, pair in enumerate(pairs):
            words = pair.source.split(" ")
            assert pair.target == words[len(words) // 2]
            if split == "validation":
                assert corpus.gold[split][place].sure == {(len(words) // 2, 0)}


def test_recall_asks_for_what_followed_a_symbol_that_occurs_once():
    corpus = Toy(problem="recall", symbols=31, min_length=3, max_length=12, train_size=301, validation_size=20,
                 test_size=0).load(5, Ledger())
    places = set()
    for pair in corpus.splits["train"]:
        *body, question = pair.source.split(" ")
        assert body.count(question) == 1
        place = body.index(question)
        assert pair.target == body[place + 1]
        places.add((place, len(body)))
    assert len(places) > 40, "the question may lie anywhere"
    for pair, gold in zip(corpus.splits["validation"], corpus.gold["validation"]):
        (link,) = gold.sure
        assert gold.source_words[link[0]] == pair.target
    assert len({pair.source for pairs in corpus.splits.values() for pair in pairs}) == 321


def test_recall_refuses_what_cannot_be_asked():
    with pytest.raises(RecipeError, match="recall needs a min_length of 3"):
        parse(Toy, {"problem": "recall", "min_length": 2})
    with pytest.raises(DataError, match="recall found only 0 different questions with 1 symbols, but 30 are wanted"):
        Toy(problem="recall", symbols=1, min_length=3, max_length=90, train_size=10, validation_size=10,
            test_size=10).load(1, Ledger())

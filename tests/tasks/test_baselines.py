"""Simple methods against values that can be computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from regard.data.trees import parse
from regard.tasks.baselines.bags import WeightedWords, character_features, has_few_words, word_features
from regard.tasks.baselines.counts import count_features
from regard.tasks.baselines.lookup import fit_lookup, looked_up
from regard.tasks.baselines.naive_bayes import fit_naive_bayes
from regard.tasks.baselines.near_spans import fit_near_spans
from regard.tasks.baselines.ngrams import fit_ngrams, fit_ngrams_of_best_length
from regard.tasks.baselines.right_branching import fit_right_branching
from regard.tasks.baselines.sampling import evenly, within
from regard.tasks.baselines.softmax_regression import fit_softmax_regression
from regard.tasks.baselines.unigrams import fit_unigrams
from regard.tasks.baselines.word_tags import fit_word_tags

# -- how much is used ---------------------------------------------------------------------------------------------


def test_examples_are_taken_evenly_and_counted() -> None:
    assert evenly(7, 3).places.tolist() == [0, 2, 4]
    assert evenly(7, 3).describe("texts") == "3 of 7 texts"
    assert evenly(1234, 5000).describe("texts") == "1,234 texts"
    assert evenly(0, 3).of([]) == []


def test_a_budget_is_kept_whatever_the_sizes() -> None:
    texts = ["x" * 30] * 40
    assert len(within(texts, len, 300, 1000).places) == 10
    assert len(within(texts, len, 10_000, 7).places) == 7


# -- bags ---------------------------------------------------------------------------------------------------------


def test_words_and_neighbours_are_features() -> None:
    assert word_features("A b, a") == ["a", "b", ",", "a", "a b", "b ,", ", a"]


def test_single_words_are_told_apart_by_their_characters() -> None:
    assert sorted(character_features("Ab")) == sorted(
        [" ", "a", "b", " ", " a", "ab", "b ", " ab", "ab ", " ab "]
    )
    assert has_few_words(["Anna", "ACGTACGT", "de Vries"])
    assert not has_few_words(["one", "a longer text", "and one more"])


def test_rare_words_weigh_more_and_vectors_have_length_one() -> None:
    words = WeightedWords(["the cat", "the dog", "the cat"])
    assert words.weight("the") == 1.0
    assert words.weight("cat") == pytest.approx(math.log(4 / 3) + 1)
    one, other, none = words.vectors(["the dog", "the cat", "zebra"])
    the, cat, dog = 1.0, math.log(4 / 3) + 1, math.log(4 / 2) + 1
    assert float(one @ other) == pytest.approx(the / math.hypot(the, dog) / math.hypot(the, cat))
    assert np.linalg.norm(one) == pytest.approx(1)
    assert not none[: len(words.places)].any()


def test_words_beyond_the_dimensions_share_what_is_left() -> None:
    words = WeightedWords([f"w{number}" for number in range(50)], dimensions=8)
    vectors = words.vectors(["w0", "w49", "w49"])
    assert vectors.shape == (3, 8)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert (vectors[1] == vectors[2]).all()


# -- classes ------------------------------------------------------------------------------------------------------


def test_naive_bayes_by_hand() -> None:
    model = fit_naive_bayes([["a", "a", "b"], ["b", "c"]], np.array([0, 1]), 2)
    likelihood = np.exp(model.log_likelihood_FC)
    assert likelihood[model.places["a"]] == pytest.approx([3 / 6, 1 / 5])
    assert likelihood[model.places["b"]] == pytest.approx([2 / 6, 2 / 5])
    assert likelihood[model.places["c"]] == pytest.approx([1 / 6, 2 / 5])
    assert model.predict([["a"], ["b"], ["c", "a", "a"], ["unknown"], []]).tolist() == [0, 1, 0, 0, 0]


def test_naive_bayes_never_chooses_a_class_without_examples() -> None:
    model = fit_naive_bayes([["a"], ["b"]], np.array([2, 2]), 3)
    assert model.predict([["a"], ["c"]]).tolist() == [2, 2]


def test_softmax_regression_ends_where_its_gradient_is_zero() -> None:
    generator = np.random.default_rng(1)
    features_NF, labels_N = generator.normal(size=(23, 3)).astype(np.float32), generator.integers(0, 2, 23)
    features_NF = np.concatenate([features_NF, np.ones((23, 1), np.float32)], axis=1)  # one that never changes
    model = fit_softmax_regression(features_NF, labels_N, 2)
    chances_NC = model.logits(features_NF).softmax(dim=1)
    x_NF = (torch.from_numpy(features_NF) - model.mean_F) / model.spread_F
    wrong_NC = chances_NC - torch.eye(2)[labels_N]
    torch.testing.assert_close(wrong_NC.T @ x_NF + model.weights_CF, torch.zeros(2, 4), atol=0.02, rtol=0)
    torch.testing.assert_close(wrong_NC.sum(dim=0), torch.zeros(2), atol=0.02, rtol=0)


def test_softmax_regression_separates_what_can_be_separated() -> None:
    features_NF = np.array([[0.0, 5.0], [1.0, 6.0], [9.0, 5.5], [8.0, 5.2]], np.float32)
    model = fit_softmax_regression(features_NF, np.array([1, 1, 0, 0]), 2)
    assert model.predict(features_NF).tolist() == [1, 1, 0, 0]


def test_counts_that_hardly_ever_occur_say_little_and_wide_sums_do_not_rule() -> None:
    generator = np.random.default_rng(2)
    labels_N = np.arange(40) % 2
    counts_N = labels_N * 2 + generator.poisson(1.0, 40)
    rare_NF = np.eye(40)[:, :20]  # each in one input alone
    wide_N = generator.normal(0, 1e5, 40)
    features_NF = np.concatenate([counts_N[:, None], rare_NF, wide_N[:, None]], axis=1)
    counted = fit_softmax_regression(features_NF, labels_N, 2, spread=10.0)
    usual = fit_softmax_regression(features_NF, labels_N, 2)
    assert counted.spread_F[:-1].eq(1).all()
    assert 5e3 < counted.spread_F[-1] < 2e4
    weight_of = [float(one.weights_CF[1, 1:21].abs().mean() / one.spread_F[1]) for one in (counted, usual)]
    assert weight_of[0] < weight_of[1] / 2


def test_a_way_to_count_that_counts_the_same_is_left_out() -> None:
    size = [{"nodes": 2.0}, {"nodes": 3.0}]
    kinds = [{"C": 1.0, "O": 1.0}, {"C": 3.0}]
    found = count_features({"size": size, "again": size, "kinds": kinds}, {"size": size, "again": size, "kinds": kinds})
    assert list(found) == ["size", "kinds"]
    assert found["kinds"][0].tolist() == [[1, 1], [3, 0]]


# -- words --------------------------------------------------------------------------------------------------------


def test_words_have_their_most_frequent_tag_and_unknown_ones_that_of_their_ending() -> None:
    model = fit_word_tags([
        (("the", "walk", "walked"), ("DET", "NOUN", "VERB")),
        (("they", "walk", "walk"), ("PRON", "VERB", "VERB")),
        (("the", "dog", "the"), ("DET", "NOUN", "DET")),
    ])  # fmt: skip
    assert [model.tag(word) for word in ("walk", "The", "talked", "fog")] == ["VERB", "DET", "VERB", "NOUN"]
    assert model.tag("xyz") == model.usual == "DET"


def test_the_right_branching_tree() -> None:
    model = fit_right_branching([
        parse("(S (NP (DT the) (NN cat)) (VP (VBD slept)))"),
        parse("(S (NP (DT a) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))))"),
    ])  # fmt: skip
    assert str(model.parse(["the", "dog", "slept"])) == "(S (DT the) (NP (NN dog) (VBD slept)))"
    assert str(model.parse(["slept"])) == "(S (VBD slept))"


# -- pairs and questions ------------------------------------------------------------------------------------------


def test_a_known_source_has_its_most_frequent_target_and_others_stay() -> None:
    table = fit_lookup([("a", "x"), ("a", "y"), ("a", "y"), ("b", "z")])
    assert looked_up(table, ["a", "b", "c"]) == ["y", "z", "c"]


def test_the_words_nearest_to_the_question_are_the_answer() -> None:
    contexts = ["Anna was born in Rome. Ben was born in Oslo.", "the end"]
    model = fit_near_spans(contexts, ["Rome", "Oslo", "in Rome"])
    assert model.words == 1
    # Rome has Ben 1, was 2 and born 3 words after it, born 2 and was 3 before it: 1 + ½ + ⅓ + ½ + ⅓; "in" has less
    assert model.answer("where was Ben born", contexts[0]) == "Rome"
    assert model.answer("Rome", contexts[0]) == "in"
    assert model.answer("nothing of this", contexts[0]) == "Anna"
    assert model.answer("who", "") == ""


# -- tokens -------------------------------------------------------------------------------------------------------


def test_bigrams_by_hand() -> None:
    """Of 0 1 0 1 1 the bigrams 01 (twice), 10 and 11: D = 2 / (2 + 2·1). Single tokens count the tokens before them:
    one before 0, two before 1, so that D = 1 / (1 + 2·1), p(0) = (1 − ⅓)/3 + ⅓·⅔·½ = ⅓ and p(1) = ⅔."""
    model = fit_ngrams(np.array([0, 1, 0, 1, 1]), 2, longest=2)
    one_after_zero = (2 - 0.5) / 2 + 0.5 * 1 / 2 * 2 / 3
    assert model.probabilities(np.array([1, 0, 1]))[1] == pytest.approx([0.5 / 2 + 0.5 * 1 / 3, one_after_zero])
    assert model.probabilities(np.array([1, 1]))[1] == pytest.approx([0.5 / 2 + 0.5 * 2 / 3])


def test_probabilities_of_all_tokens_add_up_after_known_and_unknown_contexts() -> None:
    tokens = np.random.default_rng(2).integers(0, 4, 90)
    model = fit_ngrams(tokens, 5, longest=3)
    for context in ([0, 1], [3, 3], [4, 0], [4, 4]):
        every = [model.probabilities(np.array([*context, token])) for token in range(5)]
        assert len(every[0]) == 3
        for length in range(3):
            assert sum(own[length][-1] for own in every) == pytest.approx(1)


def test_the_last_tenth_says_how_long_ngrams_should_be() -> None:
    pattern = np.tile([0, 1, 2, 0, 2, 1], 60)
    fitted = fit_ngrams_of_best_length(pattern, 3)
    assert fitted.longest == 3  # two tokens tell what follows
    assert fitted.loss(pattern) < 0.1
    noise = np.random.default_rng(3).integers(0, 50, 400)
    assert fit_ngrams_of_best_length(noise, 50).longest == 1
    assert fit_ngrams_of_best_length(np.array([0, 1]), 2).loss(np.array([0, 1])) > 0


def test_unigrams_are_smoothed() -> None:
    model = fit_unigrams(np.array([2, 2, 1]), 3)
    assert np.exp(model.log_probability_W) == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert model.usual == 2
    assert model.loss(np.array([0, 2])) == pytest.approx((math.log(6) + math.log(2)) / 2)
    assert model.accuracy(np.array([2, 0, 2, 1])) == 0.5

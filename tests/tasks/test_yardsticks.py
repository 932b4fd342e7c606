"""Yardsticks beside scores: which lead, who is ahead, and what simple methods reach on data of which that is known."""

from __future__ import annotations

import pytest

from regard.core.yardsticks import Yardstick, verdict
from regard.data.corpus import Pair
from regard.data.examples import Labelled, QuestionExample, Reference, Tagged
from regard.tasks.baselines.yardsticks import answer_yardsticks, class_yardsticks, pair_yardsticks, tag_yardsticks
from regard.tasks.scores import SHORT_TEXTS, SYMBOLS, WHOLE_TEXTS, leading_scores, text_figures, text_scores

# -- which scores lead --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("references", "tokenize", "leading"),
    [
        (["a man in a hat looks at something .", "two young girls are sitting outside ."], "none", WHOLE_TEXTS),
        (["Ivanov", "New York", "Tchaikovsky"], "13a", SHORT_TEXTS),
        (["le chat dort", "le chien", "un oiseau"], "13a", SHORT_TEXTS),
        (["HH AH0 L OW1", "W ER1 L D", "K AE1 T S IH0 Z"], "13a", SYMBOLS),
        (["c b a d", "e f a b c d"], "none", SYMBOLS),
        (["CC(=O)OC1=CC=CC=C1C(=O)O"], "13a", SHORT_TEXTS),
        (["我喜歡這隻貓", "他們在公園裡"], "zh", WHOLE_TEXTS),
    ],
)
def test_scores_that_fit_the_references_lead(references: list[str], tokenize: str, leading: tuple[str, ...]) -> None:
    assert leading_scores(references, tokenize) == leading


def test_every_leading_score_is_among_the_scores() -> None:
    scores = text_scores(["K AE T", "B"], ["K AE T", "D AO G Z"])
    assert scores.keys() >= {*WHOLE_TEXTS, *SHORT_TEXTS, *SYMBOLS}
    figures = text_figures(["K AE T", "B"], ["K AE T", "D AO G Z"])
    assert figures == {name: scores[name] for name in figures}


# -- who is ahead -------------------------------------------------------------------------------------------------


def yardstick(**figures: float) -> Yardstick:
    return Yardstick(figures, "7 texts")


def test_nothing_is_said_of_a_model_that_is_ahead() -> None:
    assert verdict({"accuracy": 0.9, "loss": 1.0}, {"naive Bayes": yardstick(accuracy=0.8)}) == ""
    assert verdict({"loss": 1.0}, {"n-gram": yardstick(loss=1.1)}) == ""
    assert verdict({"accuracy": 0.9}, {}) == ""


def test_a_model_that_is_behind_is_told_by_the_method_that_is_furthest_ahead() -> None:
    methods = {"usual": yardstick(accuracy=0.75), "naive Bayes": yardstick(accuracy=0.8), "weak": yardstick(accuracy=0)}
    assert verdict({"accuracy": 0.7}, methods) == (
        "The model is below the simple method 'naive Bayes': accuracy 0.7000 against 0.8000."
    )
    assert verdict({"loss": 2.0, "perplexity": 7.4}, {"n-gram": yardstick(loss=1.5, perplexity=4.5)}) == (
        "The model is below the simple method 'n-gram': loss 2.0000 against 1.5000."
    )
    assert "no better than the simple method 'usual': accuracy 0.7" in verdict(
        {"accuracy": 0.7}, {"usual": yardstick(accuracy=0.7)}
    )


def test_the_score_that_leads_decides() -> None:
    scores = {"bleu": 0.0, "exact_match": 0.7, "word_error_rate": 0.4, "leading": ["exact_match"]}
    assert verdict(scores, {"copy": yardstick(bleu=3.0, exact_match=0.1)}) == ""
    assert "word error rate 0.4000 against 0.3000" in verdict(
        {**scores, "leading": ["word_error_rate"]}, {"copy": yardstick(word_error_rate=0.3)}
    )


# -- what simple methods reach ------------------------------------------------------------------------------------


def labelled(*rows: tuple[str, str]) -> list[Labelled[str]]:
    return [Labelled(text, label) for text, label in rows]


def test_classes_of_texts_are_found_by_their_words() -> None:
    training = labelled(("a good film", "yes"), ("a fine day", "yes"), ("a bad film it was", "no"))
    scored = labelled(("good day", "yes"), ("it was bad", "no"))
    found = class_yardsticks(training, scored, {"yes": 0, "no": 1})
    assert found["most frequent class"].figures["accuracy"] == 0.5
    assert found["naive Bayes on words"].figures == {"accuracy": 1.0, "macro_f1": 1.0}
    assert found["naive Bayes on words"].fitted_on == "3 texts"


def test_classes_of_single_words_are_found_by_their_characters() -> None:
    training = labelled(("Ivanov", "ru"), ("Petrov", "ru"), ("Smith", "en"), ("Keith", "en"))
    found = class_yardsticks(training, labelled(("Orlov", "ru"), ("Edith", "en")), {"ru": 0, "en": 1})
    assert found["naive Bayes on characters"].figures["accuracy"] == 1.0


def test_the_second_of_two_texts_counts_for_itself() -> None:
    rows = [("yes it is", "no it is not", "a"), ("no it is not", "yes it is", "b")]
    examples = [Labelled(first, label, second) for first, second, label in rows]
    found = class_yardsticks(examples, examples, {"a": 0, "b": 1})
    assert found["naive Bayes on words"].figures["accuracy"] == 1.0


def test_entities_lead_where_tags_are_bio() -> None:
    training = [Tagged(("Ann", "saw", "Rome"), ("B-PER", "O", "B-LOC"))]
    scored = [Tagged(("Ann", "saw", "Ann"), ("B-PER", "O", "B-LOC"))]
    (found,) = tag_yardsticks(training, scored, {"O": 0, "B-PER": 1, "B-LOC": 2}, bio=True).values()
    assert next(iter(found.figures)) == "entity_f1"
    assert found.figures["entity_f1"] == 0.5
    assert found.figures["accuracy"] == pytest.approx(2 / 3)


def test_sources_are_looked_up_only_where_training_has_some() -> None:
    training = [Pair("a b", "x y"), Pair("c", "z")]
    known = pair_yardsticks(training, [Pair("a b", "x y"), Pair("d e", "d e")], text_figures)
    assert [one.figures["exact_match"] for one in known.values()] == [0.5, 1.0]
    assert [one.fitted_on for one in known.values()] == ["nothing", "2 pairs"]
    assert list(pair_yardsticks(training, [Pair("d e", "f")], text_figures)) == ["the source as it is"]


def test_no_answer_is_a_method_where_training_has_questions_without() -> None:
    answered = QuestionExample("who sleeps", "the cat sleeps", (Reference("cat", 4),))
    asked = [answered, QuestionExample("who ran", "the cat sleeps")]
    found = answer_yardsticks(asked, asked)
    assert found["no answer to any question"].figures == {
        "exact_match": 0.5, "f1": 0.5, "no_answer_accuracy": 1.0,
    }  # fmt: skip
    assert list(answer_yardsticks(asked[:1], asked)) == ["words nearest to the question's"]

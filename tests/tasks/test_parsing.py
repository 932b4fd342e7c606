"""Parsing end to end: trees that are well-formed over the given words, whatever the model, and scores that say so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.core.answers import Answer
from regard.core.errors import DataError, RecipeError
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import TokenizerPart, WordTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.whitespace import WhitespaceTokenizer
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.data.sources.treebanks import pair_of
from regard.data.trees import parse
from regard.decoding.options import Beam, Greedy
from regard.runs.evaluate import evaluate
from regard.runs.load import Run
from regard.runs.significance import significance
from regard.tasks.parsing import Parsing, ParsingConfig, parsed

TREEBANK = (
    "(S (NP (DT the) (NN cat)) (VP (VBD sat)))",
    "(NP (DT a) (NN dog))",
    "(S (NP (PRP she)) (VP (VBD saw) (NP (NN it))))",
    "(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN dog)))))",
    "(NP (NN cat) (-LRB- -LRB-) (NN f-LRB-x-RRB-) (-RRB- -RRB-))",
    "(TOP (S (S (S (NP (NX (NX (NN it)))) (VP (VX (VX (VBD sat))))))))",
)
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"encoder_layers": 1, "decoder_layers": 1, "heads": 2, "feed_forward": {"width": 32}},
    "bahdanau": {},
    "luong": {},
    "convolution": {},
}
SCORES = {"bracket_f1", "bracket_f1_low", "bracket_f1_high", "bracket_precision", "bracket_recall", "exact_match",
          "repaired", "unlabelled_f1", "tag_accuracy", "token_accuracy", "loss"}  # fmt: skip
STRANGE = ["the cat sat on the mat", "a", "zebras (and lions)", "  the\tdog  -LRB- sleeps -RRB- "]


def trained(folder: Path, kind: str, steps: int) -> Run:
    """A model of these few trees; their file serves for training and for test."""
    file = folder / "trees.mrg"
    file.write_text("\n".join(TREEBANK), encoding="utf-8")
    tree: dict[str, Any] = {
        "data": {"kind": "trees", "train": str(file), "test": str(file), "validation_size": 0},
        "tokenizer": {"kind": "whitespace", "min_frequency": 1, "joint": False},
        "model": {"kind": kind, "width": 32, "dropout": 0.0, **MODELS[kind]},
        "task": {"kind": "parsing", "label_smoothing": 0.0, "max_length": 40},
        "training": {
            "steps": steps, "batch_tokens": 512, "threads": 1, "learning_rate": 1e-2, "schedule": {"kind": "constant"},
        },
        "decoding": {"kind": "greedy"},
    }  # fmt: skip
    regard.train(tree, folder / "run")
    return regard.load(folder / "run")


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """It knows its six trees by heart."""
    return trained(tmp_path_factory.mktemp("parser"), "transformer", 60)


def test_it_learns_and_its_scores_have_their_names(parser: Run) -> None:
    """The last tree has more symbols than an answer usually may have: twice the words, and ten."""
    assert len(parse(TREEBANK[-1]).symbols()) > 2 * 2 + 10
    scores = evaluate(parser)
    assert set(scores) >= SCORES
    assert [scores[name] for name in ("bracket_f1", "bracket_f1_low", "exact_match", "repaired")] == [1, 1, 1, 0]
    assert json.loads(parser.folder.scores.read_text(encoding="utf-8"))["bracket_f1"] == 1


def test_an_answer_is_a_tree_over_the_words_of_the_text(parser: Run) -> None:
    answers = parser.predict([*STRANGE, "   "])
    assert answers[-1] == ""
    for text, answer in zip(STRANGE, answers):
        assert list(parse(answer).words()) == text.replace("-LRB-", "(").replace("-RRB-", ")").split()
    several = parser.answers(STRANGE, Beam(size=3, n_best=3))
    assert [len(own) for own in several] == [3, 3, 3, 3]
    for text, own in zip(STRANGE, several):
        assert {len(parse(answer.text).words()) for answer in own} == {len(text.split())}


def test_answers_that_are_cut_off_are_repaired_and_counted(parser: Run) -> None:
    scores = evaluate(parser, options=Greedy(max_length=3))
    assert scores["repaired"] == 1
    assert 0 < scores["bracket_recall"] < 0.5
    for text, answer in zip(STRANGE, parser.predict(STRANGE, Greedy(max_length=3))):
        assert len(parse(answer).words()) == len(text.split())


@pytest.mark.parametrize(
    ("symbols", "tree", "repaired"),
    [
        ("(NP DT NN )", "(NP (DT the) (NN cat))", False),
        ("(NP DT NN", "(NP (DT the) (NN cat))", True),
        ("(NP DT <unk> )", "(NP (DT the) (<unk> cat))", False),
        ("(NP DT NN ) )", "(NP (DT the) (NN cat))", True),
        ("", "(X (XX the) (XX cat))", True),
    ],
)
def test_what_had_to_be_repaired_is_marked(symbols: str, tree: str, repaired: bool) -> None:
    found = parsed(Answer(symbols, -1.0, -0.5), ["the", "cat"])
    assert (str(found.tree), found.repaired) == (tree, repaired)
    assert found.answer == Answer(tree, -1.0, -0.5)


def test_given_files_are_scored_with_trees_in_brackets_or_linearised(parser: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the cat sat\ncat -LRB- f(x) )", encoding="utf-8")
    trees = [parse(TREEBANK[0]), parse(TREEBANK[4])]
    for name, lines in {"brackets": map(str, trees), "symbols": (" ".join(tree.symbols()) for tree in trees)}.items():
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        scores = evaluate(parser, source=tmp_path / "in.txt", reference=tmp_path / name)
        assert (scores["bracket_f1"], scores["exact_match"], scores["sentences"]) == (1.0, 1.0, 2)
        assert scores["token_accuracy"] == 1
    (tmp_path / "wrong").write_text("(S (NP (DT the)))\n(S", encoding="utf-8")
    with pytest.raises(DataError, match=r"(?s)not trees over the words of their sentences: 2 .*line 1: .*3 words"):
        evaluate(parser, source=tmp_path / "in.txt", reference=tmp_path / "wrong")


def test_given_trees_get_the_score_that_the_search_gave_them(parser: Run) -> None:
    texts = [" ".join(parse(tree).words()) for tree in TREEBANK]
    found = [own[0] for own in parser.answers(texts)]
    assert tuple(answer.text for answer in found) == TREEBANK
    scored = parser.score([*texts, ""], [*TREEBANK, ""])
    for answer, pieces in zip(found, scored):
        assert len(pieces) == len(parse(answer.text).symbols()) + 1
        assert sum(pieces) == pytest.approx(answer.log_probability, abs=1e-3)
    weights = parser.alignment(texts[:1], TREEBANK[:1])[0]
    assert tuple(weights.target_words) == parse(TREEBANK[0]).symbols()


def test_two_parsers_are_compared_by_their_brackets(parser: Run) -> None:
    found = significance(parser, parser)
    assert (found["metric"], found["difference"], found["p_value"]) == ("bracket F1", 0.0, 1.0)
    hurried = replace(parser, recipe=parser.recipe.model_copy(update={"decoding": Greedy(max_length=3)}))
    assert significance(parser, hurried)["difference"] > 10


@pytest.mark.parametrize("kind", MODELS)
def test_any_encoder_and_decoder_can_parse(kind: str, tmp_path: Path) -> None:
    """After two steps nobody knows anything, and every answer is a tree all the same."""
    run = trained(tmp_path, kind, 2)
    for text, answer in zip(STRANGE, run.predict(STRANGE)):
        assert len(parse(answer).words()) == len(text.split())
    scores = evaluate(run)
    assert scores["bracket_f1"] < 1
    assert scores["repaired"] > 0


def corpus_of(pairs: list[Pair]) -> Corpus:
    return Corpus({"train": tuple(pairs)}, Ledger())


def task_over(pairs: list[Pair], tokenizer: TokenizerPart) -> Parsing:
    corpus = corpus_of(pairs)
    return ParsingConfig(max_length=9).build(corpus, Modalities.of_text(Vocabularies.train(tokenizer, corpus)), seed=1)


def test_it_is_translation_as_far_as_training_goes() -> None:
    pairs = [pair_of(parse(tree), line) for line, tree in enumerate(TREEBANK[:3], start=1)]
    task = task_over(pairs, WhitespaceTokenizer(min_frequency=1, joint=False))
    assert [task.vocabularies.target.decode(one.target) for one in task.examples("train", 0)] == [
        "(S (NP DT NN ) (VP VBD ) )", "(NP DT NN )",
    ]
    assert [(one.line, one.reason) for one in task.corpus.ledger.exceptions] == [
        (3, "longer than task.max_length = 9 pieces")
    ]
    batch = task.collate(task.examples("train", 0))
    assert batch.source_BS.shape == (2, 4)
    assert batch.loss_terms == len(batch.targets_N) == 10 + 5
    assert task.examples("train", 0).lengths_NA[:, 1].sum() == 10 + 5


def test_pairs_that_are_no_trees_are_refused_with_the_remedy() -> None:
    with pytest.raises(RecipeError) as caught:
        task_over([Pair("the cat", "le chat noir", 7)], WhitespaceTokenizer(min_frequency=1))
    assert str(caught.value) == (
        'task.kind = "parsing" needs sentences with linearised trees, as data.kind = "world-trees" and "trees" give '
        "them; train line 7: 'le chat noir' is not a linearised tree over 2 words, such as '(NP DT NN )'"
    )


def test_a_tokenizer_that_changes_labels_is_refused_and_others_are_not() -> None:
    pairs = [pair_of(parse(tree)) for tree in TREEBANK]
    for bad in (WordPieceTokenizer(min_frequency=1), WordTokenizer(min_frequency=1, lower=True)):
        with pytest.raises(RecipeError, match=r'labels would not come back; choose tokenizer\.kind = "whitespace"'):
            task_over(pairs, bad)
    assert len(task_over(pairs, WordTokenizer(min_frequency=1)).examples("train", 0))

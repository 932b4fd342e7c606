"""Trees come back from brackets and from symbols, and whatever the symbols are, a tree over the words is made."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import DataError
from regard.data.trees import Tree, parse, read_back, repair, symbols_of
from regard.data.world import generate

BEE = "(S (NP (DT the) (NN bee)) (VP (VBD heard) (NP (DT the) (NNS cars))))"
LABELS = st.sampled_from(["S", "NP", "VP", "NP-SBJ", "PRP$", "-LRB-", ".", "``", "X", "XX", "é"])
WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(str.isprintable)
PLAIN = WORDS.filter(lambda word: "RB-" not in word)
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), LABELS, PLAIN),
    lambda below: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        LABELS,
        st.one_of(st.lists(below, min_size=1, max_size=3), st.lists(below | PLAIN, min_size=2, max_size=4)),
    ),
    max_leaves=9,
)
SYMBOLS = st.one_of(
    st.sampled_from(["(S", "(NP", ")", ")", "NN", "DT", "()", "(", "<unk>", "))((", "(S(NP", "a(b)c", "", "  "]),
    st.text(max_size=4),
)


def test_a_tree_is_read_and_written_as_penn_does() -> None:
    tree = parse(f"(\n  {BEE[:17]}\n\t{BEE[17:]} )")
    assert str(tree) == BEE
    assert tree.words() == ("the", "bee", "heard", "the", "cars")
    assert " ".join(tree.symbols()) == "(S (NP DT NN ) (VP VBD (NP DT NNS ) ) )"
    assert tree.children[0] == Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("bee",))))


def test_a_word_alone_and_words_without_tags_have_symbols_too() -> None:
    assert parse("(NN cat)").symbols() == ("NN",)
    tree = parse("(S (NP the (NN cat)) sat down)")
    assert tree.symbols() == ("(S", "(NP", "()", "NN", ")", "()", "()", ")")
    assert read_back(tree.symbols(), ["the", "cat", "sat", "down"]) == tree


def test_brackets_in_words_are_escaped_and_come_back() -> None:
    tree = Tree("NP", (Tree("NN", (":-(",)), Tree("-LRB-", ("(",)), Tree("NN", ("f(x)",))))
    assert str(tree) == "(NP (NN :--LRB-) (-LRB- -LRB-) (NN f-LRB-x-RRB-))"
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no tree"),
        ("()", "a bracket holds no words"),
        ("(S (NP) (VP x))", "a bracket holds no words"),
        ("(S (NP (DT the)", "a bracket is not closed"),
        ("(S a))", "a bracket is closed that was not opened"),
        ("(S a) (S b)", "found something outside of the brackets"),
        ("word", "found something outside of the brackets"),
        ("(S ((NP a b)))", "a bracket inside has no label"),
        ("( (S a b) (S c d) )", "the brackets around all have no label, and hold more than one tree"),
    ],
)
def test_what_is_no_tree_is_refused_for_its_reason(text: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(text)
    assert str(caught.value) == reason


@pytest.mark.parametrize(("label", "children"), [("", "a"), ("N P", "a"), ("S(", "a"), ("S", ()), ("S", ("",))])
def test_a_tree_that_could_not_be_written_cannot_be_made(label: str, children: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=r"is not a label|nothing is below|is not a word"):
        Tree(label, tuple(children))


def test_traces_and_functions_are_left_out_where_that_is_wanted() -> None:
    tree = parse("(S (NP-SBJ-1 (DT the) (NN cat)) (VP (VBD was) (S=2 (NP (-NONE- *T*-1))) (-RRB- -RRB-) (PP|ADV x y)))")
    assert str(tree.bare()) == "(S (NP (DT the) (NN cat)) (VP (VBD was) (-RRB- -RRB-) (PP|ADV x y)))"
    assert parse("(NP (-NONE- *))").bare() is None


def test_a_tree_is_drawn() -> None:
    assert parse("(S (NP (DT the) (NN bee)) (VP (VBD flew) away))").drawn() == "\n".join(
        ["S", "├── NP", "│   ├── DT the", "│   └── NN bee", "└── VP", "    ├── VBD flew", "    └── away"]
    )


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_what_is_written_is_read_again(tree: Tree) -> None:
    assert parse(str(tree)) == tree
    assert parse(f"( {tree} )") == tree
    assert read_back(tree.symbols(), tree.words()) == tree
    assert symbols_of(" ".join(tree.symbols())) == tree.symbols()


@settings(max_examples=200, deadline=None)
@given(st.lists(SYMBOLS, max_size=25), st.lists(WORDS, min_size=1, max_size=7))
def test_whatever_the_symbols_a_tree_over_the_words_is_made(symbols: list[str], words: list[str]) -> None:
    tree = repair(symbols, words)
    assert tree.words() == tuple(words)
    text = str(tree)
    assert text.count("(") == text.count(")")
    assert str(parse(text)) == text
    assert repair(tree.symbols(), words) == tree


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ("(S (NP DT NN ) (VP VBD", "(S (NP (DT a) (NN b)) (VP (VBD c) (XX d)))"),  # cut off: the rest goes on there
        ("(S (NP DT NN ) )", "(S (NP (DT a) (NN b)) (XX c) (XX d))"),
        ("(S (NP DT NN ) (VP VBD RB NN ) (NP NN ) )", "(S (NP (DT a) (NN b)) (VP (VBD c) (RB d)))"),
        ("(S (NP DT NN ) ) (VP VBD RB ) )", "(S (NP (DT a) (NN b)) (VP (VBD c) (RB d)))"),  # one ")" too early
        ("(S (NP ) ( DT NN ) (VP VBD RB ) )", "(S (DT a) (NN b) (VP (VBD c) (RB d)))"),
        ("DT (NP NN ) (VP VBD RB )", "(X (DT a) (NP (NN b)) (VP (VBD c) (RB d)))"),
        ("", "(X (XX a) (XX b) (XX c) (XX d))"),
    ],
)
def test_repairs_by_hand(symbols: str, expected: str) -> None:
    assert str(repair(symbols.split(), list("abcd"))) == expected


def test_reading_back_refuses_what_would_need_repair() -> None:
    words = ["the", "cat"]
    assert str(read_back(("(NP", "DT", "NN", ")"), words)) == "(NP (DT the) (NN cat))"
    for symbols in ("(NP DT NN", "(NP DT )", "(NP DT NN ) )", "(NP DT NN NN )", "(NP (X ) DT NN )"):
        with pytest.raises(DataError, match="is not a linearised tree over 2 words"):
            read_back(symbols.split(), words)
    with pytest.raises(DataError, match="no tree over no words"):
        repair(["NN"], [])


def test_trees_may_be_deeper_than_python_calls_go() -> None:
    depth = 1500
    tree = repair(["(S"] * depth, ["a", "b"])
    assert parse(str(tree)).symbols() == tree.symbols()
    assert len(tree.symbols()) == 2 * depth + 2
    assert tree.bare() is not None
    assert tree.drawn().endswith("XX b")


def test_the_trees_of_the_small_world_come_back() -> None:
    for pair in generate(97, seed=5):
        tree = parse(pair.tree)
        assert tree.words() == pair.source_words
        assert str(read_back(tree.symbols(), pair.source_words)) == pair.tree

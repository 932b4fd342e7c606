"""Every option does something for a run of every kind, or is refused in words; all that are idle, at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import regard
from kinds import KINDS, kind

GENERATING = ("translation", "parsing", "language model")
OPTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "--beam": (("2",), GENERATING),
    "--greedy": ((), GENERATING),
    "--temperature": (("0.7",), GENERATING),
    "--top-k": (("3",), GENERATING),
    "--top-p": (("0.9",), GENERATING),
    "--min-p": (("0.1",), GENERATING),
    "--repetition-penalty": (("1.2",), GENERATING),
    "--seed": (("0",), GENERATING),
    "--max-tokens": (("3",), GENERATING),
    "--n-best": (("2",), (*GENERATING, "masked language model", "classification", "question answering", "pictures")),
    "--scores": ((), (*GENERATING, "masked language model")),
    "--alignment": ((), ("translation", "parsing")),
    "--reference": (("FILE",), ("translation", "parsing")),
    "--context": (("FILE",), ("question answering",)),
    "--prompt": (("the cat",), ("language model",)),
    "--interactive": ((), ("language model",)),
    "--stop": ((".",), ("language model",)),
    "--echo": ((), ("language model",)),
    "--shots": (("FILE",), ("language model",)),
    "--keep-end": ((), ("language model",)),
}
APART = ("--reference", "--prompt", "--interactive")
"""Options that do not go together with most of the others."""


@pytest.mark.parametrize("name", KINDS)
def test_options_that_do_nothing_are_all_named(name: str, tmp_path: Path) -> None:
    run, text = kind(name)
    file = tmp_path / "any.txt"
    idle = {option: values for option, (values, kinds) in OPTIONS.items() if name not in kinds}
    words = {option: [option, *(str(file) if one == "FILE" else one for one in own)] for option, own in idle.items()}
    together = [option for option in idle if option not in APART]
    message = regard("predict", run, text, *(word for option in together for word in words[option])).error
    assert f"{run} (" in message
    for option in together:
        assert f"{option}, " in message
    assert message.endswith("; leave them out")
    for option in idle.keys() - set(together):
        given = [text] if option == "--reference" else []
        assert f"has no use for {option}, which is for" in regard("predict", run, *given, *words[option]).error


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("masked language model", ("--n-best", "3")),
        ("masked language model", ("--scores",)),
        ("classification", ("--n-best", "2")),
        ("pictures", ("--n-best", "2")),
        ("question answering", ("--n-best", "4")),
        ("language model", ("--greedy", "--max-tokens", "3")),
        ("language model", ("--beam", "3", "--n-best", "3")),
        ("language model", ("--echo",)),
        ("parsing", ("--alignment",)),
        ("parsing", ("--temperature", "2")),
        ("translation", ("--temperature", "3", "--seed", "0", "--n-best", "2")),
    ],
)
def test_options_that_are_taken_change_the_output(name: str, options: tuple[str, ...]) -> None:
    run, text = kind(name)
    plain, changed = regard("predict", run, text), regard("predict", run, text, *options)
    assert plain.code == changed.code == 0, changed.err
    assert plain.out != changed.out
    number = int(options[options.index("--n-best") + 1]) if "--n-best" in options else 1
    assert len(changed.lines) == number


@pytest.mark.parametrize("name", KINDS)
def test_lines_objects_and_json_lines_hold_the_same(name: str, tmp_path: Path) -> None:
    run, text = kind(name)
    file = tmp_path / "in.txt"
    file.write_text(f"{text}\n\n{text}\n", encoding="utf-8")
    lines = regard("predict", run, "--file", file).lines
    assert [bool(line) for line in lines] == [True, False, True]
    whole = regard("predict", run, "--file", file, "--json").json
    rows = regard("predict", run, "--file", file, "--jsonl").lines
    assert whole["inputs"] == [text, "", text]
    assert whole["outputs"][1] == ""
    assert lines[0].startswith(whole["outputs"][0])
    assert len(rows) == len(whole["outputs"]) == 3
    assert all(len(one) == 3 for one in whole.values())


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("masked language model", ["a [MASK]", "", "the cat", "", "a"], "nothing to guess in: line 3, line 5;"),
        ("masked language model", ["", "the [MASK] " * 300], "and more have: line 2 ("),
        ("question answering", ["", "who sleeps"], "one is missing in: line 2 ('who sleeps'); put a tab between them"),
        ("pictures", ["", "none.png", "other.png"], "line 2 (there is no file 'none.png'; this run reads pictures"),
        ("parsing", ["", "word " * 3000], "pieces of a source, and there are more in: line 2 (3000 pieces)"),
        ("language model", ["", "", "the " * 3000], "and more have: line 3 (300"),
    ],
)
def test_places_count_empty_lines(name: str, lines: list[str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = regard("predict", kind(name).run, "--file", file).error
    assert found.startswith(f"{file}: ")
    assert message in found
    told = regard("predict", kind(name).run, *lines).error
    assert message.replace("line ", "input ") in told


def test_references_that_are_no_trees_are_named_by_their_lines(tmp_path: Path) -> None:
    sources, trees = tmp_path / "in.txt", tmp_path / "trees.txt"
    sources.write_text("\nthe cat\n", encoding="utf-8")
    trees.write_text("\n(S (NP the))\n", encoding="utf-8")
    found = regard("predict", kind("parsing").run, "--file", sources, "--reference", trees).error
    assert "not trees over the words of their sentences: line 2 (" in found


def test_a_context_is_given_once(tmp_path: Path) -> None:
    context = tmp_path / "story.txt"
    context.write_text("the cat\nsleeps\n", encoding="utf-8")
    run, text = kind("question answering")
    whole = regard("predict", run, "who sleeps", "", "--context", context, "--json").json
    assert whole["inputs"] == ["who sleeps\tthe cat sleeps", ""]
    assert whole["outputs"] == regard("predict", run, text, "", "--json").json["outputs"]
    found = regard("predict", run, "who sleeps", text, "--context", context).error
    assert "--context gives the context, and there is another one after a tab in: input 2" in found
    context.write_text(" \n", encoding="utf-8")
    assert "story.txt is empty; --context takes a file" in regard("predict", run, "a", "--context", context).error


def test_inputs_that_are_cut_are_told_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("a cat\n" * 66 + "word " * 500 + "\n", encoding="utf-8")
    found = regard("predict", kind("embedding").run, "--file", file)
    assert found.code == 0
    assert "note: line 65 to 67: 1 of 3 texts are longer than the" in found.err


# -- other verbs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("translation", "parsing")])
def test_ways_of_decoding_are_refused_where_a_score_decodes_nothing(name: str) -> None:
    run = kind(name).run
    message = regard("evaluate", run, "--beam", 2, "--greedy").error
    assert "no use for --beam, --greedy, which are for runs that are scored by the answers that they write" in message


@pytest.mark.parametrize("name", ["language model", "masked language model", "tagging", "question answering"])
def test_runs_that_cannot_be_compared_are_not_scored_first(name: str) -> None:
    run = kind(name).run
    before = (run / "scores.json").exists()
    assert "have no paired test" in regard("evaluate", run, "--against", run).error
    assert (run / "scores.json").exists() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "RUN", "--to", "huggingface", "--out", "x", "--dtype", "int8"), "leave out --dtype"),
        (("export", "RUN", "--to", "ctranslate2", "--out", "x", "--dtype", ""), "--dtype is empty; name a type"),
        (("predict", "RUN", "a", "--engine-dtype", "int8"), "--engine-dtype belongs to --engine ctranslate2"),
        (("evaluate", "RUN", "--engine-dtype", ""), "--engine-dtype belongs to --engine ctranslate2"),
        (("evaluate", "RUN", "--reference", "x"), "--source and --reference belong together"),
        (("evaluate", "RUN", "--source", "x", "--reference", "x", "--yardsticks"), "leave out --yardsticks and"),
        (("compare", "copy", "--out", "x", "--budget", ""), "a budget is a time or steps"),
        (("compare", "copy", "--out", "x", "--long-sequences", ""), "--long-sequences takes whole numbers"),
        (("compare", "copy", "copy", "--out", "x"), "recipes need different names"),
        (("look", "RUN", ""), "text 1 is empty; give it some words"),
        (("search", "RUN", "lines.txt", ""), "query 1 is empty"),
    ],
)
def test_other_verbs_refuse_what_would_do_nothing(
    words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [kind("translation").run if word == "RUN" else word for word in words]
    assert told in regard(*given).error
    assert not list(tmp_path.iterdir())


def test_a_seed_is_no_negative_number() -> None:
    assert regard("check", kind("translation").run, "--seed", -1).code == 2

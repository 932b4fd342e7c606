"""Writing on: prompts of any length together, past the context, up to a stop string, piece by piece."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.core.errors import InputError
from regard.core.symbols import EOS
from regard.data.modalities.text.tokenizers import BpeTokenizer, CharacterTokenizer, Tokenizer
from regard.decoding.options import Beam, Greedy, Sampling, Strategy
from regard.tasks.running.continuation import Continuation, overlap

ALPHABET = "abcdefghij"
LETTERS = CharacterTokenizer().train([ALPHABET + " "])


class Alphabet(nn.Module):
    """After each letter comes the next one; after j, a. ``closes`` is followed by the end of the text."""

    def __init__(self, tokenizer: Tokenizer = LETTERS, closes: str = "") -> None:
        super().__init__()
        self.weight_WW = torch.full((tokenizer.size, tokenizer.size), -9.0)
        for one, other in zip(ALPHABET, ALPHABET[1:] + ALPHABET[0]):
            self.weight_WW[tokenizer.encode(one)[0], tokenizer.encode(other)[0]] = 2.0
        for one in closes:
            self.weight_WW[tokenizer.encode(one)[0], EOS] = 9.0
        self.weight_WW[EOS, tokenizer.encode("a")[0]] = 0.0
        self.rooms: list[tuple[int, int]] = []

    def start(self, source: tuple[int, int]) -> Counter:
        self.rooms.append(source)
        return Counter()

    def step(self, tokens_RT: Tensor, state: Counter) -> tuple[Tensor, Counter]:
        state.read += tokens_RT.shape[1]
        assert state.read <= self.rooms[-1][1], "more is read than room was asked for"
        return self.weight_WW[tokens_RT], state


class Counter:
    read = 0

    def reorder(self, rows: Tensor) -> Counter:
        return self


def writer(context: int = 0, closes: str = "") -> Continuation:
    return Continuation(Alphabet(closes=closes), LETTERS, torch.device("cpu"), context)


def texts(one: Continuation, prompts: list[str], options: Strategy, **named: Any) -> list[str]:
    return [answers[0].text for answers in one.predict(prompts, options, **named)]


@pytest.mark.parametrize("options", [Greedy(max_length=5), Beam(size=2, max_length=5)], ids=["greedy", "beam"])
def test_prompts_of_different_lengths_go_on_together(options: Strategy) -> None:
    one = writer()
    prompts = ["a", "abcde", "", "ghi", "bcdefgh"]
    found, expected = texts(one, prompts, options), ["bcdef", "fghij", "abcde", "jabcd", "ijabc"]
    if options.kind == "beam":  # which prefers an answer that ends by itself
        assert found == [text[:4] for text in expected]
    else:
        assert found == expected
        assert len(one.model.rooms) == 1, "all of them in one batch"  # type: ignore[attr-defined]


def test_sampling_together_is_sampling_alone() -> None:
    options = Sampling(max_length=9, temperature=20.0, seed=3)
    prompts = ["a", "abcde", "ghi"]
    together = texts(writer(), prompts, options)
    assert len(set(together)) == 3
    # A sample belongs to the prompt's place in the input; what stands beside it does not matter.
    assert texts(writer(), [*prompts[:2], "abcdefghij"], options)[:2] == together[:2]


@pytest.mark.parametrize("options", [Greedy(max_length=9), Sampling(max_length=9, temperature=20.0, seed=3)])
def test_a_long_prompt_beside_it_does_not_shorten_what_another_can_hold(options: Strategy) -> None:
    """Past its context a model reads the newer half again and draws anew; each prompt has its own end of context."""
    alone = texts(writer(context=12), ["abc"], options)
    assert texts(writer(context=12), ["abc", "abcdefghij"], options)[:1] == alone


def test_a_text_that_ends_is_over() -> None:
    assert texts(writer(closes="e"), ["a", "f"], Greedy(max_length=30)) == ["bcde", "ghijabcde"]


@pytest.mark.parametrize("options", [Greedy(max_length=23), Sampling(max_length=23, temperature=0.01)])
def test_writing_goes_on_past_the_context(options: Strategy) -> None:
    assert texts(writer(context=8), ["abc", "b"], options) == ["defghijabcdefghijabcdef", "cdefghijabcdefghijabcde"]


def test_a_prompt_beyond_the_context_is_refused_or_cut() -> None:
    one = writer(context=4)
    with pytest.raises(InputError, match=r"reads 4 .* 3 .*: input 2 \(5 tokens\), input 3 \(4 tokens\); .*--keep-end"):
        one.predict(["abc", "abcde", "abcd"], Greedy())
    assert texts(one, ["abc", "abcdefg"], Greedy(max_length=6), keep_end=True) == ["defghi", "hijabc"]


@pytest.mark.parametrize("context", [0, 5])
def test_an_answer_ends_before_a_stop_string(context: int) -> None:
    found = texts(writer(context), ["ab", "ghi"], Greedy(max_length=40), stop=["fg", "ijk"])
    assert found == ["cde", "jabcde"]
    assert texts(writer(), ["ab"], Beam(size=2, max_length=40), stop=["fg"]) == ["cde"]


@pytest.mark.parametrize("context", [0, 6])
def test_the_stream_is_the_answer_and_holds_back_what_may_be_a_stop(context: int) -> None:
    pieces: list[str] = []
    found = texts(writer(context), ["ab"], Greedy(max_length=40), stop=["hij"], stream=pieces.append)
    assert "".join(pieces) == found[0] == "cdefg"
    pieces.clear()
    texts(writer(context, closes="h"), ["ab"], Greedy(max_length=40), stop=["hx"], stream=pieces.append)
    assert "".join(pieces) == "cdefgh", "what was held back is told at the end"


def test_characters_of_several_bytes_arrive_whole() -> None:
    tokenizer = BpeTokenizer(vocabulary=270).train(["é🙂 é🙂"])
    said = tokenizer.encode("é🙂é")
    weight_WW = torch.full((tokenizer.size, tokenizer.size), -9.0)
    for one, other in zip([EOS, *said], [*said, EOS]):
        weight_WW[one, other] = 0.0
    model = Alphabet()
    model.weight_WW = weight_WW
    pieces: list[str] = []
    one = Continuation(model, tokenizer, torch.device("cpu"), 0)
    answer = one.predict([""], Greedy(max_length=40), stream=pieces.append)[0][0]
    assert "".join(pieces) == answer.text
    assert not any("\ufffd" in piece for piece in pieces)
    assert len(pieces) > 1


def test_what_was_said_becomes_less_probable() -> None:
    one = writer()
    one.model.weight_WW.clamp_(min=1.0)  # type: ignore[attr-defined]  # 2 for the next letter, 1 for any other
    options = Sampling(max_length=12, temperature=0.01)
    assert texts(one, ["gh"], options) == ["ijabcdefghij"]
    penalised = texts(one, ["gh"], options.model_copy(update={"repetition_penalty": 3.0}))[0]
    assert penalised.startswith("ijabcdef"), "nothing of this was said before"
    assert penalised[8:9] != "g", "2 / 3 is less than 1"


@pytest.mark.parametrize(
    ("text", "stop", "count"), [("abc", "cde", 1), ("abcd", "cde", 2), ("abc", "xyz", 0), ("", "a", 0)]
)
def test_overlap(text: str, stop: str, count: int) -> None:
    assert overlap(text, stop) == count

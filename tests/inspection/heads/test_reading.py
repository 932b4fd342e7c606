"""What is read off a run is what its heads did, with the right tokens beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.core.errors import InputError, OptionError
from regard.core.probe import Probe
from regard.core.taps import record
from regard.inspection.heads.names import every_head
from regard.inspection.heads.reading import read, read_probe
from regard.inspection.probes import probe, split_probes
from regard.runs.train import load_corpus
from tests.inspection.loud_runs import ATTENTIVE, MASKED, TEXT, WRITERS, loud
from tests.interop.untrained import TRANSLATOR, WRITER, saved, translator

every_family = pytest.mark.parametrize("family", ATTENTIVE)


def tokens(one: Probe) -> tuple[int, ...]:
    return tuple(one.inputs.values[0].tolist())


@every_family
def test_every_head_is_read_with_its_tokens(family: str) -> None:
    run = loud(family)
    found = read(run, TEXT)
    assert [(one.name, one.head) for one in found.heads] == every_head(run.model)
    asked = probe(run, TEXT)
    with torch.inference_mode(), record(run.model, "*") as seen:
        asked.run(run.model)
    for one in found.heads:
        weights_TS = np.array(one.weights_TS)
        assert weights_TS.shape == (len(one.rows), len(one.columns)) == (len(one.predicts), len(one.columns))
        expected = seen[one.name].weights[0, one.head].numpy()
        assert np.abs(weights_TS - expected).max() < 1e-6
        if family != "luong-predictive":  # a Gaussian takes its share
            assert weights_TS.sum(1) == pytest.approx(1.0, abs=1e-5)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["heads"][0]["name"] == found.heads[0].name


def test_a_translator_is_forced_to_its_own_answer_or_to_another() -> None:
    run = loud("transformer")
    own, given = read(run, TEXT, pattern="*.cross"), read(run, TEXT, "a dog", pattern="*.cross")
    assert "".join(own.source).replace("▁", " ") == TEXT + "<eos>"
    assert own.tokens[0] == "<sos>"
    assert "".join(own.predicts[:-1]).replace("▁", " ") == run.predict([TEXT])[0]
    assert given.predicts == ("a", "▁", "d", "o", "g", "<eos>")
    assert given.tokens == ("<sos>", "a", "▁", "d", "o", "g")
    one = given.head("decoder.layers.1.cross", 1)
    assert (one.kind, one.rows, one.columns, one.labels) == ("cross", given.tokens, given.source, given.predicts)
    with pytest.raises(OptionError, match=r"no head 7 of 'decoder\.layers\.1\.cross' was read; available: decoder"):
        given.head("decoder.layers.1.cross", 7)


def test_encoder_and_decoder_have_axes_of_their_own() -> None:
    found = read(loud("transformer"), TEXT, "a dog")
    kinds = {one.name: (one.kind, one.rows, one.columns) for one in found.heads}
    assert kinds["encoder.layers.0.attention"] == ("encoder", found.source, found.source)
    assert kinds["decoder.layers.0.attention"] == ("decoder", found.tokens, found.tokens)


def test_of_a_long_text_some_heads_and_rows() -> None:
    run = loud("llama")
    whole, some = read(run, TEXT), read(run, TEXT, pattern="*.1.*", heads=[3], rows=[2, 9])
    (one,) = some.heads
    there = whole.head("stack.layers.1.attention", 3)
    assert (one.name, one.head) == ("stack.layers.1.attention", 3)
    assert one.rows == (there.rows[2], there.rows[9])
    assert one.predicts == (there.rows[3], there.rows[10])
    assert np.array(one.weights_TS) == pytest.approx(np.array(there.weights_TS)[[2, 9]], abs=1e-6)


def test_masks_in_a_text_are_masks() -> None:
    run = loud("bert")
    asked = probe(run, "der [MASK] singt")
    assert asked.axis.labels[0] != "[MASK]"
    assert asked.axis.labels.count("[MASK]") == 1
    assert asked.asked == (asked.axis.labels.index("[MASK]"),)


@pytest.mark.parametrize("family", ["fixed-context", "recurrent"])
def test_a_model_without_attention_says_so(family: str) -> None:
    with pytest.raises(OptionError, match="has no attention, so there is nothing of it to see"):
        read(loud(family), TEXT)


def test_a_name_that_is_not_there_lists_what_is() -> None:
    with pytest.raises(OptionError, match=r"'crosss'; available: encoder\.layers\.0\.attention, "):
        read(loud("transformer"), TEXT, pattern="crosss")


@pytest.mark.parametrize(
    ("family", "message"),
    [("gpt", r"at most 48 tokens, and the text has \d+; shorten"), ("bert", "20 tokens, and the text, including")],
)
def test_what_is_too_long_is_refused_with_the_remedy(family: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read(loud(family), TEXT * 10)


def test_long_sources_and_targets_are_refused(tmp_path: Path) -> None:
    position: Any = {"kind": "learned", "max_length": 9}
    run = translator(tmp_path, {"position": position})
    with pytest.raises(InputError, match="the model has room for 8 pieces of a source"):
        read(run, TEXT)
    with pytest.raises(OptionError, match=r"at most 9 tokens, and the target, .* has 14; shorten it or split it"):
        read(run, "Hund", "the dog sings")


def test_a_split_is_asked_as_the_task_reads_it(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("der Hund singt\nein Vogel sieht den Hund\n" * 20, encoding="utf-8")
    data = {"kind": "text", "train": str(tmp_path / "lines.txt"), "validation_share": 0.3}
    writes = saved({**WRITER, "data": data, "model": WRITERS["gpt"]}, tmp_path / "gpt")
    found = split_probes(writes, "validation", examples=3)
    assert len(found) == 3
    assert found[0].inputs.values.shape[1] == writes.task.config.max_length
    assert found[0].expected[:-1] == tokens(found[0])[1:]
    guesses = saved({**MASKED, "data": data}, tmp_path / "bert")
    shown = split_probes(guesses, "validation", examples=4)
    specials = guesses.vocabularies.target.specials
    assert all((tokens(one)[0], tokens(one)[-1]) == (specials.sos, specials.eos) for one in shown)
    assert not any(specials.mask in tokens(one) for one in shown)
    for run, asked in ((writes, found), (guesses, shown)):
        assert len(read_probe(run, asked[0]).heads[0].rows) == len(asked[0].axis.labels)
    with pytest.raises(OptionError, match="no split 'dev' to ask about"):
        split_probes(writes, "dev")


def test_a_split_of_pairs_is_forced_to_its_targets(tmp_path: Path) -> None:
    data = {"kind": "toy", "problem": "copy", "train_size": 20, "validation_size": 6, "test_size": 2, "symbols": 6}
    run = saved({**TRANSLATOR, "data": data}, tmp_path)
    pairs = load_corpus(run.recipe).splits["validation"]
    for asked, pair in zip(split_probes(run), pairs, strict=True):
        given = probe(run, pair.source, pair.target)
        assert given.source is not None
        assert asked.source is not None
        assert tokens(asked) == tokens(given)
        assert asked.source.values.tolist() == given.source.values.tolist()
        assert asked.expected == given.expected


def test_only_translators_have_targets() -> None:
    with pytest.raises(OptionError, match="reads one text; leave the target out"):
        read(loud("gpt"), TEXT, "a dog")

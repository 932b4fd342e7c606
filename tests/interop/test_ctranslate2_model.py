"""Converted to CTranslate2 a model computes the same, whatever it is made of; what has no counterpart is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ctranslate2 as library
import pytest
import torch

from regard.core.errors import OptionError, RunError
from regard.interop.ctranslate2.conversion import convert
from regard.interop.ctranslate2.engine import Ctranslate2Engine, engine_of
from regard.interop.exporting import export
from regard.runs.load import Run
from tests.interop import untrained
from tests.interop.untrained import SOURCES, TARGETS

EXACT = 1e-4
GATED = {"kind": "gated", "width": 40}
STRETCHED = {"kind": "rotary", "base": 500.0, "scaling": {"kind": "linear", "factor": 3.0}}
TRANSLATORS: dict[str, dict[str, Any]] = {
    "post-norm, relu, sinusoids, all tied": {},
    "pre-norm, gelu": {"norm": "pre", "feed_forward": {"width": 40, "activation": "gelu"}},
    "gelu by tanh, learned positions": {
        "feed_forward": {"width": 40, "activation": "gelu-tanh"}, "position": {"kind": "learned", "max_length": 90},
    },
    "gated, rotary, pre-norm": {"norm": "pre", "feed_forward": GATED, "position": {"kind": "rotary"}},
    "rotary positions stretched": {"position": STRETCHED},
    "grouped heads, nothing tied": {"heads": 4, "groups": 2, "tied": "none"},
    "one key head, output tied, a bias": {"heads": 4, "groups": 1, "tied": "output", "output_bias": True},
    "heads wider than their share": {"key_width": 8, "value_width": 8},
    "an odd width": {"width": 27, "heads": 3},
    "a score without its scale": {"attention": {"score": "dot", "temperature": 2.5}},
    "a warmer softmax": {"attention": {"temperature": 1.7}},
    "binary positions": {"position": {"kind": "reversed-binary", "join": "add"}},
}  # fmt: skip
WRITERS: dict[str, dict[str, Any]] = {
    "gpt": {},
    "gpt, untied, rotary": {"tied": "none", "position": {"kind": "rotary"}},
    "gpt, norms of queries and keys": {"head_norm": {"kind": "rms"}},
    "gpt, sinusoids, rms norm": {"position": {"kind": "sinusoidal"}, "norm": {"kind": "rms", "epsilon": 1e-3}},
    "llama, grouped heads": {"kind": "llama", "groups": 2},
    "llama, wide heads, tied": {"kind": "llama", "groups": 1, "key_width": 10, "tied": "output"},
    "llama, stretched, plain layers": {
        "kind": "llama", "position": STRETCHED, "feed_forward": {"kind": "plain", "width": 30, "activation": "silu"},
    },
}  # fmt: skip


def scores(run: Run, engine: Any) -> list[torch.Tensor]:
    pairs = run.vocabularies.source.encode_batch(SOURCES), run.vocabularies.target.encode_batch(TARGETS)
    return [torch.tensor(one) for one in engine.score(*pairs)]


def largest(one: list[torch.Tensor], other: list[torch.Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True))


@torch.inference_mode()
def log_probabilities(run: Run, tokens_BT: torch.Tensor) -> torch.Tensor:
    model: Any = run.model
    return model.head(model(tokens_BT)).log_softmax(-1)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_scores_the_same(tmp_path: Path, name: str) -> None:
    run = untrained.translator(tmp_path / "run", TRANSLATORS[name])
    ours, theirs = scores(run, run.engine), scores(run, engine_of(run))
    assert max(float(one.std()) for one in ours) > 0.5, "a model that finds all the same would prove nothing"
    assert largest(ours, theirs) < EXACT


def test_each_side_may_have_its_own_vocabulary(tmp_path: Path) -> None:
    run = untrained.translator(tmp_path / "run", tokenizer={"joint": False})
    assert run.vocabularies.source.size != run.vocabularies.target.size
    assert largest(scores(run, run.engine), scores(run, engine_of(run))) < EXACT


@pytest.mark.parametrize("name", WRITERS)
def test_a_language_model_finds_every_symbol_as_probable(tmp_path: Path, name: str) -> None:
    run = untrained.writer(tmp_path / "run", WRITERS[name])
    tokens_BT = torch.randint(4, run.vocabularies.target.size, (3, 20), generator=torch.Generator().manual_seed(2))
    ours_BTW = log_probabilities(run, tokens_BT)
    assert ours_BTW.std() > 0.5
    assert (engine_of(run).log_probabilities(tokens_BT) - ours_BTW).abs().max() < EXACT


def test_an_export_is_opened_without_us(tmp_path: Path) -> None:
    """Pieces of the tokenizer that went along, in; pieces out."""
    run = untrained.translator(tmp_path / "run", {"norm": "pre"}, decoding={"kind": "greedy", "max_length": 9})
    exported = export(tmp_path / "run", "ctranslate2", tmp_path / "out", "int8")
    assert (exported.architecture, exported.loader) == ("TransformerSpec", "Translator")
    assert exported.parameters == sum(weight.numel() for weight in run.model.parameters())
    tokenizer = run.vocabularies.source.load(tmp_path / "out" / "tokenizer.json")
    theirs = library.Translator(str(tmp_path / "out"))
    pieces = [tokenizer.raw.id_to_token(id) for id in tokenizer.encode(SOURCES[0])]
    (answer,) = theirs.translate_batch([pieces], beam_size=1, max_decoding_length=9)
    whole = [tokenizer.raw.token_to_id(piece) for piece in answer.hypotheses[0]]
    assert len(whole) == 9
    assert None not in whole


def test_all_that_is_in_the_way_is_named_at_once(tmp_path: Path) -> None:
    model = {
        "attention": {"score": "bilinear"}, "position": {"kind": "relative-bias"}, "cross": "own", "encoder_layers": 3,
        "feed_forward": {"width": 8, "activation": "squared-relu"}, "key_width": 8, "value_width": 12,
    }  # fmt: skip
    untrained.translator(tmp_path / "run", model)
    with pytest.raises(OptionError) as refused:
        export(tmp_path / "run", "ctranslate2", tmp_path / "out")
    said = str(refused.value)
    for part in (
        "5 problems", "model.attention.score = 'bilinear'", "model.position.kind = 'relative-bias'",
        "model.cross = 'own'; it has 'last' only", "'squared-relu'", "keys 8 wide and values 12",
    ):  # fmt: skip
        assert part in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"position": {"kind": "learned", "join": "concatenate"}}, "model.position.join = 'concatenate'"),
        ({"position": {"kind": "none"}}, "model.position.kind = 'none'"),
        ({"head_norm": {"kind": "rms"}}, "model.head_norm.kind = 'rms'"),
        ({"attention": {"temperature": 0.0}}, "no hard lookup"),
        ({"encoder_layers": 0}, "model.encoder_layers = 0"),
        ({"feed_forward": {"kind": "experts"}}, "model.feed_forward.kind = 'experts'"),
        ({"projection": {"kind": "latent"}}, "model.projection.kind = 'latent'"),
    ],
)
def test_one_reason_is_enough(tmp_path: Path, model: dict[str, Any], said: str) -> None:
    run = untrained.translator(tmp_path / "run", model)
    with pytest.raises(OptionError, match=said):
        convert(run, tmp_path / "out")


def test_frequencies_of_llama_3_are_refused(tmp_path: Path) -> None:
    run = untrained.writer(
        tmp_path / "run", {"kind": "llama", "position": {"kind": "rotary", "scaling": {"kind": "llama3"}}}
    )
    with pytest.raises(OptionError, match=r"model\.position\.scaling\.kind = 'llama3'"):
        engine_of(run)


def test_a_choice_of_weights_is_refused_where_there_is_none(tmp_path: Path) -> None:
    untrained.translator(tmp_path / "run")
    with pytest.raises(OptionError, match="leave out --dtype"):
        export(tmp_path / "run", "huggingface", tmp_path / "out", "int8")
    with pytest.raises(OptionError, match="known: float32, int8"):
        export(tmp_path / "run", "ctranslate2", tmp_path / "out", "float16")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match="is not empty"):
        export(tmp_path / "run", "ctranslate2", tmp_path / "out")


def test_a_conversion_is_kept_and_made_anew_for_other_weights(tmp_path: Path) -> None:
    run = untrained.translator(tmp_path / "run")
    first: Ctranslate2Engine = engine_of(run)
    made = (first.folder / "model.bin").stat().st_mtime_ns
    assert first.folder.parent == tmp_path / "run" / "ctranslate2"
    assert (engine_of(run).folder / "model.bin").stat().st_mtime_ns == made, "the one of before"
    before = scores(run, first)
    untrained.shake(run.model, seed=2)
    second = engine_of(run)
    assert second.folder != first.folder
    assert largest(scores(run, run.engine), scores(run, second)) < EXACT
    assert largest(before, scores(run, second)) > EXACT
    assert [folder.name for folder in second.folder.parent.iterdir()] == [second.folder.name], "the old one is gone"

"""Llama's relatives: which family a model is written as, how layers are told apart, what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from regard.core.config import parse
from regard.core.errors import OptionError, RunError
from regard.interop.huggingface.families.deepseek import V2, V3
from regard.interop.huggingface.families.family import Family
from regard.interop.huggingface.families.known import family_of_model
from regard.interop.huggingface.families.llama import LLAMA
from regard.interop.huggingface.families.mistral import MISTRAL
from regard.interop.huggingface.families.mixtral import MIXTRAL
from regard.interop.huggingface.families.qwen import QWEN2, QWEN3
from regard.runs.recipe import Recipe

EXPERTS = {"kind": "experts", "shared": 1}
SIGMOID = {**EXPERTS, "scores": "sigmoid", "groups": 2, "group_best": 2, "balance": {"kind": "bias"}}
LATENT = {"kind": "latent", "rank": 8, "key_width": 4, "rotary_width": 2, "value_width": 4}
WINDOW = {"kind": "window", "size": 7}


def table(**parts: Any) -> dict[str, Any]:
    made = parse(Recipe, {"model": {"kind": "llama", "layers": 3, "width": 16, "heads": 4, "max_length": 64, **parts}})
    return made.model.settled().model_dump()


def written(**parts: Any) -> dict[str, Any]:
    own = table(**parts)
    return family_of_model(own, {}, "the run", headed=False).config(own, {}, "the run")


@pytest.mark.parametrize(
    ("parts", "family"),
    [
        ({}, LLAMA),
        ({"attention": WINDOW}, MISTRAL),
        ({"feed_forward": {"kind": "experts"}}, MIXTRAL),
        ({"feed_forward": {"kind": "experts"}, "attention": WINDOW}, MIXTRAL),
        ({"projection": {"biases": "qkv"}, "attention": WINDOW}, QWEN2),
        ({"head_norm": {"kind": "rms"}, "projection": {"biases": "all"}}, QWEN3),
        ({"projection": LATENT, "feed_forward": SIGMOID}, V3),
        ({"projection": LATENT, "feed_forward": EXPERTS}, V2),
    ],
    ids=["llama", "mistral", "mixtral", "mixtral with a window", "qwen2", "qwen3", "deepseek-v3", "deepseek-v2"],
)
def test_parts_decide_the_family(parts: dict[str, Any], family: Family) -> None:
    assert family_of_model(table(**parts), {}, "the run", headed=False) is family


@pytest.mark.parametrize(
    ("pattern", "kinds", "first"),
    [
        (["full", "local"], ["full", "local", "full"], 1),
        (["local", "full", "full"], ["local", "full", "full"], 0),
    ],
    ids=["begins anew", "first"],
)
def test_layers_with_and_without_a_window(pattern: list[str], kinds: list[str], first: int) -> None:
    attention = {"kind": "alternating", "pattern": pattern, "local": WINDOW}
    config = written(head_norm={"kind": "rms", "epsilon": 1e-5}, attention=attention)
    words = {"full": "full_attention", "local": "sliding_attention"}
    assert config["layer_types"] == [words[kind] for kind in kinds]
    assert (config["use_sliding_window"], config["sliding_window"], config["max_window_layers"]) == (True, 7, first)
    again = QWEN3.table(config, "config.json")
    assert again["attention"]["pattern"] == tuple(kinds)
    assert again["attention"]["local"] == WINDOW


def test_the_last_layers_have_the_window_where_layer_types_are_not_said() -> None:
    config = {"num_hidden_layers": 4, "use_sliding_window": True, "sliding_window": 7, "max_window_layers": 3}
    assert QWEN2.table(config, "config.json")["attention"]["pattern"] == ("full", "full", "full", "local")
    unused = {**config, "use_sliding_window": False}
    assert QWEN2.table(unused, "config.json")["attention"]["kind"] == "softmax"
    assert QWEN2.table({**config, "max_window_layers": 0}, "config.json")["attention"] == WINDOW


def test_what_a_silent_config_means() -> None:
    assert MISTRAL.table({}, "config.json")["attention"] == {"kind": "window", "size": 4096}
    assert MISTRAL.table({"sliding_window": None}, "config.json")["attention"]["kind"] == "softmax"
    mixtral = MIXTRAL.table({}, "config.json")
    assert (mixtral["attention"]["kind"], mixtral["position"]["base"]) == ("softmax", 1e6)
    assert mixtral["feed_forward"]["balance"] == {"kind": "loss", "weight": 0.001}
    v3 = V3.table({}, "config.json")
    assert (v3["layers"], v3["width"], v3["projection"]["rank"], v3["feed_forward"]["experts"]) == (61, 7168, 512, 256)


def test_scores_that_yarn_multiplies() -> None:
    """(0.1 · 0.707 ln 40 + 1)² for DeepSeek-V2, whose queries and keys keep their lengths; and back."""
    weights = {"mscale": 0.707, "mscale_all_dim": 0.707}
    rope = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, **weights}
    read = V2.table({"rope_scaling": rope}, "config.json")
    assert read["projection"]["score_scale"] == pytest.approx(1.5896, abs=1e-4)
    scaling = {"kind": "yarn", "factor": 40, "trained": 4096, "fast": 32.0, "slow": 1.0, "length": 1.0}
    assert read["position"]["scaling"] == scaling
    again = written(
        projection={**LATENT, "score_scale": read["projection"]["score_scale"]},
        feed_forward={**EXPERTS, "normalised": False},
        position={"kind": "rotary", "scaling": {**scaling, "factor": 40.0}},
    )["rope_scaling"]  # fmt: skip
    assert again["mscale_all_dim"] == pytest.approx(0.707, abs=1e-9)
    assert again["attention_factor"] == 1.0


@pytest.mark.parametrize(
    ("family", "config", "words"),
    [
        (QWEN2, {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}, "give it no window"),
        (QWEN3, {"num_hidden_layers": 2, "layer_types": ["full_attention"]}, "layer_types = ['full_attention']; 2 of"),
        (QWEN3, {"num_hidden_layers": 1, "layer_types": ["chunked_attention"]}, "['chunked_attention']; 1 of"),
        (QWEN3, {"rope_scaling": {"rope_type": "dynamic"}}, "rope_scaling.rope_type = 'dynamic'; known: 'default'"),
        (V3, {"scoring_func": "softmax"}, "scoring_func = 'softmax', but only 'sigmoid' is supported"),
        (V3, {"rope_interleave": False}, "rope_interleave = False, but only True is supported"),
        (V3, {"topk_method": "greedy"}, "topk_method = 'greedy', but only 'noaux_tc' is supported"),
        (V3, {"moe_layer_freq": 2}, "moe_layer_freq = 2, but only 1 is supported"),
        (V3, {"num_attention_heads": 4, "num_key_value_heads": 2}, "latent heads have as many as num_attention_heads"),
        (V3, {"attention_bias": True}, "attention_bias = True, but only False is supported"),
        (V2, {"norm_topk_prob": True}, "norm_topk_prob = True, but only False is supported"),
        (V2, {"topk_method": "other"}, "topk_method = 'other'; known: 'greedy', 'group_limited_greedy'"),
        (V2, {"topk_method": "group_limited_greedy", "n_group": 2}, "topk_group is missing"),
        (MIXTRAL, {"novel": 1}, "novel = 1 is not known here"),
    ],
    ids=lambda value: "" if isinstance(value, Family | str) else next(reversed(value)),
)
def test_what_is_not_computed_is_refused_by_name(family: Family, config: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError) as caught:
        family.table(config, "config.json")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"attention": {"kind": "alternating"}}, "model.attention.kind = 'alternating'; they have 'softmax' only"),
        (
            {"attention": {"kind": "top-k"}, "projection": {"biases": "qkv"}},
            "model.attention.kind = 'top-k'; they have 'softmax', 'window' and 'alternating' only",
        ),
        (
            {"head_norm": {"kind": "rms", "epsilon": 1e-3}},
            "model.head_norm.epsilon = 0.001; they have 1e-05, the number of all norms, only",
        ),
        (
            {"feed_forward": {"kind": "experts", "balance": {"kind": "bias"}}},
            "model.feed_forward.balance.kind = 'bias'; they choose experts by their scores only",
        ),
        (
            {"feed_forward": {"kind": "experts", "shared": 2}},
            "model.feed_forward.shared = 2; they have 0 only",
        ),
        (
            {"projection": LATENT, "feed_forward": {**SIGMOID, "shared": 0}},
            "model.feed_forward.shared = 0; they have one at least",
        ),
        (
            {"projection": {**LATENT, "rank": 0}, "feed_forward": SIGMOID},
            "model.projection.rank = 0; they need a number: say it in the recipe",
        ),
        (
            {"projection": {**LATENT, "score_scale": 1.5}, "feed_forward": SIGMOID},
            "model.projection.score_scale = 1.5; they multiply scores where positions are stretched by YaRN only",
        ),
        ({"projection": LATENT}, "model.feed_forward.kind = 'gated'; they have 'experts' only"),
        (
            {"projection": LATENT, "feed_forward": {**SIGMOID, "balance": {"kind": "loss"}}},
            "model.feed_forward.balance.kind = 'loss'; they have 'bias' only",
        ),
        (
            {"projection": LATENT, "feed_forward": EXPERTS, "attention": WINDOW},
            "model.attention.kind = 'window'; they have 'softmax' only",
        ),
    ],
    ids=[
        "alternating", "top-k", "epsilon", "bias", "shared", "none shared", "rank", "scale", "dense", "loss", "window",
    ],
)  # fmt: skip
def test_parts_that_no_relative_has_are_refused_by_name(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        written(**parts)
    assert words in str(caught.value)

"""Small models of other people's making: random weights in every tensor, a tokenizer, saved as they save them."""

from __future__ import annotations

import os
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import tokenizers as library
import torch
from safetensors.torch import load_file, save_file
from tokenizers import decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    DeepseekV2Config,
    DeepseekV2ForCausalLM,
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    logging,
)

import regard
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.load import Run

logging.set_verbosity_error()
logging.disable_progress_bar()

END = "<|endoftext|>"
TEXT = "the small green house on a hill sees two old trees and one quiet river today, " * 4
PIECES = 290
CONTEXT = 256


def gpt2(**settings: Any) -> GPT2LMHeadModel:
    sizes = {"n_layer": 3, "n_embd": 40, "n_head": 5, "n_positions": CONTEXT, "vocab_size": PIECES}
    ends = {"bos_token_id": PIECES - 1, "eos_token_id": PIECES - 1}
    return shaken(GPT2LMHeadModel, GPT2Config(**{**sizes, **ends, **settings}))


SIZES = {
    "num_hidden_layers": 3, "hidden_size": 40, "num_attention_heads": 5, "num_key_value_heads": 1,
    "intermediate_size": 52, "max_position_embeddings": CONTEXT, "vocab_size": PIECES,
    "bos_token_id": PIECES - 1, "eos_token_id": PIECES - 1,
}  # fmt: skip


def llama(**settings: Any) -> LlamaForCausalLM:
    return shaken(LlamaForCausalLM, LlamaConfig(**{**SIZES, **settings}))


def mistral(**settings: Any) -> MistralForCausalLM:
    return shaken(MistralForCausalLM, MistralConfig(**{**SIZES, **settings}))


def mixtral(**settings: Any) -> MixtralForCausalLM:
    return shaken(MixtralForCausalLM, MixtralConfig(**{**SIZES, "num_local_experts": 5, **settings}))


def qwen2(**settings: Any) -> Qwen2ForCausalLM:
    return shaken(Qwen2ForCausalLM, Qwen2Config(**{**SIZES, **settings}))


def qwen3(**settings: Any) -> Qwen3ForCausalLM:
    return shaken(Qwen3ForCausalLM, Qwen3Config(**{**SIZES, "head_dim": 14, **settings}))


LATENT = {
    "num_key_value_heads": None, "kv_lora_rank": 14, "q_lora_rank": 11, "qk_nope_head_dim": 8, "qk_rope_head_dim": 6,
    "v_head_dim": 10, "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 12,
    "n_shared_experts": 2, "first_k_dense_replace": 1,
}  # fmt: skip


def deepseek_v3(**settings: Any) -> DeepseekV3ForCausalLM:
    groups = {"n_group": 4, "topk_group": 2}
    return shaken(DeepseekV3ForCausalLM, DeepseekV3Config(**{**SIZES, **LATENT, **groups, **settings}))


def deepseek_v2(**settings: Any) -> DeepseekV2ForCausalLM:
    return shaken(DeepseekV2ForCausalLM, DeepseekV2Config(**{**SIZES, **LATENT, **settings}))


def shaken(family: Any, config: Any) -> Any:
    """No weight is 0 or 1, so that none can be confused with another or left out."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        model = family(config)
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.add_(torch.randn_like(buffer) * 0.1)
    return model.eval()


# Nothing below has the value that it would have here by default.
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 5000.0}
YARN = {"rope_type": "yarn", "factor": 6.0, "original_max_position_embeddings": 64, "rope_theta": 500.0}
LLAMA3 = {
    "rope_type": "llama3", "factor": 6.0, "low_freq_factor": 1.5, "high_freq_factor": 5.0,
    "original_max_position_embeddings": 64, "rope_theta": 500.0,
}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": gpt2,
    "gpt2 untied, narrow, relu": lambda: gpt2(
        tie_word_embeddings=False, n_inner=52, activation_function="relu", layer_norm_epsilon=1e-3
    ),
    "llama": lambda: llama(rms_norm_eps=1e-3),
    "llama tied, all heads": lambda: llama(tie_word_embeddings=True, num_key_value_heads=None),
    "llama linear, wide heads": lambda: llama(rope_parameters=LINEAR, head_dim=14),
    "llama llama3, two groups": lambda: llama(
        rope_parameters=LLAMA3, num_attention_heads=4, num_key_value_heads=2, hidden_act="gelu"
    ),
    "mistral": lambda: mistral(sliding_window=6, rms_norm_eps=1e-3),
    "mistral without window": lambda: mistral(sliding_window=None, head_dim=14),
    "mixtral": lambda: mixtral(sliding_window=6, num_attention_heads=4, num_key_value_heads=2),
    "mixtral of one": lambda: mixtral(num_experts_per_tok=1, tie_word_embeddings=True),
    "qwen2": lambda: qwen2(rms_norm_eps=1e-3, tie_word_embeddings=True),
    "qwen2 with windows": lambda: qwen2(
        use_sliding_window=True, sliding_window=6, max_window_layers=1, num_attention_heads=4, num_key_value_heads=2
    ),
    "qwen3": lambda: qwen3(rms_norm_eps=1e-3, rope_parameters={**YARN, "beta_fast": 6.0, "beta_slow": 2.0}),
    "qwen3 with biases": lambda: qwen3(
        attention_bias=True, use_sliding_window=True, sliding_window=6, max_window_layers=0, num_key_value_heads=None
    ),
    "deepseek-v3": lambda: deepseek_v3(
        rms_norm_eps=1e-3, rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 0.7}
    ),
    "deepseek-v3, plain queries": lambda: deepseek_v3(
        q_lora_rank=None, n_group=1, topk_group=1, norm_topk_prob=False, first_k_dense_replace=0,
        routed_scaling_factor=1.5,
    ),
    "deepseek-v2": lambda: deepseek_v2(rms_norm_eps=1e-3),
    "deepseek-v2 with groups": lambda: deepseek_v2(
        topk_method="group_limited_greedy", n_group=4, topk_group=2, q_lora_rank=None, routed_scaling_factor=1.5
    ),
}


def pieces() -> library.Tokenizer:
    """Byte pairs as GPT-2 has them, the end of a text as the last piece."""
    raw = library.Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=PIECES - 1, initial_alphabet=alphabet, show_progress=False)
    raw.train_from_iterator([TEXT], trainer)
    raw.add_special_tokens([END])
    assert raw.get_vocab_size() == PIECES
    return raw


def save(model: Any, folder: Path, **options: Any) -> Path:
    """A folder with everything in it."""
    model.save_pretrained(folder, **options)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces(), bos_token=END, eos_token=END, unk_token=END)
    tokenizer.save_pretrained(folder)
    return folder


def tokens(*shape: int, seed: int = 3) -> Tensor:
    return torch.randint(0, PIECES - 1, shape, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def their_logits(model: Any, tokens_BT: Tensor, **inputs: Any) -> Tensor:
    return model(tokens_BT, **inputs).logits


@torch.no_grad()
def our_logits(run: Run, tokens_BT: Tensor) -> Tensor:
    model: Any = run.model
    return model.head(model(tokens_BT))


def furthest(one: Tensor, other: Tensor) -> float:
    assert one.shape == other.shape
    return float((one - other).abs().max())


Imported = tuple[Any, Run, Path]
"""A model of theirs, the run that was made of it, and their folder."""


def imported(folder: Path, **options: Any) -> Run:
    run = folder.with_name(f"{folder.name}-run")
    import_folder(folder, run, **options)
    return regard.load(run)


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], None]) -> Path:
    held = load_file(folder / "model.safetensors")
    change(held)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def check_tensors_return(theirs: Any, run: Run, folder: Path, out: Path, but: Set[str] = frozenset()) -> None:
    """Exported again, what was imported from the folder has the same architecture, names and, but for some, values."""
    assert export(run.folder.path, "huggingface", out).architecture == type(theirs).__name__
    before, after = (load_file(own / "model.safetensors") for own in (folder, out))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in after.keys() - but)

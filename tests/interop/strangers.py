"""Small models of other people's making: random weights in every tensor, a tokenizer, saved as they save them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import tokenizers as library
import torch
from safetensors.torch import load_file, save_file
from tokenizers import decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    logging,
)

import regard
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


def llama(**settings: Any) -> LlamaForCausalLM:
    sizes = {
        "num_hidden_layers": 3, "hidden_size": 40, "num_attention_heads": 5, "num_key_value_heads": 1,
        "intermediate_size": 52, "max_position_embeddings": CONTEXT, "vocab_size": PIECES,
    }  # fmt: skip
    ends = {"bos_token_id": PIECES - 1, "eos_token_id": PIECES - 1}
    return shaken(LlamaForCausalLM, LlamaConfig(**{**sizes, **ends, **settings}))


def shaken(family: Any, config: Any) -> Any:
    """No weight is 0 or 1, so that none can be confused with another or left out."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        model = family(config)
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    return model.eval()


# Nothing below has the value that it would have here by default.
LINEAR = {"rope_type": "linear", "factor": 3.0, "rope_theta": 5000.0}
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

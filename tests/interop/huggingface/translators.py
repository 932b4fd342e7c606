"""Small encoder–decoders of other people's making, and how they and ours are asked the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers as library
import torch
from tokenizers import decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import (
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedTokenizerFast,
)

from regard.runs.load import Run
from tests.interop.huggingface import strangers
from tests.interop.huggingface.strangers import shaken

PIECES, LONGEST = 277, 256
END, UNKNOWN, PAD = 0, 1, PIECES - 1  # as Marian has them; what pads also opens an answer
NAMES = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
PORTS = {
    "d_model": 24, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 3,
    "decoder_attention_heads": 3, "encoder_ffn_dim": 52, "decoder_ffn_dim": 52, "vocab_size": PIECES,
    "max_position_embeddings": LONGEST, "scale_embedding": True, "decoder_start_token_id": PAD,
    "pad_token_id": PAD, "eos_token_id": END, "forced_eos_token_id": None,
}  # fmt: skip


def marian(**settings: Any) -> MarianMTModel:
    return biased(shaken(MarianMTModel, MarianConfig(**{**PORTS, "activation_function": "swish", **settings})))


def pegasus(**settings: Any) -> PegasusForConditionalGeneration:
    return biased(shaken(PegasusForConditionalGeneration, PegasusConfig(**{**PORTS, **settings})))


@torch.no_grad()
def biased(model: Any) -> Any:
    """A bias that says something, as real ones do; positions are what they always are; answers that change."""
    for name, weight in model.named_parameters():
        if name.endswith(("fc1.weight", "fc2.weight")):
            weight.mul_(4.0)
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.weight.copy_(side.embed_positions.create_weight())
    model.final_logits_bias.copy_(0.2 * torch.randn(1, PIECES, generator=torch.Generator().manual_seed(5)))
    return model


def unbiased(model: Any) -> Any:
    model.final_logits_bias.zero_()
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "marian": marian,
    "marian without a bias, odd width": lambda: unbiased(marian(d_model=27)),
    "marian with two embeddings, relu": lambda: marian(
        share_encoder_decoder_embeddings=False, activation_function="relu"
    ),
    "marian with nothing tied": lambda: marian(share_encoder_decoder_embeddings=False, tie_word_embeddings=False),
    "pegasus": lambda: pegasus(activation_function="gelu_new"),
}


def pieces() -> library.Tokenizer:
    raw = library.Tokenizer(models.BPE(unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES - 1, initial_alphabet=alphabet, special_tokens=["</s>", "<unk>"], show_progress=False
    )
    raw.train_from_iterator([strangers.TEXT], trainer)
    raw.add_special_tokens(["<pad>"])
    raw.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    assert raw.token_to_id("<pad>") == PAD
    return raw


def save(model: Any, folder: Path, **options: Any) -> Path:
    model.save_pretrained(folder, **options)
    PreTrainedTokenizerFast(tokenizer_object=pieces(), **NAMES).save_pretrained(folder)
    return folder


Asked = tuple[Tensor, Tensor, Tensor]


def asked(pieces: int, lengths: tuple[int, ...], targets: int, end: int, pad: int) -> Asked:
    """Sources of these lengths, filled up; the lengths; the answers so far."""
    generator = torch.Generator().manual_seed(3)
    source_BS = torch.randint(4, pieces - 1, (len(lengths), max(lengths)), generator=generator)
    for row, length in enumerate(lengths):
        source_BS[row, length - 1] = end
        source_BS[row, length:] = pad
    target_BT = torch.randint(4, pieces - 1, (len(lengths), targets), generator=generator)
    return source_BS, torch.tensor(lengths), target_BT


@torch.no_grad()
def our_logits(run: Run, one: Asked) -> Tensor:
    model: Any = run.model
    return model.head(model(*one))


@torch.no_grad()
def their_logits(model: Any, one: Asked) -> Tensor:
    source_BS, lengths_B, target_BT = one
    there_BS = (torch.arange(source_BS.shape[1]) < lengths_B[:, None]).long()
    return model(input_ids=source_BS, attention_mask=there_BS, decoder_input_ids=target_BT).logits


def shown(one: Asked) -> dict[str, Tensor]:
    """The sources as ``generate`` takes them."""
    source_BS, lengths_B, _ = one
    return {"input_ids": source_BS, "attention_mask": (torch.arange(source_BS.shape[1]) < lengths_B[:, None]).long()}

"""Small encoders of other people's making, with tokenizers as BERT and RoBERTa have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers as library
import torch
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
)

from regard.data.modalities.text.word_pieces import bert_rules, enclosing
from tests.interop.huggingface.strangers import TEXT, shaken

BERT_SYMBOLS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SYMBOLS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
LONGEST = 20


def word_pieces() -> library.Tokenizer:
    raw = bert_rules(models.WordPiece(unk_token="[UNK]"), lower=True)
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=list(BERT_SYMBOLS), show_progress=False)
    raw.train_from_iterator([TEXT], trainer)
    raw.post_processor = enclosing("[CLS]", 2, "[SEP]", 3)
    return raw


def byte_pairs() -> library.Tokenizer:
    raw = library.Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=list(ROBERTA_SYMBOLS[:4]), show_progress=False
    )
    raw.train_from_iterator([TEXT], trainer)
    raw.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    raw.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    return raw


WORD_PIECES, BYTE_PAIRS = word_pieces(), byte_pairs()
ENCODER = {
    "num_hidden_layers": 3, "hidden_size": 40, "num_attention_heads": 5, "intermediate_size": 52,
    "max_position_embeddings": LONGEST, "vocab_size": WORD_PIECES.get_vocab_size(),
}  # fmt: skip
ROBERTA = {
    **ENCODER, "vocab_size": BYTE_PAIRS.get_vocab_size(), "type_vocab_size": 1, "max_position_embeddings": LONGEST + 2,
    "layer_norm_eps": 1e-5,
}  # fmt: skip
DISTILBERT = {
    "n_layers": 3, "dim": 40, "n_heads": 5, "hidden_dim": 52, "max_position_embeddings": LONGEST,
    "vocab_size": WORD_PIECES.get_vocab_size(),
}  # fmt: skip


def bert(family: Any = BertForMaskedLM, **settings: Any) -> Any:
    return shaken(family, BertConfig(**{**ENCODER, **settings}))


def roberta(family: Any = RobertaForMaskedLM, **settings: Any) -> Any:
    return shaken(family, RobertaConfig(**{**ROBERTA, **settings}))


def distilbert(family: Any = DistilBertForMaskedLM, **settings: Any) -> Any:
    return shaken(family, DistilBertConfig(**{**DISTILBERT, **settings}))


WHOLE: dict[str, Callable[[], Any]] = {
    "bert": bert,
    "bert relu, wide, loose, three segments": lambda: bert(
        hidden_act="relu", intermediate_size=70, layer_norm_eps=1e-3, type_vocab_size=3
    ),
    "bert with next sentences": lambda: bert(BertForPreTraining),
    "roberta": roberta,
    "roberta two segments": lambda: roberta(type_vocab_size=2),
    "distilbert": distilbert,
    "distilbert relu": lambda: distilbert(activation="relu"),
}
BODIES: dict[str, Callable[[], Any]] = {
    "bert": lambda: bert(BertModel),
    "roberta": lambda: roberta(RobertaModel),
    "distilbert": lambda: distilbert(DistilBertModel),
}


def save(model: Any, folder: Path) -> Path:
    """A folder with everything in it."""
    model.save_pretrained(folder)
    if model.config.model_type == "roberta":
        raw, (first, pad, last, unknown, mask) = BYTE_PAIRS, ROBERTA_SYMBOLS
    else:
        raw, (pad, unknown, first, last, mask) = WORD_PIECES, BERT_SYMBOLS
    PreTrainedTokenizerFast(
        tokenizer_object=raw, cls_token=first, sep_token=last, pad_token=pad, unk_token=unknown,
        mask_token=AddedToken(mask, lstrip=mask == "<mask>", normalized=False, special=True),
    ).save_pretrained(folder)  # fmt: skip
    return folder


def padded(model: Any, *lengths: int) -> tuple[Tensor, Tensor]:
    """Random tokens without padding inside a text, filled up on the right; and the lengths."""
    symbols, pad = model.config.vocab_size, model.config.pad_token_id
    tokens_BS = torch.randint(5, symbols, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(3))
    tokens_BS[torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]] = pad
    return tokens_BS, torch.tensor(lengths)


def there(tokens_BS: Tensor, lengths_B: Tensor) -> Tensor:
    return torch.arange(tokens_BS.shape[1]) < lengths_B[:, None]

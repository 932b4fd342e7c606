"""What is proposed for each question: tokenizer, family of model, training and decoding, with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from regard.core import rules
from regard.core.errors import DataError
from regard.data.discovery.found import Discovery, PictureFacts, TextFacts
from regard.runs.automatic.proposal import Decision, Proposal, Size


def translation(found: Discovery) -> Proposal:
    """From text to text: an encoder–decoder Transformer."""
    source, target = _texts(found.inputs), _texts(found.outputs)
    decisions = [
        *_tokenizers(source, target),
        Decision("model.kind", "transformer", "the answer is a text whose length is free"),
        Decision("model.norm", "pre", "trains stably with large learning rates"),
        Decision("model.position", {"kind": "rotary"}, "relative distances matter, not absolute positions"),
        Decision("task.max_length", 2 * max(most_tokens(source), most_tokens(target)), "pieces; all but outliers fit"),
        *_training(),
        Decision("decoding.kind", "beam", "keeps the most probable partial answers"),
        Decision("decoding.size", 4),
    ]
    sizes = [
        Size(f"{layers} + {layers} layers, width {width}",
             {"model.encoder_layers": layers, "model.decoder_layers": layers, "model.width": width})
        for layers, width in rules.LADDER
    ]  # fmt: skip
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_PAIRS)


def classification(found: Discovery) -> Proposal:
    """Which class: an encoder and a head, over words or over patches."""
    if isinstance(found.inputs, PictureFacts):
        return pictures(found, found.inputs)
    text = _texts(found.inputs)
    length = rules.reading_length(text.words.p95, text.characters.p95 if not text.spaced else 0)
    decisions = [
        Decision("tokenizer.kind", "wordpiece", "whole words, rare ones in pieces"),
        _vocabulary(text.characters_total),
        *_encoder(),
        Decision("task.kind", "classification", f"{len(found.labels):,} labels"),
        Decision("task.max_length", length, f"tokens; 5 % of the texts have more than {text.words.p95:,} words"),
        *([Decision("task.keep", "ends", "the start and the end of long texts say most")]
          if length >= rules.LONGEST_READING else []),
        Decision("model.dropout", 0.3, "strong, since labels carry little information"),
        Decision("task.label_smoothing", 0.1, "for calibrated probabilities on little data"),
        *([Decision("task.balance", "classes", "the most frequent class is ten times the rarest or more")]
          if _is_unbalanced(found.labels) else []),
        *_training(),
    ]  # fmt: skip
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.epochs_of_labels(text.examples))


def tagging(found: Discovery) -> Proposal:
    """A label for every word: an encoder and a head."""
    text = _texts(found.inputs)
    decisions = [
        Decision("tokenizer.kind", "wordpiece", "whole words, rare ones in pieces"),
        _vocabulary(text.characters_total),
        *_encoder(),
        Decision("task.kind", "tagging", f"{len(found.labels):,} tags"),
        Decision("task.max_length", rules.reading_length(text.words.p99, 0), "tokens; longer texts in windows"),
        Decision("model.dropout", 0.3, "strong, since labels carry little information"),
        Decision("task.label_smoothing", 0.1, "for calibrated probabilities on little data"),
        *_training(),
    ]
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.EPOCHS_OF_TAGS)


def language_model(found: Discovery) -> Proposal:
    """What comes next: a GPT."""
    text = _texts(found.inputs)
    if text.characters_total < rules.CHARACTERS_ALONE:
        why = f"{text.characters_total:,} characters are too few for words"
        tokenizer = [Decision("tokenizer.kind", "character", why)]
    else:
        tokenizer = [
            Decision("tokenizer.kind", "bpe", "frequent words whole, rare ones in pieces"),
            _vocabulary(text.characters_total),
        ]
    decisions = [
        *tokenizer,
        Decision("model.kind", "llama", "a decoder that predicts the next token; it can be exported"),
        Decision("model.tied", "output", "one matrix for input and output embeddings"),
        Decision("task.kind", "language-model", "running text, no labels"),
        Decision("task.context", 256),
        *_training(),
        Decision("training.batch_tokens", 4096, "16 windows of 256"),
        Decision("decoding.kind", "sampling", "every token is drawn at random by its probability"),
        Decision("decoding.temperature", 0.8),
    ]
    sizes = [Size(f"{layers} layers, width {width}", {"model.layers": layers, "model.width": width})
             for layers, width in rules.LADDER]  # fmt: skip
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_TEXT)


def pictures(found: Discovery, facts: PictureFacts) -> Proposal:
    """Which class a picture shows: a Vision Transformer behind a small convolutional stem."""
    side = rules.picture_side(max((max(size) for size in facts.sizes), default=32))
    channels = 1 if set(facts.modes) == {"grey"} else 3
    decisions = [
        Decision("input.kind", "image"),
        Decision("input.channels", channels, "grey" if channels == 1 else "colour"),
        Decision("input.size", [side, side], "rows and columns"),
        Decision("input.augmentation", {"flip": True}, "a mirrored picture has the same class"),
        Decision("model.kind", "vit", "patches as tokens"),
        Decision("model.position", {"kind": "sinusoidal"}),
        Decision("task.kind", "classification", f"{len(found.labels):,} labels"),
        Decision("training.optimizer", {"kind": "muon", "others": 0.4}),
        Decision("training.learning_rate", 0.01),
        Decision("training.precision", "auto"),
    ]
    sizes = []
    for layers, width in rules.PICTURE_LADDER:
        stem, strides = rules.stem(side, width)
        front = {"kind": "convolution", "channels": stem, "strides": strides, "size": 1, "class_token": False}
        sizes.append(Size(f"{layers} layers, width {width}", {"model.layers": layers, "model.width": width,
                                                          "model.front": front}))  # fmt: skip
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_PICTURES, PATCHES)


PATCHES = 49  # of a picture of 28 × 28 behind its stem; of others up to 64
PROPOSERS: Mapping[str, Callable[[Discovery], Proposal]] = {
    "translation": translation,
    "classification": classification,
    "tagging": tagging,
    "language-model": language_model,
}
"""What can be proposed for, by the task that was found."""


def propose(found: Discovery, name: str = "recipe") -> Proposal:
    """What is proposed for files, before anything is measured; ``name`` is the recipe's."""
    if found.task not in PROPOSERS:
        raise DataError(
            f"no recipe is proposed for task.kind = {found.task!r} yet; those with proposals: {', '.join(PROPOSERS)}. "
            "Start from a shipped recipe instead (regard recipes list), with this [data] table"
        )
    return replace(PROPOSERS[found.task](found), name=name, notes=(*found.observations, *found.reasons))


def most_tokens(text: TextFacts) -> int:
    """About how many tokens all texts but the longest 1 % have."""
    kind = rules.tokenizer_kind(text.words.p95, text.distinct_words, text.word_length)
    return max(8, text.characters.p99 if kind == "character" else 2 * text.words.p99)


def _texts(facts: Any) -> TextFacts:
    assert isinstance(facts, TextFacts), f"texts are expected, found {facts!r}"
    return facts


def _tokenizers(source: TextFacts, target: TextFacts) -> list[Decision]:
    """One for both sides where they are alike, else one for each."""
    kinds = [rules.tokenizer_kind(one.words.p95, one.distinct_words, one.word_length) for one in (source, target)]
    characters = source.characters_total + target.characters_total
    reasons = {
        "character": "its texts are single words",
        "whitespace": "it consists of few symbols with spaces between them",
        "bpe": "frequent words whole, rare ones in pieces",
    }
    if kinds[0] == kinds[1] == "bpe":
        return [
            Decision("tokenizer.kind", "bpe", reasons["bpe"]),
            _vocabulary(characters),
        ]
    if kinds[0] == kinds[1]:
        return [Decision("tokenizer.kind", kinds[0], reasons[kinds[0]])]
    sides = [{"kind": kind, **({"vocabulary": rules.vocabulary(characters) // 2} if kind == "bpe" else {}),
              **({"minimum_frequency": 1} if kind == "whitespace" else {})} for kind in kinds]  # fmt: skip
    return [
        Decision("tokenizer.kind", "per-side", "the two sides are written in different ways"),
        Decision("tokenizer.source", sides[0], f"{source.name}: {reasons[kinds[0]]}"),
        Decision("tokenizer.target", sides[1], f"{target.name}: {reasons[kinds[1]]}"),
    ]


def _vocabulary(characters: int) -> Decision:
    return Decision("tokenizer.vocabulary", rules.vocabulary(characters), f"for {characters:,} characters")


def _encoder() -> list[Decision]:
    return [
        Decision("model.kind", "bert", "an encoder: each word sees the words on both sides"),
        Decision("model.residual", "pre", "trains stably with large learning rates"),
        Decision("model.position", {"kind": "rotary"}, "relative distances matter, not absolute positions"),
    ]


def _encoder_sizes() -> tuple[Size, ...]:
    return tuple(
        Size(f"{layers} layers, width {width}", {"model.layers": layers, "model.width": width})
        for layers, width in rules.ENCODER_LADDER
    )


def _training() -> list[Decision]:
    return [
        Decision("training.optimizer", {"kind": "muon"}, "fewer steps than Adam for the same loss"),
        Decision("training.precision", "auto", "bfloat16 where the processor has instructions for it"),
    ]


def _is_unbalanced(labels: Mapping[str, int]) -> bool:
    return bool(labels) and max(labels.values()) >= 10 * min(labels.values())

"""What is proposed for texts: tokenizer, family of model, training and decoding, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.core import rules
from regard.data.discovery.found import Discovery, TextFacts, numbered
from regard.runs.automatic.proposal import Decision, Proposal, Size

LITTLE_PER_LABEL = (
    Decision("model.dropout", 0.3, "strong, since labels carry little information"),
    Decision("task.label_smoothing", 0.1, "for calibrated probabilities on little data"),
)


def translation(found: Discovery) -> Proposal:
    """From text to text: an encoder–decoder Transformer."""
    source, target = _texts(found.inputs), _texts(found.outputs)
    decisions = [
        *_tokenizers(source, target),
        Decision("model.kind", "transformer", "the answer is a text whose length is free"),
        Decision("model.norm", "pre", "trains stably with large learning rates"),
        Decision("model.position", {"kind": "rotary"}, "relative distances matter, not absolute positions"),
        Decision("task.max_length", 2 * max(most_tokens(source), most_tokens(target)), "pieces; all but outliers fit"),
        *training(),
        Decision("decoding.kind", "beam", "keeps the most probable partial answers"),
        Decision("decoding.size", 4),
    ]
    return Proposal(found.data, tuple(decisions), _layered_sizes(), rules.EPOCHS_OF_PAIRS)


def classification(found: Discovery) -> Proposal:
    """Which class: an encoder and a head."""
    text = _texts(found.inputs)
    decisions = [
        *_encoder(text.characters_total),
        Decision("task.kind", "classification", f"{len(found.labels):,} labels"),
        *_reading(text),
        *LITTLE_PER_LABEL,
        *([Decision("task.balance", "classes", "the most frequent class is ten times the rarest or more")]
          if is_unbalanced(found.labels) else []),
        *training(),
    ]  # fmt: skip
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.epochs_of_labels(text.examples))


def tagging(found: Discovery) -> Proposal:
    """A label for every word: an encoder and a head."""
    text = _texts(found.inputs)
    decisions = [
        *_encoder(text.characters_total),
        Decision("task.kind", "tagging", f"{len(found.labels):,} tags"),
        Decision("task.max_length", rules.reading_length(text.words.p99, 0, rules.vocabulary(text.characters_total)),
                 "tokens; longer texts in windows"),
        *LITTLE_PER_LABEL,
        *training(),
    ]  # fmt: skip
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
            Decision("tokenizer.vocabulary", rules.vocabulary_of_running_text(text.characters_total),
                     f"for {text.characters_total:,} characters; each position is compared with all of them"),
        ]  # fmt: skip
    decisions = [
        *tokenizer,
        Decision("model.kind", "llama", "a decoder that predicts the next token; it can be exported"),
        Decision("model.tied", "output", "one matrix for input and output embeddings"),
        Decision("model.head_norm", {"kind": "rms"}, "scores stay small at large learning rates"),
        Decision("task.kind", "language-model", "running text, no labels"),
        Decision("task.max_length", 256),
        *training(),
        Decision("training.batch_tokens", 4096, "16 windows of 256"),
        Decision("decoding.kind", "sampling", "every token is drawn at random by its probability"),
        Decision("decoding.temperature", 0.8),
    ]
    sizes = [Size(f"{numbered(layers, 'layer')}, width {width}", {"model.layers": layers, "model.width": width})
             for layers, width in rules.LADDER]  # fmt: skip
    return Proposal(found.data, tuple(decisions), tuple(sizes), rules.EPOCHS_OF_TEXT, rules.POSITIONS_OF_A_TOKEN)


def regression(found: Discovery) -> Proposal:
    """Which number: an encoder and a head."""
    text = _texts(found.inputs)
    decisions = [
        *_encoder(text.characters_total),
        Decision("task.kind", "regression", "a number for each text"),
        *_reading(text),
        Decision("model.dropout", 0.3, "strong, since numbers carry little information"),
        *training(),
    ]
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.epochs_of_labels(text.examples))


def embedding(found: Discovery) -> Proposal:
    """A vector for every text: an encoder, which learns from texts that belong together."""
    source, target = _texts(found.inputs), _texts(found.outputs)
    longest = max(source, target, key=lambda one: (one.words.p95, one.characters.p95))
    characters = source.characters_total + target.characters_total
    decisions = [
        *_encoder(characters),
        Decision("task.kind", "embedding", "the two texts of a pair get vectors that are near each other"),
        Decision("task.max_length", reading_length(longest, rules.vocabulary(characters)),
                 f"tokens; 5 % have more than {longest.words.p95:,} words"),
        *training(),
        Decision("training.batch_tokens", rules.batch_of_pairs(longest.words.median, source.examples),
                 "the other pairs of a batch are what a text is told apart from"),
    ]  # fmt: skip
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.EPOCHS_OF_EMBEDDINGS)


def question_answering(found: Discovery) -> Proposal:
    """Where in a context the answer stands: an encoder and a head."""
    text, answer = _texts(found.inputs), _texts(found.outputs)
    length = rules.window(text.words.p95, rules.vocabulary(text.characters_total))
    decisions = [
        *_encoder(text.characters_total),
        Decision("task.kind", "question-answering", "answers stand in their contexts"),
        Decision("task.max_length", length, f"tokens; 5 % have more than {text.words.p95:,} words"),
        Decision("task.stride", length // 3, "tokens from window to window of a longer context"),
        Decision("task.max_question_length", min(64, length // 2 - 4)),
        Decision("task.max_answer_length", rules.answer_length(answer.words.p99), "tokens; all but 1 % are shorter"),
        *training(),
    ]
    return Proposal(found.data, tuple(decisions), _encoder_sizes(), rules.EPOCHS_OF_QUESTIONS)


def parsing(found: Discovery) -> Proposal:
    """From a sentence to its tree: an encoder–decoder that writes the brackets."""
    source, target = _texts(found.inputs), _texts(found.outputs)
    rare = rules.rarest_word(source.words_measured, source.distinct_words)
    decisions = [
        Decision("tokenizer.kind", "whitespace", "words and brackets are cut apart already"),
        Decision("tokenizer.min_frequency", rare, f"{source.distinct_words:,} different words were seen"),
        Decision("tokenizer.joint", False, "brackets are no words"),
        Decision("model.kind", "transformer", "the answer is a sequence of brackets, whose length is free"),
        Decision("model.norm", "pre", "trains stably with large learning rates"),
        Decision("task.kind", "parsing", "a tree for each sentence"),
        Decision("task.max_length", 2 * max(16, source.words.p99, target.words.p99), "symbols; all but outliers fit"),
        Decision("task.label_smoothing", 0.05),
        *training(),
        Decision("decoding.kind", "greedy", "of a tree the most probable symbol is nearly always right"),
    ]
    return Proposal(found.data, tuple(decisions), _layered_sizes(), rules.EPOCHS_OF_PAIRS)


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
              **({"min_frequency": 1} if kind == "whitespace" else {})} for kind in kinds]  # fmt: skip
    return [
        Decision("tokenizer.kind", "per-side", "the two sides are written in different ways"),
        Decision("tokenizer.source", sides[0], f"{source.name}: {reasons[kinds[0]]}"),
        Decision("tokenizer.target", sides[1], f"{target.name}: {reasons[kinds[1]]}"),
    ]


def _vocabulary(characters: int) -> Decision:
    return Decision("tokenizer.vocabulary", rules.vocabulary(characters), f"for {characters:,} characters")


def _encoder(characters: int) -> list[Decision]:
    """An encoder of words and their pieces, for texts of so many characters in all."""
    return [
        Decision("tokenizer.kind", "wordpiece", "whole words, rare ones in pieces"),
        _vocabulary(characters),
        Decision("model.kind", "bert", "an encoder: each word sees the words on both sides"),
        Decision("model.residual", "pre", "trains stably with large learning rates"),
        Decision("model.position", {"kind": "rotary"}, "relative distances matter, not absolute positions"),
    ]


def _layered_sizes() -> tuple[Size, ...]:
    """Of encoder and decoder."""
    return tuple(
        Size(f"{layers} + {layers} layers, width {width}",
             {"model.encoder_layers": layers, "model.decoder_layers": layers, "model.width": width})
        for layers, width in rules.LADDER
    )  # fmt: skip


def _reading(text: TextFacts) -> list[Decision]:
    """How much of a text is read."""
    length = reading_length(text, rules.vocabulary(text.characters_total))
    told = f"tokens; 5 % of the texts have more than {text.words.p95:,} words"
    ends = Decision("task.keep", "ends", "the start and the end of long texts say most")
    return [Decision("task.max_length", length, told), *([ends] if length >= rules.LONGEST_READING else [])]


def reading_length(text: TextFacts, vocabulary: int) -> int:
    return rules.reading_length(text.words.p95, text.characters.p95 if not text.spaced else 0, vocabulary)


def _encoder_sizes() -> tuple[Size, ...]:
    return tuple(
        Size(f"{numbered(layers, 'layer')}, width {width}", {"model.layers": layers, "model.width": width})
        for layers, width in rules.ENCODER_LADDER
    )


def training() -> list[Decision]:
    return [
        Decision("training.optimizer", {"kind": "muon"}, "fewer steps than Adam for the same loss"),
        Decision("training.precision", "auto", "bfloat16 where the processor has instructions for it"),
    ]


def is_unbalanced(labels: Mapping[str, int]) -> bool:
    return bool(labels) and max(labels.values()) >= 10 * min(labels.values())

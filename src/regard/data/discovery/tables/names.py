"""Usual names of columns and files, and what they mean: texts, labels, pairs, languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

TEXTS = (
    "text", "sentence", "review", "content", "body", "message", "comment", "tweet", "document", "utterance", "post",
    "texts", "sentences", "reviews", "review_text", "full_text", "sms", "mail", "email", "query",
)  # fmt: skip
LABELS = (
    "label", "labels", "class", "category", "sentiment", "intent", "tag", "topic", "target", "y", "stars", "rating",
    "polarity", "emotion", "mood", "gold_label", "classes", "is_spam", "language", "lang", "nationality",
)  # fmt: skip
ONLY_LABELS = ("label", "labels", "class", "classes", "category", "gold_label", "sentiment", "intent")
"""Names of columns that nothing else than labels is called."""
IDS = ("id", "_id", "idx", "index", "uuid", "guid", "key", "no", "nr", "row", "line", "unnamed: 0", "")
PAIRS = (
    ("source", "target"), ("src", "trg"), ("src", "tgt"), ("source", "reference"), ("input", "output"),
    ("input", "target"), ("source_text", "target_text"), ("input_text", "target_text"), ("word", "pronunciation"),
    ("word", "phonemes"), ("word", "ipa"), ("grapheme", "phoneme"), ("graphemes", "phonemes"),
    ("misspelling", "correction"), ("misspelled", "correct"), ("wrong", "right"), ("incorrect", "correct"),
    ("error", "correction"), ("original", "corrected"), ("original", "simplified"), ("complex", "simple"),
    ("noisy", "clean"), ("reactants", "products"), ("reactants", "product"), ("question", "answer"),
    ("prompt", "response"), ("prompt", "completion"), ("article", "summary"), ("article", "highlights"),
    ("document", "summary"), ("text", "summary"), ("dialogue", "summary"), ("formal", "informal"),
    ("informal", "formal"), ("lemma", "form"), ("form", "lemma"), ("text", "translation"), ("sentence", "translation"),
    ("infix", "postfix"), ("expression", "result"), ("x", "y"),
)  # fmt: skip
"""The source's name and the target's."""
TWO_TEXTS = (
    ("premise", "hypothesis"), ("sentence1", "sentence2"), ("sentence_1", "sentence_2"), ("question1", "question2"),
    ("question_1", "question_2"), ("text1", "text2"), ("text_a", "text_b"), ("sentence_a", "sentence_b"),
    ("title", "text"), ("title", "body"), ("title", "content"), ("title", "description"), ("text", "second"),
)  # fmt: skip
"""Two texts that one label is about."""
WORDS = ("words", "tokens", "token", "word")
TAGS = ("tags", "ner_tags", "pos_tags", "ner", "pos", "upos", "labels", "tag", "chunk_tags")
QUESTIONS, CONTEXTS = ("question",), ("context", "passage", "paragraph")
ANSWERS = ("answers", "answer", "answer_text")
PICTURES = ("image", "path", "file", "filename", "picture", "img", "image_path", "file_name")
SOUNDS = ("sound", "audio", "path", "file", "filename", "wav", "clip", "audio_path", "file_name")
LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl":
    "Dutch", "ru": "Russian", "uk": "Ukrainian", "pl": "Polish", "cs": "Czech", "sk": "Slovak", "sl": "Slovene",
    "hr": "Croatian", "sr": "Serbian", "bg": "Bulgarian", "ro": "Romanian", "hu": "Hungarian", "fi": "Finnish",
    "et": "Estonian", "lv": "Latvian", "lt": "Lithuanian", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "nb":
    "Bokmål", "nn": "Nynorsk", "is": "Icelandic", "ga": "Irish", "cy": "Welsh", "eu": "Basque", "ca": "Catalan",
    "gl": "Galician", "el": "Greek", "tr": "Turkish", "az": "Azerbaijani", "kk": "Kazakh", "uz": "Uzbek", "ar":
    "Arabic", "he": "Hebrew", "fa": "Persian", "ur": "Urdu", "hi": "Hindi", "bn": "Bengali", "ta": "Tamil", "te":
    "Telugu", "ml": "Malayalam", "mr": "Marathi", "gu": "Gujarati", "pa": "Punjabi", "ne": "Nepali", "si":
    "Sinhala", "th": "Thai", "lo": "Lao", "km": "Khmer", "my": "Burmese", "vi": "Vietnamese", "id": "Indonesian",
    "ms": "Malay", "tl": "Tagalog", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "mn": "Mongolian", "sw":
    "Swahili", "ha": "Hausa", "yo": "Yoruba", "ig": "Igbo", "zu": "Zulu", "xh": "Xhosa", "am": "Amharic", "so":
    "Somali", "mt": "Maltese", "sq": "Albanian", "mk": "Macedonian", "hy": "Armenian", "ka": "Georgian", "be":
    "Belarusian", "la": "Latin", "eo": "Esperanto", "af": "Afrikaans",
}  # fmt: skip
LONG_CODES = (
    "eng", "deu", "ger", "fra", "fre", "spa", "ita", "por", "nld", "rus", "ukr", "pol", "ces", "tur", "ara", "heb",
    "hin", "zho", "jpn", "kor", "vie", "swa", "swe", "dan", "nor", "fin", "hun", "ron", "ell", "cat", "eus", "glg",
)  # fmt: skip
REGION = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,4})?")
SIDES = frozenset(name for pair in PAIRS[:6] for name in pair)
"""What the two sides of a pair of files may be called."""


def is_language(name: str) -> bool:
    """A code such as en, deu or pt_BR, or a language's English name."""
    code = re.split("[_-]", name.lower())[0]
    names = {language.lower() for language in LANGUAGES.values()}
    return name.lower() in names or (
        REGION.fullmatch(name) is not None and (code in LANGUAGES or code in LONG_CODES)
    )


def known_pair(names: Sequence[str], pairs: Sequence[tuple[str, str]] = PAIRS) -> tuple[str, str] | None:
    """The two of some names that belong together by their meaning, the source first; languages in their own order."""
    by_small = {name.lower(): name for name in names}
    for source, target in pairs:
        if source in by_small and target in by_small:
            return by_small[source], by_small[target]
    languages = [name for name in names if is_language(name)]
    return (languages[0], languages[1]) if pairs is PAIRS and len(languages) == 2 else None


def first_known(names: Sequence[str], known: Sequence[str]) -> str:
    """The first of the known names that there is, as it is written; "" where there is none."""
    by_small = {name.lower(): name for name in names}
    return next((by_small[name] for name in known if name in by_small), "")


SINGLE = (TEXTS, LABELS, IDS, WORDS, TAGS, QUESTIONS, CONTEXTS, ANSWERS, PICTURES, SOUNDS, LANGUAGES)
NO_SIGNS = frozenset(
    ("", "x", "y", "no", "is", "so", "my", "la", "am", "be", "it", "he", "form", "key", "line", "row", "word", "right",
     "wrong", "correct", "error", "simple", "complex")
)  # fmt: skip
"""Names of columns that might as well stand in a text."""
KNOWN = (
    frozenset(
        name
        for names in (*SINGLE, *PAIRS, *TWO_TEXTS)
        for name in names
    )
    - NO_SIGNS
)
"""Names that tell a line of names from others."""

"""From the world to batches: readers, tokenizers, ledger, bucketing, small worlds."""

from __future__ import annotations

from regard.core.config import Choices, Part

DATA = Choices(
    "data",
    Part,
    "small-world",
    {
        "small-world": "regard.data.sources:SmallWorld",
        "pairs": "regard.data.sources:PairFiles",
        "toy": "regard.data.toys:Toy",
        "trees": "regard.data.treebanks:TreeFiles",
        "world-trees": "regard.data.treebanks:WorldTrees",
        "text": "regard.data.texts:TextFiles",
        "python-english": "regard.data.texts:PythonEnglish",
        "python-code": "regard.data.texts:PythonCode",
        "world-english": "regard.data.texts:WorldEnglish",
        "labelled": "regard.data.labelled:LabelledFiles",
        "world-moods": "regard.data.labelled:WorldMoods",
        "tagged": "regard.data.tagged:TaggedFiles",
        "world-tags": "regard.data.tagged:WorldTags",
        "movie-reviews": "regard.data.labelled:MovieReviews",
        "questions": "regard.data.questions:QuestionFiles",
        "world-questions": "regard.data.questions:WorldQuestions",
    },
)

TOKENIZERS = Choices(
    "tokenizer",
    Part,
    "bpe",
    {
        "bpe": "regard.data.tokenizers:BpeTokenizer",
        "word": "regard.data.tokenizers:WordTokenizer",
        "whitespace": "regard.data.whitespace:WhitespaceTokenizer",
        "character": "regard.data.tokenizers:CharacterTokenizer",
        "byte": "regard.data.tokenizers:ByteTokenizer",
        "code": "regard.data.tokenizers:CodeTokenizer",
        "wordpiece": "regard.data.word_pieces:WordPieceTokenizer",
        "imported": "regard.data.tokenizers:ImportedTokenizer",
    },
)

"""From the world to batches: readers, tokenizers, ledger, bucketing, small worlds."""

from __future__ import annotations

from regard.core.config import Choices

DATA = Choices(
    "data",
    "small-world",
    {
        "small-world": "regard.data.sources.world:SmallWorld",
        "pairs": "regard.data.sources.pairs:PairFiles",
        "toy": "regard.data.sources.toys:Toy",
        "trees": "regard.data.sources.treebanks:TreeFiles",
        "world-trees": "regard.data.sources.treebanks:WorldTrees",
        "text": "regard.data.sources.text_files:TextFiles",
        "python-english": "regard.data.sources.text_files:PythonEnglish",
        "python-code": "regard.data.sources.text_files:PythonCode",
        "world-english": "regard.data.sources.text_files:WorldEnglish",
        "labelled": "regard.data.sources.labelled:LabelledFiles",
        "world-moods": "regard.data.sources.labelled:WorldMoods",
        "tagged": "regard.data.sources.tagged:TaggedFiles",
        "world-tags": "regard.data.sources.tagged:WorldTags",
        "movie-reviews": "regard.data.sources.labelled:MovieReviews",
        "questions": "regard.data.sources.questions:QuestionFiles",
        "world-questions": "regard.data.sources.questions:WorldQuestions",
    },
)

TOKENIZERS = Choices(
    "tokenizer",
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

"""What is asked and what counts as good: loss, metrics, prediction, one task a file."""

from regard.core.config import Choices, Part

TASKS = Choices(
    "task",
    Part,
    "translation",
    {
        "translation": "regard.tasks.translation:TranslationConfig",
        "parsing": "regard.tasks.parsing:ParsingConfig",
        "language-model": "regard.tasks.language_modelling:LanguageModelConfig",
        "classification": "regard.tasks.classification:ClassificationConfig",
        "tagging": "regard.tasks.tagging:TaggingConfig",
        "question-answering": "regard.tasks.question_answering:QuestionAnsweringConfig",
        "embedding": "regard.tasks.embedding:EmbeddingConfig",
        "masked-language-model": "regard.tasks.masked_language_modelling:MaskedLanguageModelConfig",
    },
)

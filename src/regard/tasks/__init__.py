"""What is asked and what counts as good: loss, metrics, prediction, one task a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from regard.core.config import Choices, Part
from regard.core.metrics import Metric
from regard.core.roles import Role

if TYPE_CHECKING:
    from typing import Self

    from regard.core.seams.task import Task
    from regard.data import TokenizerPart
    from regard.data.modalities.both import Modalities


class TaskPart(Part):
    """Settings of a task. What the data decides (labels) is settled before the task is built, and can be unsettled."""

    cuts_anew: ClassVar[bool] = False  # whether training examples may be cut into other pieces each epoch

    mixes: ClassVar[bool] = False  # whether training inputs may be mixed: their answers then are mixtures, too

    generates: ClassVar[bool] = False  # whether answers are written token by token, as ``session.options`` says

    writes_text: ClassVar[bool] = False  # whether its answers are texts whatever is read, a sound for example

    one_sided: ClassVar[bool] = False  # whether all its texts are of one kind, so that there is one tokenizer

    needs: ClassVar[Role] = Role.READS  # what its model must be able to do

    explains_itself: ClassVar[bool] = False  # whether training ends with a page about what was learned

    headline: ClassVar[tuple[Metric, ...]] = ()  # the figures by which runs are compared, the one that decides first

    accuracy: ClassVar[str] = ""  # a rate among the sums: how long training takes to reach levels of it is told

    def example(self, tokenizer: TokenizerPart) -> str:
        """What ``regard predict`` might be asked, as it is typed; "": what the modality says."""
        return ""

    def resolved(self, corpus: Any) -> Self:
        """The same with what the data decides, so that a run folder can be loaded without its data."""
        return self

    def unresolved(self) -> Self:
        """The same without it."""
        return self

    def build(self, corpus: Any, modalities: Modalities, seed: int) -> Task:
        raise NotImplementedError(f"{type(self).__name__} has no build()")


TASKS = Choices(
    "task",
    TaskPart,
    "translation",
    {
        "translation": "regard.tasks.translation:TranslationConfig",
        "parsing": "regard.tasks.parsing:ParsingConfig",
        "language-model": "regard.tasks.language_modelling:LanguageModelConfig",
        "classification": "regard.tasks.classification:ClassificationConfig",
        "transcription": "regard.tasks.transcription.transcription:TranscriptionConfig",
        "temporal-classification": "regard.tasks.transcription.temporal_classification:TemporalClassificationConfig",
        "regression": "regard.tasks.regression:RegressionConfig",
        "tagging": "regard.tasks.tagging:TaggingConfig",
        "question-answering": "regard.tasks.question_answering:QuestionAnsweringConfig",
        "embedding": "regard.tasks.embedding:EmbeddingConfig",
        "masked-language-model": "regard.tasks.masked_language_modelling:MaskedLanguageModelConfig",
        "forecasting": "regard.tasks.forecasting:ForecastingConfig",
        "node-classification": "regard.tasks.node_classification:NodeClassificationConfig",
        "link-prediction": "regard.tasks.link_prediction:LinkPredictionConfig",
    },
)

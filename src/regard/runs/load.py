"""Loads a run folder as a model that predicts, embeds, scores and aligns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.answers import Answer
from regard.core.errors import DataError, OptionError
from regard.core.files import read_object
from regard.core.seams import Engine, max_lengths_of
from regard.core.seams.capabilities import Continues, Fills, Translates
from regard.core.seams.task import Progress, Session, Task
from regard.data.corpus import Corpus, Pair
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Strategy
from regard.layers.headed import Pooling
from regard.runs.asking import answer_nonempty, as_list, best_text, parsed
from regard.runs.folder import RunFolder
from regard.runs.integrity import check_hashes
from regard.runs.modalities import load_modalities
from regard.runs.recipe import Recipe
from regard.runs.starting import Origin, interpolated, without_prefix
from regard.runs.train import adapt, build_task, headed
from regard.tasks.embedding import Embedding
from regard.tasks.masked.filling import Guess
from regard.tasks.metrics.alignment import Head
from regard.tasks.pairs.alignment import WordWeights, word_weights
from regard.tasks.running.continuation import Continuation
from regard.tasks.translation import check_piece_counts, stripped
from regard.tasks.vectors.sentence_vectors import Embedder, around
from regard.training import checkpoints, machine

Capability = TypeVar("Capability")


@dataclass
class Run:
    """A trained model with all that belongs to it."""

    folder: RunFolder
    recipe: Recipe
    modalities: Modalities
    model: nn.Module
    device: torch.device
    task: Task = field(repr=False)
    other: Engine | None = None  # who answers in the model's place, see ``through``

    def with_engine(self, engine: Engine) -> Run:
        """The same run, whose answers this engine finds. Scores of given texts, weights and taps stay the model's."""
        return replace(self, other=engine)

    @cached_property
    def vocabularies(self) -> Vocabularies:
        """The tokenizers of both sides; refused, in words, where the run does not read texts."""
        return self.modalities.vocabularies

    def session(
        self,
        options: Strategy | None = None,
        progress: Progress | None = None,
        numbers: Sequence[int] | None = None,
    ) -> Session:
        """One use of the model, with the recipe's way of decoding where no other is given."""
        return Session(self.model, self.device, options or self.recipe.decoding, self.other, progress, numbers)

    def task_that(self, can: type[Capability], refusal: str) -> Capability:
        """The task, where it is able to do what is asked of it."""
        if not isinstance(self.task, can):
            raise OptionError(refusal)
        return self.task

    @cached_property
    def engine(self) -> TorchEngine:
        """The model's own, where it goes from text to text."""
        task = self.task_that(
            Translates,
            f"{self.folder.path} ({self.recipe.task.kind}) has no target texts, so given answers cannot be scored; "
            "name a run that goes from text to text",
        )
        return task.engine(self.model, self.device)

    @cached_property
    def continuation(self) -> Continuation:
        """What writes on from prompts, where the run is a language model."""
        task = self.task_that(
            Continues,
            f"{self.folder.path} cannot continue a prompt: it is a {self.recipe.task.kind} run; name the run of a "
            "language model",
        )
        return task.continuation(self.session())

    def fill(self, texts: Sequence[str], top_k: int = 5) -> list[list[list[Guess]]]:
        """For each text, and each mask in it, the most probable pieces, best first."""
        task = self.task_that(
            Fills,
            f"{self.folder.path} ({self.recipe.task.kind}) cannot fill masks; name the run of a masked "
            "language model",
        )
        return task.filling(self.session()).fill([texts] if isinstance(texts, str) else texts, top_k)

    def states(self, texts: Sequence[str]) -> list[Tensor]:
        """For each text states_SD of its tokens, the symbols around them included; what the body cannot hold is cut,
        and a warning counts it."""
        return self.embedder().states([texts] if isinstance(texts, str) else texts)

    def embedder(self, pooling: Pooling | Literal[""] = "", *, unit: bool = True) -> Embedder:
        """What gives texts vectors: as the run was trained to, else the mean of the states of its body."""
        max_length = 0
        if isinstance(self.task, Embedding):
            pooling = pooling or self.task.config.pooling
            max_length = self.task.config.max_length
        specials = around(self.task, self.vocabularies.source.specials)
        return Embedder.of(
            self.model, self.vocabularies.source, self.device, pooling=pooling or "mean", unit=unit,
            specials=specials, max_length=max_length,
        )  # fmt: skip

    def embed(
        self,
        texts: Sequence[str],
        pooling: Pooling | Literal[""] = "",
        unit: bool = True,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """vectors_ND of texts, in order; of length 1 unless ``unit`` is False. A warning counts what had to be cut."""
        return self.embedder(pooling, unit=unit).embed_all([texts] if isinstance(texts, str) else texts, progress)

    def predict(
        self, inputs: Any, options: Strategy | None = None, progress: Progress | None = None
    ) -> list[str]:
        """The best answer to each input (a text, the path of a picture), in order; to an empty text the empty one."""
        return [best_text(answers) for answers in self.answers(inputs, options, progress)]

    def answers(
        self, inputs: Any, options: Strategy | None = None, progress: Progress | None = None, *, first: int = 0
    ) -> list[list[Answer]]:
        """All answers that the strategy keeps, best first; to an empty text there are none.

        What is a string is read as on the command line: the text itself, or the path of a picture. Inputs may be asked
        in several calls: ``first`` is how many came before, so that sampling goes on and does not begin anew.
        """

        def find(raws: list[Any], places: list[int]) -> list[list[Answer]]:
            session = self.session(options, progress, [first + place for place in places])
            return self.task.predict(session, parsed(self.task, self.modalities.input, raws))

        return answer_nonempty(as_list(inputs), find)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[float, ...]]:
        """For each given pair the log-probability of every target piece and of the closing symbol."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources)} sources against {len(targets)} references; give one for each, in order")
        engine = self.engine
        sources, targets = self._as_written(stripped(sources), stripped(targets))
        asked = self.vocabularies.source.encode_batch(list(sources))
        given = self.vocabularies.target.encode_batch(list(targets))
        for texts, room, what in zip((asked, given), max_lengths_of(self.model), ("a source", "an answer")):
            check_piece_counts(texts, room, what)
        return engine.score(asked, given)

    def alignment(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        words: Callable[[str], Sequence[str]] = str.split,
    ) -> list[WordWeights]:
        """What each target word reads of the source, for every head, under teacher forcing."""
        if not isinstance(self.task, Translates):
            raise OptionError(
                f"{self.folder.path} ({self.recipe.task.kind}) reads no source, so it has no alignment; name a "
                "run that goes from text to text"
            )
        sources, targets = self._as_written(stripped(sources), stripped(targets))
        pairs = [Pair(source, target) for source, target in zip(sources, targets, strict=True)]
        both = [(words(pair.source), words(pair.target)) for pair in pairs]
        return word_weights(self.task.translation, self.session(), pairs, both)

    def _as_written(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Given texts as the model reads and writes them, where a task shows its answers in another form."""
        return self.task.as_written(sources, targets) if isinstance(self.task, Translates) else (sources, targets)

    @property
    def alignment_head(self) -> Head | None:
        """The head that an evaluation with gold alignments chose, if there was one."""
        if self.folder.scores.exists():
            chosen = read_object(self.folder.scores).get("alignment_head")
            if chosen:
                return int(chosen[0]), int(chosen[1])
        return None


def load(
    run: str | Path, device: str = "", *, check: bool = True, picture_size: int | tuple[int, ...] = 0
) -> Run:
    """Everything after training starts here; files that are not the run's own are refused.

    Without ``check`` they are taken as they are, for those who want to know what is wrong. With ``picture_size`` a run
    of pictures reads them at another size than it was trained at; learned positions are interpolated.
    """
    folder = RunFolder(Path(run).expanduser())
    folder.require(folder.recipe, folder.weights)
    recipe = Recipe.of_run(folder.recipe)
    modalities = load_modalities(recipe, folder.path)
    if picture_size:
        recipe = recipe.model_copy(update={"input": recipe.input.sized(picture_size)})
        modalities = recipe.input.taken_over(modalities)
    where = machine.choose_device(device or recipe.device)
    machine.tune_allocator()
    machine.set_threads(recipe.training.threads)
    task = build_task(recipe, Corpus({}, Ledger()), modalities)
    model = headed(recipe, task)
    if not recipe.start.adapters.merge:
        adapt(recipe, model)
    weights = checkpoints.load_tensors(folder.weights)
    fitting = weights
    if picture_size:
        before = Origin.at(str(folder.path)).grid()
        names = {without_prefix(name): name for name in weights}
        bodys = interpolated(model, {short: weights[name] for short, name in names.items()}, before)
        fitting = {names[short]: tensor for short, tensor in bodys.items()}
    checkpoints.load_weights(model, fitting, str(folder.weights))
    if check:
        check_hashes(folder, weights)
    return Run(folder, recipe, modalities, model.to(where).eval(), where, task)

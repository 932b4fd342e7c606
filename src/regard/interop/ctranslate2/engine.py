"""CTranslate2 as an engine: decodes with the converted model, in C++ instead of torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.core.errors import OptionError
from regard.core.seams import Hypothesis
from regard.core.seams.capabilities import Continues
from regard.core.seams.task import Progress
from regard.decoding.beam import length_penalty
from regard.decoding.engine import SPREAD, batches
from regard.decoding.options import Beam, Sampling, Strategy
from regard.decoding.sentences import Symbols
from regard.decoding.walk import Watch, ranked
from regard.interop.ctranslate2.conversion import cached_conversion, library
from regard.interop.ctranslate2.requests import Batch, Requests, TokenStreamer, search_options
from regard.interop.ctranslate2.specification import tokens
from regard.runs.load import Run

BUDGET = 6400
"""Rows × length of a batch."""
FEW = 8
"""Fewer inputs a worker than this are answered faster by all threads together."""


def engine_of(run: Run, dtype: str = "float32", folder: Path | None = None) -> Ctranslate2Engine:
    """For ``run.through(...)``; a conversion in ``folder``, or else the one that is kept in the run folder."""
    folder = folder or cached_conversion(run, dtype)
    source, target = run.vocabularies.source, run.vocabularies.target
    model: Any = run.model
    if isinstance(run.task, Continues):
        end = target.specials.eos
        symbols = Symbols(None, end, tuple(id for id in target.specials.known() if id != end))
        interface: Interface = Writer(tokens(target, len(model.embedding.weight)))
        max_length = 0  # whoever writes on minds the context
    else:
        symbols = Symbols.of(target.specials)
        rows = len(model.source_embedding.weight), len(model.target_embedding.weight)
        interface = Translator(tokens(source, rows[0]), tokens(target, rows[1]))
        max_length = model.max_lengths[1]
    device = "cuda" if run.device.type == "cuda" else "cpu"
    return Ctranslate2Engine(folder, dtype, interface, symbols, max_length, device)


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What CTranslate2 said to one row: tokens with the closing one, and what it calls their score."""

    tokens: tuple[int, ...]
    score: float


class Translator:
    """Asks a ``ctranslate2.Translator``, which is spoken to in strings."""

    loader = "Translator"

    def __init__(self, source: list[str], target: list[str]) -> None:
        self.source, self.target = source, target
        self.ids = {word: id for id, word in enumerate(target)}

    def ask(self, model: Any, rows: Sequence[Sequence[int]], limit: int, named: dict[str, Any]) -> list[Any]:
        words = [[self.source[id] for id in row] for row in rows]
        return model.translate_batch(
            words, max_decoding_length=limit, min_decoding_length=0, max_input_length=0, **named
        )

    def read(self, result: Any) -> list[RawAnswer]:
        said = [tuple(self.ids[word] for word in words) for words in result.hypotheses]
        return [RawAnswer(ids, score) for ids, score in zip(said, result.scores, strict=True)]


class Writer:
    """Asks a ``ctranslate2.Generator`` to go on from a prompt."""

    loader = "Generator"

    def __init__(self, words: list[str]) -> None:
        self.target = words

    def ask(self, model: Any, rows: Sequence[Sequence[int]], limit: int, named: dict[str, Any]) -> list[Any]:
        words = [[self.target[id] for id in row] for row in rows]
        return model.generate_batch(words, max_length=limit, min_length=0, include_prompt_in_result=False, **named)

    def read(self, result: Any) -> list[RawAnswer]:
        return [RawAnswer(tuple(ids), score) for ids, score in zip(result.sequences_ids, result.scores, strict=True)]


Interface = Translator | Writer


class Ctranslate2Engine:
    """Implements ``Engine``; where CTranslate2 searches in another way than we do, ours is approached.

    - A beam ends when ``size`` answers have ended (our ``stop = "full"``), whatever ``stop`` says. It ranks by
      log-probability / length^α, we by Wu et al.'s penalty: all of its answers are taken and ranked anew by ours.
    - Symbols that are never chosen can only be forbidden before probabilities are made, which would raise those of all
      others. So they are not, and an input whose answers hold one, which hardly happens, is asked again with them
      forbidden; as is everything that somebody watches.
    - Sampling has random numbers of its own: the same seed and inputs give the same answers, but not those of torch,
      and not the same in another batch.
    """

    def __init__(
        self, folder: Path, dtype: str, interface: Interface, symbols: Symbols, max_length: int = 0, device: str = "cpu"
    ) -> None:
        self.folder, self.dtype, self.interface, self.symbols = folder, dtype, interface, symbols
        self.max_length, self.device = max_length, device
        self.threads = torch.get_num_threads()
        self._models: dict[int, Any] = {}

    @property
    def name(self) -> str:
        return f"ctranslate2 {self.dtype}"

    def model(self, workers: int = 1) -> Any:
        """The loaded model; so many batches are worked on side by side, with the threads shared among them."""
        if workers not in self._models:
            self._models = {workers: self._load(workers)}
        return self._models[workers]

    def _load(self, workers: int) -> Any:
        loaded = getattr(library(), self.interface.loader)(
            str(self.folder), device=self.device, compute_type=self.dtype, inter_threads=workers,
            intra_threads=max(1, self.threads // workers), max_queued_batches=-1,
        )  # fmt: skip
        torch.set_num_threads(self.threads)  # loading sets OpenMP's number, which is torch's too
        return loaded

    def predict(
        self, inputs: Sequence[Sequence[int]], options: Strategy, *, prompts: Sequence[Sequence[int]] | None = None,
        progress: Progress | None = None, watch: Callable[[Sequence[int]], Watch] | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        """One list of hypotheses, best first, for each input, in the order of the inputs.

        A batch is given the limit of its longest input; those with more to say than their own limit are asked again
        among inputs of that limit.
        """
        if isinstance(self.interface, Translator) and prompts is not None and any(prompts):
            raise OptionError("answers that begin with a prompt are not supported by CTranslate2; use --engine torch")
        if not inputs:
            return []
        if numbers:  # another part of the same inputs draws other random numbers
            options = options.with_seed_offset(numbers[0])
        limits = [min(options.limit(len(one)), self.max_length or sys.maxsize) for one in inputs]
        asking = Requests(inputs, limits, options, watch)
        plan = [Batch(places, watch is not None) for places in self._plan(inputs, options)]
        while plan:
            self._answer(plan, asking, progress)
            plan = asking.again(self.symbols.forbidden)
        number = options.answers
        return [asking.found[place][:number] for place in range(len(inputs))]

    def score(self, inputs: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[tuple[float, ...]]:
        """For each input the log-probabilities of its given answer's tokens and of the closing symbol."""
        assert isinstance(self.interface, Translator), "a writer has no inputs apart from its text"
        sources = [[self.interface.source[id] for id in row] for row in inputs]
        answers = [[self.interface.target[id] for id in row] for row in targets]
        return [tuple(one.log_probs) for one in self.model().score_batch(sources, answers, max_input_length=0)]

    def log_probabilities(self, tokens_BT: torch.Tensor) -> torch.Tensor:
        """log_probabilities_BTW of what follows each token, of a writer."""
        asked = tokens_BT.to(torch.int32).contiguous().numpy()
        storage = library().StorageView.from_array(asked)
        lengths = library().StorageView.from_array(np.full(len(asked), asked.shape[1], np.int32))
        return torch.from_numpy(np.array(self.model().forward_batch(storage, lengths, return_log_probs=True)))

    def _plan(self, inputs: Sequence[Sequence[int]], options: Strategy) -> list[list[int]]:
        """Batches of like length; enough of them for every worker where there are many inputs."""
        lengths = [len(one) for one in inputs]
        openings = lengths if isinstance(self.interface, Writer) else [0] * len(inputs)
        plan = list(batches(lengths, openings, options.rows, BUDGET, SPREAD))
        if isinstance(self.interface, Writer):  # beside a prompt of one token, others would come back in their answers
            both = ([[place for place in own if (lengths[place] > 1) == longer] for own in plan] for longer in (1, 0))
            return [own for parts in both for own in parts if own]
        if len(plan) < self.threads and len(inputs) >= FEW * self.threads:
            order = [place for own in plan for place in own]
            size = -(-len(order) // self.threads)
            plan = [order[start : start + size] for start in range(0, len(order), size)]
        return plan

    def _answer(self, plan: list[Batch], asking: Requests, progress: Progress | None) -> None:
        """All batches are handed over at once; what comes back is put into the places that it belongs to."""
        options, ways = asking.options, asking.ways
        named = {**search_options(options), "return_scores": True, "return_end_token": True, "asynchronous": True}
        if isinstance(options, Sampling):
            model = self._seeded(options.seed)
        else:
            model = self.model(min(self.threads, len(plan)))
        waiting = []
        for batch in plan:
            streamer = TokenStreamer(asking.watch(batch.places), ways, self.symbols.end) if asking.watch else None
            more: dict[str, Any] = {} if streamer is None else {"callback": streamer}
            if batch.forbid and self.symbols.forbidden:
                more["suppress_sequences"] = [[self.interface.target[id]] for id in self.symbols.forbidden]
            rows = [asking.inputs[place] for place in batch.places for _ in range(ways)]
            limit = max(asking.limits[place] for place in batch.places)
            waiting.append((batch.places, self.interface.ask(model, rows, limit, {**named, **more}), streamer))
        for places, asked, streamer in waiting:
            halted = set() if streamer is None else streamer.halted
            rows_said = [self.interface.read(result.result()) for result in asked]
            for number, place in enumerate(places):
                own = range(number * ways, (number + 1) * ways)
                asking.chosen[place] = max(len(one.tokens) for row in own for one in rows_said[row])
                asking.found[place] = ranked(
                    [self._hypothesis(one, options, row in halted) for row in own for one in rows_said[row]]
                )
            if progress is not None:
                progress(len(asking.found), len(asking.inputs))

    def _hypothesis(self, one: RawAnswer, options: Strategy, halted: bool) -> Hypothesis:
        """Their score, undone, and ours made of it."""
        finished = one.tokens[-1:] == (self.symbols.end,)
        alpha = options.length_penalty if isinstance(options, Beam) else 0.0
        total = one.score * max(len(one.tokens), 1) ** alpha
        score = total / length_penalty(len(one.tokens), alpha)
        return Hypothesis(one.tokens[:-1] if finished else one.tokens, total, score, finished or halted)

    def _seeded(self, seed: int) -> Any:
        """A worker draws its seed when it first samples, so a seed wants a worker of its own."""
        library().set_random_seed(seed)
        return self._load(1)

"""Continues prompts, beyond the length that the model reads, until a stop string."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from regard.core.answers import Answer
from regard.core.errors import InputError, OptionError
from regard.core.seams import Decodable, Engine, Hypothesis
from regard.core.seams.task import Progress
from regard.data.modalities.text.tokenizers import Tokenizer
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Strategy
from regard.decoding.sentences import Symbols

USUAL_LENGTH = 200
"""Tokens that are written where nobody says how many."""
Stream = Callable[[str], None]
"""Is given the text as it is written, piece by piece."""
Room = Callable[[Sequence[int]], int]
"""How many tokens may follow a prompt."""


@dataclass(frozen=True)
class Continuation:
    """Writes on from prompts. ``context`` is how many tokens the model reads; past it, the older half is forgotten.

    ``other`` is an engine that chooses the tokens in the model's place.
    """

    model: Decodable
    tokenizer: Tokenizer
    device: torch.device
    context: int
    other: Engine | None = None
    lead: tuple[int, ...] = ()  # what stands before every text, where the tokenizer has no symbol for it

    def predict(
        self,
        prompts: Sequence[str],
        options: Strategy,
        *,
        stop: Sequence[str] = (),
        keep_end: bool = False,
        stream: Stream | None = None,
        progress: Progress | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Answer]]:
        """For each prompt how it goes on, best first; the text ends before the first stop string."""
        numbers = range(len(prompts)) if numbers is None else numbers
        openings = self.openings(prompts, keep_end=keep_end)
        wanted = options.max_length or USUAL_LENGTH

        def room(opening: Sequence[int]) -> int:
            """Its own: an answer does not depend on how long the other prompts are."""
            return min(wanted, self.context - len(opening)) if self.context else wanted

        single = StopStrings(self.tokenizer, openings[:1], stop, stream) if len(openings) == 1 else None
        found: dict[int, list[Hypothesis]] = {}
        for limit, group in self.groups(openings, wanted, room).items():
            chosen = [openings[place] for place in group]
            done = self.engine(room).predict(
                chosen,
                options.model_copy(update={"max_length": limit}),
                prompts=chosen,
                progress=None if progress is None else partial(report_all, progress, len(found), len(openings)),
                watch=self.listeners(chosen, stop, single) if stop or stream is not None else None,
                numbers=[numbers[place] for place in group],
            )
            found.update(zip(group, done, strict=True))
        answers: list[list[Answer]] = []
        for place, opening in enumerate(openings):
            own = found[place]
            hearing = single if len(own) == 1 else None
            whole = [self.write_on(opening, one, options, wanted, hearing, stop) for one in own]
            answers.append([self.answer(opening, one, stop) for one in whole])
        if single is not None:
            single.flush(final=True)
        return answers

    def listeners(
        self, openings: list[list[int]], stop: Sequence[str], single: StopStrings | None
    ) -> Callable[[Sequence[int]], StopStrings]:
        """Who hears the answers of a batch, by the places of its prompts."""
        return lambda places: single or StopStrings(self.tokenizer, [openings[place] for place in places], stop)

    def groups(self, openings: Sequence[Sequence[int]], wanted: int, room: Room) -> dict[int, list[int]]:
        """Places of prompts by the limit that they are asked with: another engine has one for all that it is given."""
        by_limit: dict[int, list[int]] = defaultdict(list)
        for place, opening in enumerate(openings):
            by_limit[wanted if self.other is None else room(opening)].append(place)
        return by_limit

    def openings(self, prompts: Sequence[str], *, keep_end: bool) -> list[list[int]]:
        """Tokens of every prompt, with room for one more; an empty one is what closes the document before."""
        specials = self.tokenizer.specials
        lead = [specials.opening] if specials.opening >= 0 else [*self.lead]
        openings = [[*lead, *ids] or [specials.eos] for ids in self.tokenizer.encode_batch(list(prompts))]
        if [-1] in openings:
            raise OptionError("this model's tokenizer has no symbol to begin an empty prompt with; give it some text")
        most = self.context - 1 if self.context else 0
        long = {place: f"{len(ids)} tokens" for place, ids in enumerate(openings) if most and len(ids) > most}
        if long and not keep_end:
            title = f"the model reads {self.context} tokens, so a prompt has {most} at most, and more have"
            raise InputError(title, long, "shorten them, or keep their ends only with --keep-end")
        return [[*lead, *ids[len(lead) - most :]] if most and len(ids) > most else ids for ids in openings]

    def write_on(
        self, opening: list[int], before: Hypothesis, options: Strategy, wanted: int, listener: StopStrings | None,
        stop: Sequence[str],
    ) -> Hypothesis:  # fmt: skip
        """Past the end of the context: the newer half is read again, and writing goes on from there."""
        hearing = listener or StopStrings(self.tokenizer, [opening], stop, before=before.tokens)
        stretch = 0
        while not before.finished and len(before.tokens) < wanted:
            stretch += 1
            kept = [*opening, *before.tokens][-max(self.context // 2, 1) :]
            room = min(wanted - len(before.tokens), self.context - len(kept))
            changed = options.single_row().with_seed_offset(7919 * stretch).model_copy(update={"max_length": room})
            heard = None if hearing.is_idle else (lambda places: hearing)
            more = self.engine(always(room)).predict([kept], changed, prompts=[kept], watch=heard)[0][0]
            before = replace(
                more,
                tokens=before.tokens + more.tokens,
                log_probability=before.log_probability + more.log_probability,
                score=before.score + more.score,
            )
        return before

    def engine(self, room: Room) -> Engine:
        """What chooses the next tokens, at most ``room`` of them after a prompt."""
        if self.other is not None:
            return self.other

        def collate(prompts: list[list[int]]) -> tuple[int, int]:
            return len(prompts), max((len(prompt) + room(prompt) for prompt in prompts), default=0)

        end = self.tokenizer.specials.eos
        never = tuple(id for id in self.tokenizer.specials.known() if id != end)
        symbols = Symbols(start=None, end=end, forbidden=never)
        return TorchEngine(self.model, collate, symbols=symbols, device=self.device, length=room, room=room)

    def answer(self, opening: list[int], found: Hypothesis, stop: Sequence[str]) -> Answer:
        text = continued(self.tokenizer, opening, found.tokens)
        end = first_stop(text, stop)
        return Answer(text if end is None else text[:end], found.log_probability, found.score)


def report_all(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """Of all, while a part is worked on."""
    progress(before + done, total)


def always(room: int) -> Room:
    """The same after every prompt."""
    return lambda prompt: room


def continued(tokenizer: Tokenizer, opening: Sequence[int], tokens: Sequence[int]) -> str:
    """What the tokens add to the opening's text: spaces depend on what stands before."""
    before = tokenizer.decode(opening)
    whole = tokenizer.decode([*opening, *tokens])
    return whole[len(before) :] if whole.startswith(before) else tokenizer.decode(tokens)


def first_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the first of the stop strings begins, if one stands in the text."""
    places = [place for place in (text.find(one) for one in stop) if place >= 0]
    return min(places, default=None)


class StopStrings:
    """Hears every token of a batch: ends an answer at a stop string, and passes the text of a single one on.

    What may still become a stop string, or a character of several bytes, is held back until it is settled.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        openings: list[list[int]],
        stop: Sequence[str],
        stream: Stream | None = None,
        before: Sequence[int] = (),
    ) -> None:
        self.tokenizer, self.openings, self.stop, self.stream = tokenizer, openings, tuple(stop), stream
        self.tokens: dict[tuple[int, int], list[int]] = {(0, 0): list(before)}
        self.flushed = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing that it hears would matter."""
        return not self.stop and self.stream is None

    def __call__(self, running_B: Tensor, tokens_BN: Tensor) -> Tensor | None:
        if self.is_idle:
            return None
        halted = []
        for sentence, ways in zip(running_B.tolist(), tokens_BN.tolist()):
            halted.append([self.add(sentence, way, token) for way, token in enumerate(ways)])
        return torch.tensor(halted, device=tokens_BN.device)

    def add(self, sentence: int, way: int, token: int) -> bool:
        """Whether the answer ends with this token."""
        own = self.tokens.setdefault((sentence, way), [])
        if token == self.tokenizer.specials.eos:
            return False
        own.append(token)
        self.flush(final=False)
        return first_stop(continued(self.tokenizer, self.openings[sentence], own), self.stop) is not None

    def flush(self, *, final: bool) -> None:
        """Tells what is settled of the first answer's text and was not told yet."""
        if self.stream is None:
            return
        text = continued(self.tokenizer, self.openings[0], self.tokens[0, 0])
        end = first_stop(text, self.stop)
        settled = len(text) if end is None else end
        if end is None and not final:
            settled -= len(text) - len(text.rstrip("�"))
            settled = min([settled, *(len(text) - overlap(text, one) for one in self.stop)])
        if settled > self.flushed:
            self.stream(text[self.flushed : settled])
            self.flushed = settled


def overlap(text: str, stop: str) -> int:
    """How many signs at the text's end are the beginning of the stop string."""
    return next((count for count in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:count])), 0)

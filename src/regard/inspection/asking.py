"""One text as a run's model reads it: its tokens, what it is expected to answer, and its answer as logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from regard.core.batch import move
from regard.core.capabilities import Continues, Fills, ReadsTexts, Translates
from regard.core.errors import OptionError
from regard.data.modalities.text.enclosing import Enclosed, collate_texts
from regard.decoding.options import Strategy
from regard.inspection.head_names import Kind
from regard.inspection.splits import places, task_over
from regard.layers.headed import Headed
from regard.runs.load import Run
from regard.tasks.masking import Stretches
from regard.tasks.translation import check_source_lengths

UNKNOWN = -1  # no answer is expected here


@dataclass(frozen=True)
class Question:
    """``ids`` are read where answers are given (the answer so far, or the text); ``source_ids`` beside it, or nothing.

    ``expected`` is the right answer at each of the ids; ``asked`` are the positions whose answers count.
    """

    source_ids: tuple[int, ...]
    ids: tuple[int, ...]
    expected: tuple[int, ...]
    asked: tuple[int, ...]
    source: tuple[str, ...]
    tokens: tuple[str, ...]
    blank: int  # what a token of the text is hidden behind
    closing: int  # the symbol that separates texts
    collate: Callable[[Question], tuple[Any, ...]]

    def inputs(self) -> tuple[Any, ...]:
        """What the model takes."""
        return self.collate(self)

    @property
    def readable(self) -> int:
        """How many tokens could be taken away: of the source, or of the text where there is no source."""
        return len(self.source_ids or self.ids)

    def without(self, position: int) -> Question:
        """A source loses the token; in a text, whose positions give the answers, it is hidden."""
        if self.source_ids:
            left = (*self.source_ids[:position], *self.source_ids[position + 1 :])
            return replace(self, source_ids=left, source=(*self.source[:position], *self.source[position + 1 :]))
        return replace(self, ids=(*self.ids[:position], self.blank, *self.ids[position + 1 :]))


def question(run: Run, text: str, target: str = "") -> Question:
    """The text as the run's model reads it; of a translator together with the target, or with its own answer."""
    task = run.task
    if isinstance(task, Translates):
        return _pair(run, text, target)
    if target:
        raise OptionError(f"{run.folder.path} ({run.recipe.task.kind}) reads one text; leave the target out")
    if isinstance(task, Continues):
        return _running(run, text)
    if isinstance(task, Fills):
        return _masked(run, task, text)
    if isinstance(task, ReadsTexts):
        return _headed(run, task, text)
    raise OptionError(
        f"{run.folder.path}: how a text is read under the task {run.recipe.task.kind!r} is not known here; "
        "use regard.record on the model itself"
    )


def questions(run: Run, texts: Sequence[str | Question], targets: Sequence[str] = ()) -> list[Question]:
    """One for each text; the targets, where given, in the same order. What is a question already stays one."""
    texts = [texts] if isinstance(texts, str) else texts
    if not texts:
        raise OptionError("there is no text to look at; give at least one")
    if targets and len(targets) != len(texts):
        raise OptionError(f"{len(texts)} texts against {len(targets)} targets; give one for each, in order")
    return [
        text if isinstance(text, Question) else question(run, text, target)
        for text, target in zip(texts, targets or [""] * len(texts))
    ]


def split_questions(run: Run, split: str = "validation", examples: int = 50) -> list[Question]:
    """Examples of one of the recipe's splits, evenly chosen, for all that takes texts: pairs, or stretches of text."""
    task = task_over(run, split)
    found = task.examples(split, 0)
    if isinstance(task, Translates):
        return [_of_pair(run, found[at].source.tolist(), found[at].target.tolist()) for at in places(found, examples)]
    if isinstance(task, Continues):
        return [_of_text(run, found[at].tokens[:-1].tolist()) for at in places(found, examples)]
    if isinstance(task, ReadsTexts):
        return [_of_enclosed(run, task.enclosed(found[at])) for at in places(found, examples)]
    assert isinstance(found.items, Stretches), "masked language models alone are left"
    return [_of_masked(run, found.items.plain(at).tolist()) for at in places(found, examples)]


def _pair(run: Run, text: str, target: str) -> Question:
    source, answer = run.vocabularies.source, run.vocabularies.target
    longest = getattr(run.model, "longest", (0, 0))
    source_ids = source.encode(text.strip())  # as pairs are read from files
    check_source_lengths([source_ids], longest[0])
    if target:
        answer_ids = answer.encode(target.strip())
    else:
        strategy = cast(Strategy, run.recipe.decoding)
        answer_ids = list(run.engine.predict([source_ids], strategy)[0][0].tokens)
    _refuse_beyond(1 + len(answer_ids), longest[1], "the target, its opening symbol among them,")
    return _of_pair(run, source_ids, answer_ids)


def _of_pair(run: Run, source_ids: Sequence[int], answer_ids: Sequence[int]) -> Question:
    source, answer = run.vocabularies.source, run.vocabularies.target
    ids, closed = (answer.specials.sos, *answer_ids), (*source_ids, source.specials.eos)

    def collate(own: Question) -> tuple[Tensor, ...]:
        lengths_B = torch.tensor([len(own.source_ids)], device=run.device)
        return _row(own.source_ids, run), lengths_B, _row(own.ids, run)

    return Question(
        closed,
        ids,
        (*answer_ids, answer.specials.eos),
        tuple(range(len(ids))),
        tuple(map(source.token, closed)),
        tuple(map(answer.token, ids)),
        source.specials.unk,
        source.specials.eos,
        collate,
    )


def _running(run: Run, text: str) -> Question:
    ids = replace(run.continuation, context=0).openings([text], keep_end=False)[0]
    _refuse_beyond(len(ids), run.continuation.context, "the text")
    return _of_text(run, ids)


def _of_text(run: Run, ids: Sequence[int]) -> Question:
    tokenizer, specials = run.vocabularies.target, run.vocabularies.target.specials
    expected, everywhere = (*ids[1:], UNKNOWN), tuple(range(len(ids)))
    tokens = tuple(map(tokenizer.token, ids))
    blank = specials.unk if specials.unk >= 0 else specials.eos
    return Question(
        (), tuple(ids), expected, everywhere, (), tokens, blank, specials.eos, lambda own: (_row(own.ids, run),)
    )


def _masked(run: Run, task: Fills, text: str) -> Question:
    specials = run.vocabularies.target.specials
    inside = task.filling(run.session()).reader.encode(text, add_special_tokens=False).ids
    _refuse_beyond(2 + len(inside), getattr(run.model, "context", 0), "the text, the symbols around it among them,")
    return _of_masked(run, (specials.sos, *inside, specials.eos))


def _of_masked(run: Run, ids: Sequence[int]) -> Question:
    tokenizer, specials = run.vocabularies.target, run.vocabularies.target.specials
    masks = tuple(place for place, id in enumerate(ids) if id == specials.mask)
    expected = tuple(UNKNOWN if id == specials.mask else id for id in ids)

    def collate(own: Question) -> tuple[Tensor, ...]:
        return _row(own.ids, run), torch.tensor([len(own.ids)], device=run.device)

    asked = masks or tuple(range(1, len(ids) - 1))
    tokens = tuple(map(tokenizer.token, ids))
    return Question((), tuple(ids), expected, asked, (), tokens, specials.mask, specials.eos, collate)


def _headed(run: Run, task: ReadsTexts, text: str) -> Question:
    """One text, or two with a tab between them, as a head's body reads them."""
    enclosed = task.enclose(text)
    length = len(enclosed.tokens) + enclosed.cut
    _refuse_beyond(length, task.max_length, "the text, the symbols around it among them,")
    return _of_enclosed(run, enclosed)


def _of_enclosed(run: Run, enclosed: Enclosed) -> Question:
    """Nothing is expected at its positions: the answer is one for the whole text."""
    tokenizer, specials = run.vocabularies.source, run.vocabularies.source.specials

    def collate(own: Question) -> tuple[Any, ...]:
        batch = move(collate_texts([replace(enclosed, tokens=np.array(own.ids))], specials.pad), run.device)
        return (batch,)

    ids = tuple(enclosed.tokens.tolist())
    blank = specials.mask if specials.mask >= 0 else specials.unk
    nothing = (UNKNOWN,) * len(ids)
    return Question((), ids, nothing, (), (), tuple(map(tokenizer.token, ids)), blank, specials.eos, collate)


def _row(ids: Sequence[int], run: Run) -> Tensor:
    return torch.tensor([list(ids)], dtype=torch.long, device=run.device)


def _refuse_beyond(length: int, most: int, what: str) -> None:
    if most and length > most:
        raise OptionError(f"the model reads at most {most} tokens, and {what} has {length}; shorten it or split it")


@torch.inference_mode()
def answer(model: Any, asked: Question) -> Tensor:
    """logits_TW at every position of the ids."""
    if isinstance(model, Headed):
        raise OptionError(
            "a head on a body answers for the whole text, or in symbols of its own, not in tokens at each position; "
            "ask it with run.answers"
        )
    model.eval()
    return model.head(model(*asked.inputs()))[0].float()


def axes(asked: Question, kind: Kind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens of the rows (who looks) and of the columns (what is looked at)."""
    rows = asked.source if kind == "encoder" else asked.tokens
    return rows, asked.source if kind in ("encoder", "cross") else asked.tokens

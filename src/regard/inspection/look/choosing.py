"""How an answer was chosen: the candidates at every step, and the tree of a beam search."""

from __future__ import annotations

from typing import Any

import torch

from regard.core.capabilities import AnswersQuestions, Classifies, Continues
from regard.decoding.engine import TorchEngine
from regard.decoding.options import Beam
from regard.inspection.asking import UNKNOWN, Question, answer
from regard.inspection.look.packing import three
from regard.runs.load import Run
from regard.tasks.answer_spans import question_and_context
from regard.tasks.continuation import always
from regard.tasks.tagging import Tagging, worded

CANDIDATES = 8
BEAM = 4
WRITTEN_ON = 10  # tokens that a language model is let write
STEPS = 40  # of a beam search that are drawn


@torch.inference_mode()
def steps(run: Run, asked: Question) -> list[dict[str, Any]]:
    """At every position that is asked about: the most probable tokens, and how the expected one fares."""
    token = run.vocabularies.target.token
    chances_TW = answer(run.model, asked).softmax(-1).cpu()
    best_T = chances_TW.topk(min(CANDIDATES, chances_TW.shape[-1]), dim=-1)
    found = []
    for place in asked.asked:
        row = zip(best_T.indices[place].tolist(), best_T.values[place].tolist())
        one: dict[str, Any] = {"at": place, "candidates": [[token(id), three(chance)] for id, chance in row]}
        expected = asked.expected[place]
        if expected != UNKNOWN:
            chance = chances_TW[place, expected]
            rank = 1 + int((chances_TW[place] > chance).sum())
            one |= {"chosen": token(expected), "probability": three(float(chance)), "rank": rank}
        found.append(one)
    return found


def classes(run: Run, text: str) -> list[list[Any]]:
    """What a classifier says of the whole text, or the answers that were found in it, most probable first."""
    task = run.task
    if isinstance(task, Classifies):
        return [[one.label, three(one.score)] for one in task.classify(run.session(), [text])[0]]
    if isinstance(task, AnswersQuestions):
        found = task.answer(run.session(), question_and_context([text]), CANDIDATES)[0]
        return [[one.text or "(no answer)", three(one.probability)] for one in found]
    return []


def tags(run: Run, text: str) -> list[dict[str, Any]]:
    """The most probable tags of every word that a tagger hears."""
    task = run.task
    if not isinstance(task, Tagging):
        return []
    sentence = worded(text)
    heard = task.reader.heard([sentence])
    chances_NC = task.probabilities(run.session(), [sentence], heard)[0]
    found = []
    for word, place in zip(heard[0].words_M.tolist(), heard[0].places_M.tolist()):
        best = (-chances_NC[word]).argsort(kind="stable")[:CANDIDATES]
        candidates = [[task.config.labels[tag], three(float(chances_NC[word, tag]))] for tag in best]
        found.append({"at": place, "name": sentence.words[word], "candidates": candidates})
    return found


def beam_tree(run: Run, asked: Question) -> dict[str, Any] | None:
    """The search for an answer to the source, or for how the text goes on; None where nothing is written."""
    given = run.recipe.decoding
    prompt: tuple[int, ...] = ()
    options = given if isinstance(given, Beam) else Beam(size=BEAM)
    if asked.source_ids:
        engine, one_input = run.engine, list(asked.source_ids[:-1])
        options = options.model_copy(update={"n_best": options.size})
    elif isinstance(run.task, Continues):
        room = min(WRITTEN_ON, run.continuation.context - len(asked.ids)) if run.continuation.context else WRITTEN_ON
        if room < 1:
            return None
        found = run.continuation.engine(always(room))
        if not isinstance(found, TorchEngine):
            return None
        engine, one_input, prompt = found, list(asked.ids), tuple(asked.ids)
        options = options.model_copy(update={"max_length": room, "n_best": options.size})
    else:
        return None
    answers, trace = engine.explain(one_input, options, prompt=prompt)
    token, tokenizer = run.vocabularies.target.token, run.vocabularies.target
    return {
        "size": options.size,
        "penalty": options.length_penalty,
        "answers": [
            {"text": tokenizer.decode(list(one.tokens)), "tokens": [token(id) for id in one.tokens],
             "score": three(one.score), "finished": one.finished}
            for one in answers
        ],
        "steps": [
            [
                {"parent": one.parent, "token": token(one.token), "place": one.place, "finished": one.finished,
                 "chance": three(torch.tensor(one.step_log_probability).exp().item()), "score": three(one.score)}
                for one in step.candidates
            ]
            for step in trace.of(0)[:STEPS]
        ],
        "left_out": max(len(trace.of(0)) - STEPS, 0),
    }  # fmt: skip

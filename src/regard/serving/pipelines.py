"""The pipelines, one class a task: the names, arguments and answers that users of Hugging Face's version 4 know."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.core.seams import Body
from regard.core.seams.capabilities import Classifies, Continues, Fills
from regard.decoding.options import Beam, Greedy, Sampling, Strategy
from regard.layers.headed import body_of
from regard.runs.load import Run
from regard.serving.calling import Pipeline, check_value, strings
from regard.serving.pictures import ImageClassification, figure_of
from regard.serving.sounds import AudioClassification, SpeechRecognition
from regard.tasks import question_answering as tasks
from regard.tasks import translation
from regard.tasks.reading import check_length
from regard.tasks.tagging import Tagging


class TextClassification(Pipeline):
    """``{"label", "score"}`` for each text; with ``top_k`` so many of them, with ``top_k=None`` all."""

    task, needs, kind = "text-classification", Classifies, "classification"
    known = {"top_k": 1, "return_all_scores": False, "function_to_apply": "default"}  # noqa: RUF012

    def __call__(self, inputs: Any, **options: Any) -> Any:
        """Lists of labels where somebody says how many, else bare ones; that of a lone text in a list, as theirs."""
        given = {**self.options, **options}
        listed = "top_k" in given or given.get("return_all_scores", False)
        found = super().__call__(inputs, **options)
        if listed:
            return found
        if isinstance(inputs, str):
            return found[:1]
        if isinstance(inputs, dict):
            return found[0]
        if isinstance(inputs, list | tuple):
            return [own[0] for own in found]
        return (own[0] for own in found)

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        texts = [(one["text"], one["text_pair"]) if isinstance(one, dict) and "text_pair" in one
                 else one["text"] if isinstance(one, dict) else one for one in inputs]  # fmt: skip
        wrong = [str(place) for place, one in enumerate(texts, 1) if not isinstance(one, str | tuple)]
        if wrong:
            raise OptionError(f"the pipeline {self.task!r} takes texts; input {', '.join(wrong[:10])} is none")
        wanted = None if options["return_all_scores"] else options["top_k"]
        kind = figure_of(options["function_to_apply"])
        found = self.task_as(Classifies).classify(self.run.session(), texts, kind)
        return [[{"label": one.label, "score": one.score} for one in own[:wanted]] for own in found]


class TokenClassification(Pipeline):
    """``{"entity", "score", "index", "word", "start", "end"}`` for each word that is not of ``ignore_labels``.

    With an ``aggregation_strategy`` other than "none", words that belong together: ``{"entity_group", "score", "word",
    "start", "end"}``. Tags belong to words here, so their strategies for pieces of one word all do the same.
    """

    task, needs, kind = "token-classification", Tagging, "tagging"
    known = {"aggregation_strategy": "none", "ignore_labels": ("O",), "grouped_entities": False}  # noqa: RUF012
    ignored = Pipeline.ignored | {"stride", "offset_mapping", "is_split_into_words", "ignore_subwords"}
    strategies = ("none", "simple", "first", "average", "max")

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        strategy, ignored = options["aggregation_strategy"], options["ignore_labels"]
        check_value("aggregation_strategy", strategy, self.strategies)
        if strategy == "none" and options["grouped_entities"]:
            strategy = "simple"
        texts = strings(inputs, self.task)
        if strategy == "none":
            return [self.words(own.words, ignored) for own in self.task_as(Tagging).tag(self.run.session(), texts)]
        return [
            [
                {"entity_group": one.label, "score": one.probability, "word": one.text, "start": one.start,
                 "end": one.stop}
                for one in own if one.label not in ignored
            ]
            for own in self.task_as(Tagging).groups(self.run.session(), texts)
        ]  # fmt: skip

    def words(self, tagged: Sequence[Any], ignored: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {"entity": one.tag, "score": one.probability, "index": place, "word": one.word, "start": one.start,
             "end": one.stop}
            for place, one in enumerate(tagged, start=1) if one.tag not in ignored
        ]  # fmt: skip


class QuestionAnswering(Pipeline):
    """``{"score", "start", "end", "answer"}`` for each question and its context; with ``top_k`` above 1 a list.

    Limits are in tokens, and those of the run where none are given; ``doc_stride`` is by how much windows overlap, as
    theirs is.
    """

    task, needs, kind = "question-answering", tasks.QuestionAnswering, "question-answering"
    limits = {  # noqa: RUF012
        "max_answer_len": "max_answer_length", "max_seq_len": "max_length", "max_question_len": "max_question_length",
    }  # fmt: skip
    known = {"top_k": 1, **dict.fromkeys(limits), "doc_stride": 0, "handle_impossible_answer": None}  # noqa: RUF012
    ignored = Pipeline.ignored | {"align_to_words"}

    def __call__(self, inputs: Any = None, **options: Any) -> Any:
        """A dict with both, a list of them, or ``question=`` and ``context=``, each one or a list."""
        if inputs is None:
            inputs = asked_by_name(options.pop("question", None), options.pop("context", None))
        return super().__call__(inputs, **options)

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        wanted = {"question", "context"}
        wrong = [place for place, one in enumerate(inputs, 1) if not isinstance(one, dict) or wanted - {*one}]
        if wrong:
            raise OptionError(f'input {", ".join(map(str, wrong[:10]))} is no {{"question": …, "context": …}}')
        pairs = [(one["question"], one["context"]) for one in inputs]
        found = self.limited(options).answer(self.run.session(), pairs, options["top_k"])
        told = [[{"score": one.probability, "start": one.start, "end": one.stop, "answer": one.text} for one in own]
                for own in found]  # fmt: skip
        return [own[0] for own in told] if options["top_k"] == 1 else told

    def limited(self, options: dict[str, Any]) -> tasks.QuestionAnswering:
        """The run's task, with what the call says about lengths, windows and answers that are not there."""
        changes = {own: options[name] for name, own in self.limits.items() if options[name] is not None}
        if options["handle_impossible_answer"] is not None:
            changes["unanswerable"] = "yes" if options["handle_impossible_answer"] else "no"
        limited = self.task_as(tasks.QuestionAnswering).changed(changes, options["doc_stride"])
        check_length(self.run.model.body, limited.config.max_length)
        return limited


def asked_by_name(question: Any, context: Any) -> Any:
    """One context may serve several questions."""
    if question is None or context is None:
        raise OptionError("give both question= and context=")
    if isinstance(question, str):
        return {"question": question, "context": context}
    contexts = [context] * len(question) if isinstance(context, str) else list(context)
    if len(contexts) != len(question):
        raise OptionError(f"{len(question)} questions against {len(contexts)} contexts; give one for each, or one")
    return [{"question": one, "context": own} for one, own in zip(question, contexts, strict=True)]


class FillMask(Pipeline):
    """``{"score", "token", "token_str", "sequence"}`` for the best words behind a mask; several masks: a list each.

    With ``targets``, only these words are ranked.
    """

    task, needs, kind = "fill-mask", Fills, "masked-language-model"
    known = {"top_k": 5, "targets": None}  # noqa: RUF012
    ignored = Pipeline.ignored | {"tokenizer_kwargs"}

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        texts = strings(inputs, self.task)
        filling = self.task_as(Fills).filling(self.run.session())
        rows = filling.read(texts)
        answers = []
        among = self.pieces(options["targets"])
        for row, found in zip(rows, filling.guess(rows, options["top_k"], None, among), strict=True):
            masks = [self.filled(row, place, guesses) for place, guesses in enumerate(found)]
            answers.append(masks[0] if len(masks) == 1 else masks)
        return answers

    def pieces(self, targets: str | Sequence[str] | None) -> list[int]:
        """The words that may stand there; of one that the tokenizer divides, the first piece, and a warning."""
        tokenizer = self.run.vocabularies.target
        words = [targets] if isinstance(targets, str) else list(targets or ())
        found = [tokenizer.encode(word) for word in words]
        strange = [word for word, ids in zip(words, found, strict=True) if not ids or ids[0] == tokenizer.specials.unk]
        if strange or (targets is not None and not words):
            named = ", ".join(map(repr, strange)) or "none"
            raise OptionError(f"targets are words that the model may know; found {named}")
        for word, ids in zip(words, found, strict=True):
            if len(ids) > 1:
                first = tokenizer.token(ids[0])
                warnings.warn(f"the target {word!r} is not a single piece; its first, {first!r}, is used", stacklevel=4)
        return [ids[0] for ids in found]

    def filled(self, row: Sequence[int], place: int, guesses: Sequence[Any]) -> list[dict[str, Any]]:
        tokenizer = self.run.vocabularies.target
        at = [position for position, id in enumerate(row) if id == tokenizer.specials.mask][place]
        return [
            {
                "score": guess.probability,
                "token": guess.id,
                "token_str": tokenizer.decode([guess.id]).strip(),
                "sequence": tokenizer.decode([*row[:at], guess.id, *row[at + 1 :]]),
            }
            for guess in guesses
        ]


class TextGeneration(Pipeline):
    """``[{"generated_text"}]`` for each prompt, the prompt in front unless ``return_full_text=False``.

    ``max_new_tokens`` are those after the prompt, ``max_length`` those of both together.
    """

    task, needs, kind = "text-generation", Continues, "language-model"
    known = {  # noqa: RUF012
        "max_new_tokens": None, "max_length": None, "do_sample": False, "temperature": 1.0, "top_k": 50, "top_p": 1.0,
        "min_p": 0.0, "repetition_penalty": 1.0, "num_return_sequences": 1, "num_beams": 1, "return_full_text": True,
        "seed": 1, "stop_strings": (),
    }  # fmt: skip
    ignored = (Pipeline.ignored - {"max_length"}) | {"clean_up_tokenization_spaces", "pad_token_id", "eos_token_id"}
    usual = 50  # new tokens, where nobody says how many

    def strategy(self, options: dict[str, Any], limit: int) -> Strategy:
        several = options["num_return_sequences"]
        if options["do_sample"]:
            names = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")
            return Sampling(max_length=limit, n_best=several, **{name: options[name] for name in names})
        if options["num_beams"] > 1:
            return Beam(size=options["num_beams"], n_best=several, max_length=limit)
        if several > 1:
            raise OptionError("greedy writing gives one answer; set do_sample=True or num_beams for several")
        return Greedy(max_length=limit)

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        prompts, stop = strings(inputs, self.task), options["stop_strings"]
        stops = [stop] if isinstance(stop, str) else list(stop)
        limits = self.limits(prompts, options)
        found: dict[int, Any] = {}
        for limit in sorted(set(limits)):  # as many together as may write equally much
            places = [place for place, own in enumerate(limits) if own == limit]
            answers = self.run.continuation.predict(
                [prompts[place] for place in places], self.strategy(options, limit), stop=stops, keep_end=True
            )
            found |= zip(places, answers, strict=True)
        whole = options["return_full_text"]
        return [
            [{"generated_text": (prompt if whole else "") + one.text} for one in found[place]]
            for place, prompt in enumerate(prompts)
        ]

    def limits(self, prompts: Sequence[str], options: dict[str, Any]) -> list[int]:
        """How many tokens may be written after each; ``max_new_tokens`` has the last word."""
        if options["max_new_tokens"] is not None or options["max_length"] is None:
            return [self.usual if options["max_new_tokens"] is None else options["max_new_tokens"]] * len(prompts)
        counts = [len(ids) for ids in self.run.continuation.openings(prompts, keep_end=True)]
        full = [f"{place} ({count})" for place, count in enumerate(counts, 1) if count >= options["max_length"]]
        if full:
            raise OptionError(
                f"max_length = {options['max_length']} counts the prompt too, and leaves no token to write after "
                f"(prompt, tokens): {', '.join(full[:20])}; raise it, or give max_new_tokens"
            )
        return [options["max_length"] - count for count in counts]


class Translation(Pipeline):
    """``{"translation_text"}`` for each text; alone, in a list of one."""

    task, needs, kind = "translation", translation.Translation, "translation"
    known = {"num_beams": 0, "max_length": 0}  # noqa: RUF012
    ignored = (Pipeline.ignored - {"max_length"}) | {"src_lang", "tgt_lang", "clean_up_tokenization_spaces"}

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        strategy: Any = self.run.recipe.decoding
        if options["num_beams"]:
            strategy = Beam(size=options["num_beams"]) if options["num_beams"] > 1 else Greedy()
        if options["max_length"]:
            strategy = strategy.model_copy(update={"max_length": options["max_length"]})
        return [{"translation_text": text} for text in self.run.predict(strings(inputs, self.task), strategy)]

    def alone(self, answer: Any) -> Any:
        return [answer]


class FeatureExtraction(Pipeline):
    """The states of every token, symbols included: a list of one list of vectors for each text; or a tensor."""

    task = "feature-extraction"
    known = {"return_tensors": False}  # noqa: RUF012
    ignored = Pipeline.ignored | {"tokenize_kwargs"}

    @classmethod
    def can_answer(cls, run: Run) -> bool:
        return isinstance(body_of(run.model), Body)

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        states = self.run.states(strings(inputs, self.task))
        return [one[None] if options["return_tensors"] else one[None].tolist() for one in states]


KINDS: dict[str, type[Pipeline]] = {
    "text-classification": TextClassification,
    "sentiment-analysis": TextClassification,
    "token-classification": TokenClassification,
    "ner": TokenClassification,
    "question-answering": QuestionAnswering,
    "fill-mask": FillMask,
    "feature-extraction": FeatureExtraction,
    "text-generation": TextGeneration,
    "translation": Translation,
    "image-classification": ImageClassification,
    "audio-classification": AudioClassification,
    "automatic-speech-recognition": SpeechRecognition,
}
"""The pipelines by name."""

DEFAULTS = {
    "text-classification": "mood",
    "sentiment-analysis": "mood",
    "token-classification": "tags",
    "ner": "tags",
    "question-answering": "questions",
    "fill-mask": "bert-small-world",
    "feature-extraction": "bert-small-world",
    "text-generation": "gpt-small-world",
    "translation": "small-world",
}
"""The recipe of each where nobody names a model; what is not among them needs data that is not generated."""


def kind_of(task: str) -> str:
    """The name of a pipeline; ``translation_en_to_fr`` is a translation."""
    name = "translation" if task.startswith("translation_") else task
    if name not in KINDS:
        raise OptionError(f"there is no pipeline {task!r}{nearest(task, KINDS)}; available: {', '.join(KINDS)}")
    return name

"""The pipelines, one class a task: the names, arguments and answers that users of Hugging Face's version 4 know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.core.config import nearest
from regard.core.errors import OptionError
from regard.decoding.options import Beam, Greedy, Sampling, Strategy
from regard.runs.load import Run
from regard.serving.calling import Pipeline, strings


class TextClassification(Pipeline):
    """``{"label", "score"}`` for each text; with ``top_k`` so many of them, with ``top_k=None`` all."""

    task = "text-classification"
    known = {"top_k": 1, "return_all_scores": False}  # noqa: RUF012
    idle = Pipeline.idle | {"function_to_apply"}

    def refuse_unfit(self) -> None:
        refuse_without(self.run, "classify", self.task, "classification")

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
        wanted = None if options["return_all_scores"] else options["top_k"]
        found = self.run.task.classify(self.run.model, texts, self.run.device)
        return [[{"label": label, "score": share} for label, share in own[:wanted]] for own in found]


class TokenClassification(Pipeline):
    """``{"entity", "score", "index", "word", "start", "end"}`` for each word that is not of ``ignore_labels``.

    With an ``aggregation_strategy`` other than "none", words that belong together: ``{"entity_group", "score", "word",
    "start", "end"}``. Tags belong to words here, so their strategies for pieces of one word all do the same.
    """

    task = "token-classification"
    known = {"aggregation_strategy": "none", "ignore_labels": ("O",)}  # noqa: RUF012
    idle = Pipeline.idle | {"stride", "offset_mapping", "is_split_into_words", "grouped_entities"}
    strategies = ("none", "simple", "first", "average", "max")

    def refuse_unfit(self) -> None:
        refuse_without(self.run, "tag", self.task, "tagging")

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        strategy, ignored = options["aggregation_strategy"], options["ignore_labels"]
        if strategy not in self.strategies:
            hint = nearest(strategy, self.strategies)
            raise OptionError(f"no aggregation_strategy {strategy!r}{hint}; there is: {', '.join(self.strategies)}")
        texts = strings(inputs, self.task)
        if strategy == "none":
            return [self.words(own, ignored) for own in self.run.task.tag(self.run.model, texts, self.run.device)]
        return [
            [
                {"entity_group": one.label, "score": one.probability, "word": one.text, "start": one.start,
                 "end": one.stop}
                for one in own if one.label not in ignored
            ]
            for own in self.run.task.groups(self.run.model, texts, self.run.device)
        ]  # fmt: skip

    def words(self, tagged: Sequence[Any], ignored: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {"entity": one.tag, "score": one.probability, "index": place, "word": one.word, "start": one.start,
             "end": one.stop}
            for place, one in enumerate(tagged, start=1) if one.tag not in ignored
        ]  # fmt: skip


class QuestionAnswering(Pipeline):
    """``{"score", "start", "end", "answer"}`` for each question and its context; with ``top_k`` above 1 a list."""

    task = "question-answering"
    known = {"top_k": 1}  # noqa: RUF012
    idle = Pipeline.idle | {"doc_stride", "max_answer_len", "max_seq_len", "max_question_len", "align_to_words",
                            "handle_impossible_answer"}  # fmt: skip

    def refuse_unfit(self) -> None:
        refuse_without(self.run, "answer", self.task, "question-answering")

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
        found = self.run.task.answer(self.run.model, pairs, self.run.device, options["top_k"])
        told = [[{"score": one.probability, "start": one.start, "end": one.stop, "answer": one.text} for one in own]
                for own in found]  # fmt: skip
        return [own[0] for own in told] if options["top_k"] == 1 else told


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
    """``{"score", "token", "token_str", "sequence"}`` for the best words behind a mask; several masks: a list each."""

    task = "fill-mask"
    known = {"top_k": 5}  # noqa: RUF012
    idle = Pipeline.idle | {"tokenizer_kwargs"}

    def refuse_unfit(self) -> None:
        refuse_without(self.run, "filling", self.task, "masked-language-model")

    def answer(self, inputs: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        texts = strings(inputs, self.task)
        filling = self.run.task.filling(self.run.model, self.run.device)
        rows = filling.read(texts)
        answers = []
        for row, found in zip(rows, filling.guess(rows, options["top_k"], None), strict=True):
            masks = [self.filled(row, place, guesses) for place, guesses in enumerate(found)]
            answers.append(masks[0] if len(masks) == 1 else masks)
        return answers

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
    """``[{"generated_text"}]`` for each prompt, the prompt in front unless ``return_full_text=False``."""

    task = "text-generation"
    known = {  # noqa: RUF012
        "max_new_tokens": 50, "do_sample": False, "temperature": 1.0, "top_k": 50, "top_p": 1.0, "min_p": 0.0,
        "repetition_penalty": 1.0, "num_return_sequences": 1, "num_beams": 1, "return_full_text": True, "seed": 1,
        "stop_strings": (),
    }  # fmt: skip
    idle = Pipeline.idle | {"clean_up_tokenization_spaces", "pad_token_id", "eos_token_id"}

    def refuse_unfit(self) -> None:
        refuse_without(self.run, "continuation", self.task, "language-model")

    def strategy(self, options: dict[str, Any]) -> Strategy:
        limit, several = options["max_new_tokens"], options["num_return_sequences"]
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
        found = self.run.continuation.predict(prompts, self.strategy(options), stop=stops, keep_end=True)
        whole = options["return_full_text"]
        return [
            [{"generated_text": (prompt if whole else "") + one.text} for one in own]
            for prompt, own in zip(prompts, found, strict=True)
        ]


class Translation(Pipeline):
    """``{"translation_text"}`` for each text; alone, in a list of one."""

    task = "translation"
    known = {"num_beams": 0, "max_length": 0}  # noqa: RUF012
    idle = (Pipeline.idle - {"max_length"}) | {"src_lang", "tgt_lang", "clean_up_tokenization_spaces"}

    def refuse_unfit(self) -> None:
        if self.run.recipe.task.kind != "translation":
            raise unfit(self.run, self.task, "translation")

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
    idle = Pipeline.idle | {"tokenize_kwargs"}

    def refuse_unfit(self) -> None:
        if not hasattr(getattr(self.run.model, "body", self.run.model), "represent"):
            raise OptionError(f"{type(self.run.model).__name__} gives no states of tokens; name another model")

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
"""The recipe of each where nobody names a model."""


def kind_of(task: str) -> str:
    """The name of a pipeline; ``translation_en_to_fr`` is a translation."""
    name = "translation" if task.startswith("translation_") else task
    if name not in KINDS:
        raise OptionError(f"there is no pipeline {task!r}{nearest(task, KINDS)}; there is: {', '.join(KINDS)}")
    return name


def refuse_without(run: Run, method: str, task: str, kind: str) -> None:
    if not hasattr(run.task, method):
        raise unfit(run, task, kind)


def unfit(run: Run, task: str, kind: str) -> OptionError:
    return OptionError(
        f"{run.folder.path} was trained for {run.recipe.task.kind}, and the pipeline {task!r} needs a run of task.kind "
        f"= {kind!r}; name another model, or make one with: regard train RECIPE --from {run.folder.path}"
    )

"""Heads of tasks come in and go out: classes, tags and answers of BERT, RoBERTa and DistilBERT, their labels too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    AutoTokenizer,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    DistilBertForTokenClassification,
    RobertaForQuestionAnswering,
    RobertaForSequenceClassification,
    RobertaForTokenClassification,
    pipeline,
)

import regard
from regard.cli.main import main
from regard.core.config import parse
from regard.core.errors import OptionError, RunError
from regard.core.inputs import Inputs
from regard.data.corpus import Corpus
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.data.modalities.text.word_pieces import WordPieceTokenizer
from regard.interop.checking import check
from regard.interop.exporting import export
from regard.interop.huggingface.importing import import_folder
from regard.runs.folder import RunFolder
from regard.runs.load import Run
from regard.runs.recipe import Recipe
from regard.runs.train import build_task, headed
from regard.training.checkpoints import save_tensors, weights_hash, weights_of
from tests.interop import untrained
from tests.interop.huggingface.readers import LONGEST, bert, distilbert, padded, roberta, save, there
from tests.interop.huggingface.strangers import TEXT, check_tensors_return, furthest

MOODS = {"id2label": {0: "sad", 1: "glad", 2: "calm"}, "label2id": {"sad": 0, "glad": 1, "calm": 2}}
TAGS = {"id2label": {0: "O", 1: "B-X", 2: "I-X"}, "label2id": {"O": 0, "B-X": 1, "I-X": 2}}
THEIRS: dict[str, Callable[[], Any]] = {
    "bert classes": lambda: bert(BertForSequenceClassification, **MOODS),
    "bert tags": lambda: bert(BertForTokenClassification, **TAGS),
    "bert answers": lambda: bert(BertForQuestionAnswering),
    "roberta classes": lambda: roberta(RobertaForSequenceClassification, **MOODS),
    "roberta tags": lambda: roberta(RobertaForTokenClassification, **TAGS),
    "distilbert classes": lambda: distilbert(DistilBertForSequenceClassification, seq_classif_dropout=0.3, **MOODS),
    "distilbert tags": lambda: distilbert(DistilBertForTokenClassification, **TAGS),
    "distilbert answers": lambda: distilbert(DistilBertForQuestionAnswering),
}
TASKS = {"classes": "classification", "tags": "tagging", "answers": "question-answering"}
Pair = tuple[Any, Run, Path]


@pytest.fixture(scope="module", params=THEIRS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    theirs, folder = THEIRS[request.param](), tmp_path_factory.mktemp("theirs")
    import_folder(save(theirs, folder), folder.with_name(f"{folder.name}-run"))
    run = regard.load(folder.with_name(f"{folder.name}-run"))
    assert run.recipe.task.kind == TASKS[request.param.split()[1]]
    return theirs, run, folder


@torch.inference_mode()
def said_there(theirs: Any, tokens_BS: Tensor, lengths_B: Tensor, **more: Any) -> Tensor:
    answer = theirs(tokens_BS, attention_mask=there(tokens_BS, lengths_B).long(), **more)
    return answer.logits if "logits" in answer else torch.stack((answer.start_logits, answer.end_logits), -1)


@torch.inference_mode()
def said_here(run: Run, tokens_BS: Tensor, lengths_B: Tensor, segments_BS: Tensor | None = None) -> Tensor:
    return run.model(Inputs(tokens_BS, lengths_B, segments_BS))


def assert_same(theirs: Any, run: Run, *lengths: int) -> None:
    tokens_BS, lengths_B = padded(theirs, *lengths)
    ours, other = said_here(run, tokens_BS, lengths_B), said_there(theirs, tokens_BS, lengths_B)
    if ours.dim() == 3:
        real_BS = there(tokens_BS, lengths_B)
        ours, other = ours[real_BS], other[real_BS]
    assert furthest(ours, other) < 1e-4
    assert float(ours.std()) > 0.05


# -- in ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [(1,), (7, 3, 5), (LONGEST, 2)], ids=str)
def test_logits_are_the_same(pair: Pair, lengths: tuple[int, ...]) -> None:
    assert_same(*pair[:2], *lengths)


def test_segments_are_read_where_there_are_any(pair: Pair) -> None:
    theirs, run, _ = pair
    tokens_BS, lengths_B = padded(theirs, 9, 9)
    segments_BS = (torch.arange(9) > 4).long().expand(2, 9)
    more = {"token_type_ids": segments_BS} if theirs.config.model_type == "bert" else {}
    ours, other = said_here(run, tokens_BS, lengths_B, segments_BS), said_there(theirs, tokens_BS, lengths_B, **more)
    assert furthest(ours, other) < 1e-4


def test_labels_come_along(pair: Pair) -> None:
    theirs, run, _ = pair
    task: Any = run.recipe.task
    if task.kind == "question-answering":
        assert (task.max_length, task.unanswerable) == (LONGEST, "no")
        ledger = json.loads(run.folder.ledger.read_text(encoding="utf-8"))
        assert "the run always answers" in ledger["notes"][0]
        return
    assert task.labels == tuple(theirs.config.id2label[place] for place in range(3))
    assert task.max_length == LONGEST
    if task.kind == "classification":
        assert task.pooling == "pooler"
        assert task.dropout == (0.3 if theirs.config.model_type == "distilbert" else 0.1)


def test_the_way_in_and_out_gives_their_tensors(pair: Pair, tmp_path: Path) -> None:
    _, _, folder = pair
    check_tensors_return(*pair, tmp_path / "out")
    held, made = (json.loads((own / "config.json").read_text(encoding="utf-8")) for own in (folder, tmp_path / "out"))
    if "id2label" in held:
        assert (made["id2label"], made["label2id"]) == (held["id2label"], held["label2id"])
    tokens = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokens(TEXT)["input_ids"] == AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]


@pytest.mark.parametrize("name", [name for name in THEIRS if not name.endswith("answers")])
def test_their_pipeline_and_ours_say_the_same(name: str, tmp_path: Path) -> None:
    """Theirs for questions left transformers with version 5."""
    folder = save(THEIRS[name](), tmp_path / "theirs")
    import_folder(folder, tmp_path / "run")
    task, texts = f"{'text' if 'classes' in name else 'token'}-classification", ["the small green house", "two trees"]
    ours, theirs = regard.pipeline(task, model=str(tmp_path / "run")), pipeline(task, model=str(folder), device="cpu")
    for text in texts:
        if task == "text-classification":
            (said,), (wanted,) = ours(text), theirs(text)
            assert said["label"] == wanted["label"]
            assert said["score"] == pytest.approx(wanted["score"], abs=1e-5)
            continue
        first_pieces = {one["start"]: one for one in reversed(theirs(text, ignore_labels=[]))}
        (answer,) = regard.load(tmp_path / "run").answers([text])[0]
        for word in answer.words:  # type: ignore[attr-defined]
            assert word.tag == first_pieces[word.start]["entity"]
            assert word.probability == pytest.approx(float(first_pieces[word.start]["score"]), abs=1e-5)


def change_config(folder: Path, **changes: Any) -> Path:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **changes}), encoding="utf-8")
    return folder


def test_labels_that_are_there_twice_stay_apart(tmp_path: Path) -> None:
    folder = save(bert(BertForSequenceClassification, num_labels=4), tmp_path / "theirs")
    change_config(folder, id2label={"0": "crane", "1": "boat", "2": "crane", "3": "crane"}, label2id={})
    found = import_folder(folder, tmp_path / "run")
    assert regard.load(tmp_path / "run").recipe.task.labels == ("crane", "boat", "crane (2)", "crane (3)")  # type: ignore[attr-defined]
    assert found.notes == ("labels that are there twice are followed by their number: crane",)


def test_labels_without_names_get_theirs(tmp_path: Path) -> None:
    folder = save(bert(BertForSequenceClassification), tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    bare = {name: value for name, value in config.items() if name not in ("id2label", "label2id")}
    (folder / "config.json").write_text(json.dumps(bare), encoding="utf-8")
    import_folder(folder, tmp_path / "run")
    assert regard.load(tmp_path / "run").recipe.task.labels == ("LABEL_0", "LABEL_1")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problem_type": "multi_label_classification"}, "problem_type = 'multi_label_classification', 3 labels"),
        ({"id2label": {"0": "a", "2": "b"}}, "should number its labels 0, 1, 2 …; found [0, 2]"),
        ({"id2label": {"0": "a"}}, "1 labels; what is read are heads that choose one of several labels"),
        ({"id2label": {"0": "a", "1": "b"}}, "classifier.weight is (3, 40), config.json asks for (2, 40)"),
    ],
    ids=["several at once", "gaps", "a number", "others"],
)
def test_heads_that_are_not_computed_here_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = save(bert(BertForSequenceClassification, **MOODS), tmp_path / "theirs")
    with pytest.raises(RunError) as caught:
        import_folder(change_config(folder, **changes), tmp_path / "run")
    assert words in str(caught.value)


def test_questions_of_roberta_are_refused(tmp_path: Path) -> None:
    folder = save(roberta(RobertaForQuestionAnswering), tmp_path / "theirs")
    with pytest.raises(RunError, match=r"architectures = \['RobertaForQuestionAnswering'\].* is not supported"):
        import_folder(folder, tmp_path / "run")


def test_the_command_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save(bert(BertForQuestionAnswering), tmp_path / "theirs")
    with pytest.raises(SystemExit) as leaving:
        main(["import", str(folder), "--out", str(tmp_path / "run")])
    assert not leaving.value.code
    said = " ".join(capsys.readouterr().out.split())
    assert f'next: regard predict {tmp_path}/run "a question" --context FILE' in said


# -- out --------------------------------------------------------------------------------------------------------

SMALL = {"kind": "bert", "layers": 2, "width": 20, "heads": 2, "position": {"max_length": 24}, "pooler": "tanh"}
LABELS = {"labels": ["sad", "glad", "calm"]}
OURS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "BertForSequenceClassification": (SMALL, {"kind": "classification", "pooling": "pooler", **LABELS}),
    "BertForTokenClassification": ({**SMALL, "pooler": "none"}, {"kind": "tagging", **LABELS}),
    "BertForQuestionAnswering": (SMALL, {"kind": "question-answering"}),
    "RobertaForSequenceClassification": (
        {**SMALL, "segments": 1, "position": {"max_length": 24, "first": 1}},
        {"kind": "classification", "pooling": "pooler", **LABELS},
    ),
    "DistilBertForSequenceClassification": (
        {**SMALL, "segments": 0, "pooler": "relu"}, {"kind": "classification", "pooling": "pooler", **LABELS}
    ),
}  # fmt: skip


def written(folder: Path, model: dict[str, Any], task: dict[str, Any]) -> Run:
    """A run of ours with a random weight everywhere."""
    tokenizer = {"kind": "wordpiece", "vocabulary": 90, "min_frequency": 1}
    tree = {"data": {"kind": "world-moods"}, "tokenizer": tokenizer, "model": model, "task": {**task, "max_length": 17}}
    recipe, pieces = parse(Recipe, tree), WordPieceTokenizer(vocabulary=90, min_frequency=1).train([TEXT])
    modalities = Modalities.of_text(Vocabularies(pieces, pieces))
    folder.mkdir(parents=True, exist_ok=True)
    modalities.save(folder)
    made = headed(recipe, build_task(recipe, Corpus({}, Ledger()), modalities))
    untrained.nudge(made, 0.2)
    save_tensors(RunFolder(folder).weights, weights_of(made))
    (folder / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    return regard.load(folder)


@pytest.mark.usefixtures("no_onnx")
@pytest.mark.parametrize("name", OURS)
def test_what_is_exported_gives_the_same_there_and_comes_back(name: str, tmp_path: Path) -> None:
    import transformers

    run = written(tmp_path / "run", *OURS[name])
    exported = export(tmp_path / "run", "huggingface", tmp_path / "out")
    assert exported.architecture == name
    loader: Any = getattr(transformers, exported.loader)
    theirs, report = loader.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"], report
    assert set(report["unexpected_keys"]) <= {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}
    assert type(theirs).__name__ == name
    assert_same(theirs.eval(), run, 16, 9, 1)
    assert AutoTokenizer.from_pretrained(tmp_path / "out").model_max_length == 17
    again = import_folder(tmp_path / "out", tmp_path / "again")
    assert again.weights_sha256 == weights_hash(weights_of(run.model))
    back = regard.load(tmp_path / "again")
    assert back.recipe.task.model_dump().get("labels") == run.recipe.task.model_dump().get("labels")
    assert back.recipe.task.max_length == 17  # type: ignore[attr-defined]
    checks = {one.name: one for one in check(run)}
    assert all(one.holds for one in checks.values()), checks
    assert not checks["huggingface"].skipped


def test_what_they_do_not_have_is_named(tmp_path: Path) -> None:
    mean = {"kind": "classification", "pooling": "mean", **LABELS}
    written(tmp_path / "run", {**SMALL, "pooler": "none"}, mean)
    with pytest.raises(OptionError) as caught:
        export(tmp_path / "run", "huggingface", tmp_path / "out")
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/run cannot be written as BertForSequenceClassification: 2 problems",
        "  - model.pooler = 'none'; they have 'tanh' only",
        "  - task.pooling = 'mean'; they have 'pooler' only, which is chosen before training",
    ]
    written(tmp_path / "gpt", {"kind": "gpt", "layers": 1, "width": 12, "heads": 2}, mean)
    with pytest.raises(OptionError, match=r"the head for classification on model.kind = 'gpt' has no counterpart"):
        export(tmp_path / "gpt", "huggingface", tmp_path / "out")


# -- folders that do not say what they are ----------------------------------------------------------------------


def nameless(folder: Path) -> Path:
    """As the oldest folders are: no architecture, no type, odd settings, a pickle, and a list of pieces alone."""
    save(bert(BertModel), folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for name in ("architectures", "model_type"):
        config.pop(name)
    old = {
        "output_past": True, "pruned_heads": {}, "torchscript": False, "use_bfloat16": False, "num_beams": 1,
        "top_k": 50, "temperature": 1.0, "directionality": "bidi", "pooler_num_fc_layers": 3, "num_labels": 2,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps({**config, **old}), encoding="utf-8")
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].__getitem__)
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    held = load_file(folder / "model.safetensors")
    torch.save(held, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize(("case", "same"), [("", True), ("lower", True), ("keep", False)])
def test_an_old_folder_is_read_as_what_the_user_says(case: str, same: bool, tmp_path: Path) -> None:
    folder = nameless(tmp_path / "old")
    with pytest.raises(RunError, match=r"model_type = None is not supported.*regard import … --as bert"):
        import_folder(folder, tmp_path / "run", convert=True)
    found = import_folder(folder, tmp_path / "run", convert=True, named="bert", case=case)
    assert found.architecture == "BertForMaskedLM"
    run = regard.load(tmp_path / "run")
    tokens_BS, lengths_B = padded(bert(), 9, 4)
    theirs, model = bert(BertModel), run.model
    with torch.no_grad():
        states = theirs(tokens_BS, attention_mask=there(tokens_BS, lengths_B).long()).last_hidden_state
        real_BS = there(tokens_BS, lengths_B)
        assert furthest(model(tokens_BS, lengths_B)[real_BS], states[real_BS]) < 1e-4
    encode = run.vocabularies.target.encode
    assert (encode("The SMALL house") == encode("the small house")) == same


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = save(bert(), tmp_path / "theirs")
    for options, words in (
        ({"named": "brt"}, r"--as brt is not a known family \(did you mean 'bert'\?\): gpt2, GPT2LMHead"),
        ({"named": "gpt2"}, "says itself that it is a BertForMaskedLM; leave out --as"),
        ({"case": "up"}, "--case 'up' is not known; choose lower or keep"),
        ({"case": "keep"}, r"--case is for a vocab.txt alone.*has tokenizer.json: leave out --case"),
    ):
        with pytest.raises(OptionError, match=words):
            import_folder(folder, tmp_path / "run", **options)  # type: ignore[arg-type]
    assert import_folder(folder, tmp_path / "run", named="bertmodel").architecture == "BertForMaskedLM"


def test_pruned_heads_are_no_small_matter(tmp_path: Path) -> None:
    folder = change_config(save(bert(), tmp_path / "theirs"), pruned_heads={"0": [1]})
    with pytest.raises(RunError, match=r"pruned_heads = \{'0': \[1\]\} is not known here"):
        import_folder(folder, tmp_path / "run")


def test_a_head_of_another_age_has_names_of_its_age(tmp_path: Path) -> None:
    """Old files keep a pooler that no class of tags reads, and norms under their first names."""
    folder = save(roberta(RobertaForSequenceClassification, **MOODS), tmp_path / "theirs")
    today = import_folder(folder, tmp_path / "run").weights_sha256
    held = load_file(folder / "model.safetensors")
    held["roberta.pooler.dense.weight"], held["roberta.pooler.dense.bias"] = torch.ones(40, 40), torch.ones(40)
    held["roberta.embeddings.position_ids"] = torch.arange(LONGEST)[None]
    save_file(held, folder / "model.safetensors")
    assert import_folder(folder, tmp_path / "old").weights_sha256 == today

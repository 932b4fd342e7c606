"""Translation as a task: what it refuses, what it never loses."""

from __future__ import annotations

import pytest
import torch

from regard.core.config import parse
from regard.core.errors import InputError, OptionError
from regard.core.seams.task import Session
from regard.data.corpus import Corpus, GoldAlignment, Pair
from regard.data.ledger import Ledger
from regard.data.modalities.both import Modalities
from regard.data.modalities.text.tokenizers import WordTokenizer
from regard.data.modalities.text.vocabularies import Vocabularies
from regard.decoding.options import Beam, Greedy
from regard.models.transformer import TransformerConfig
from regard.tasks.translation import Translation, TranslationConfig, word_dropout

CPU = torch.device("cpu")
PAIRS = tuple(Pair(text, text, line) for line, text in enumerate(("a b c", "c b a", "b b"), start=1))


@pytest.fixture
def task() -> Translation:
    corpus = Corpus({"validation": PAIRS}, Ledger())
    tokenizer = WordTokenizer(min_frequency=1).train(pair.source for pair in PAIRS)
    return TranslationConfig().build(corpus, Modalities.of_text(Vocabularies(tokenizer, tokenizer)), seed=1)


def model_with(positions: int, task: Translation, dropout: float = 0.1) -> torch.nn.Module:
    torch.manual_seed(5)
    tree = {"encoder_layers": 1, "decoder_layers": 1, "width": 8, "heads": 2, "dropout": dropout}
    tree |= {"position": {"max_length": positions}}
    return parse(TransformerConfig, {**tree, "feed_forward": {"width": 8}}).build(task.ports())


def session(model: torch.nn.Module) -> Session:
    return Session(model, CPU, Greedy())


@pytest.mark.parametrize("options", [Greedy(), Beam(size=3)])
def test_an_answer_never_outgrows_the_positions(task: Translation, options: Greedy | Beam) -> None:
    """2 × source length + 10 would be more than the decoder has: the answer is cut, no other line is lost."""
    model = model_with(11, task)
    sources = task.vocabularies.source.encode_batch(["a b c a b c a b c a", "a"])
    found = task.engine(model, CPU).predict(sources, options)
    assert len(found) == 2
    assert all(len(own[0].tokens) <= 11 for own in found)


def test_inputs_that_are_too_long_are_named_all_at_once(task: Translation) -> None:
    with pytest.raises(InputError) as caught:
        task.predict(session(model_with(4, task)), ["a b c a", "a", "a b c", "a b c a b"])
    assert str(caught.value) == (
        "the model has room for 3 pieces of a source, and there are more in: input 1 (4 pieces), input 4 (5 pieces); "
        "cut or split them, or train with a larger model.position.max_length"
    )


def test_scores_of_a_split_have_their_stable_names(task: Translation) -> None:
    scores = task.score(session(model_with(64, task)), "validation")
    assert {"bleu", "bleu_signature", "chrf", "exact_match", "token_accuracy", "word_error_rate"} <= set(scores)
    assert 0 <= scores["token_accuracy"] <= 1


def test_with_consistency_a_pair_passes_twice_and_only_in_training(task: Translation) -> None:
    """Without dropout both passes are one, and the loss is the plain one; validation never pays for two."""
    consistent = Translation(TranslationConfig(consistency=5.0), task.corpus, task.vocabularies, 1)
    batch = task.collate(task.examples("validation", 0))
    rows: list[int] = []
    model = model_with(64, task, dropout=0.0)
    model.register_forward_pre_hook(lambda module, inputs: rows.append(len(inputs[0])))
    for training in (True, False):
        model.train(training)
        expected, found = task.sums(model, batch), consistent.sums(model, batch)
        torch.testing.assert_close(found.sums["loss"], expected.sums["loss"])
        assert found.counts == expected.counts
    assert rows == [3, 6, 3, 3]
    forgetful = model_with(64, task, dropout=0.5).train()
    assert float(consistent.sums(forgetful, batch).sums["loss"]) > float(task.sums(forgetful, batch).sums["loss"])


def learning(joint: bool = True, weights: tuple[float, ...] = (), **settings: object) -> Translation:
    """A task with training pairs whose sides differ."""
    pairs = tuple(Pair(source, target, line) for line, (source, target) in enumerate((("a b", "c"), ("b", "c a")), 1))
    first = WordTokenizer(min_frequency=1).train(["a b c"])
    second = first if joint else WordTokenizer(min_frequency=1).train(["a b c"])
    corpus = Corpus({"train": pairs, "validation": PAIRS}, Ledger(), weights=weights)
    return parse(TranslationConfig, settings).build(corpus, Modalities.of_text(Vocabularies(first, second)), seed=1)


def test_for_some_epochs_pairs_are_learned_both_ways() -> None:
    task = learning(both_ways=2, weights=(1.0, 2.5))
    one_way = [(pair.source.tolist(), pair.target.tolist()) for pair in task.examples("train", 2)]
    for epoch in (0, 1):
        found = [(pair.source.tolist(), pair.target.tolist()) for pair in task.examples("train", epoch)]
        assert found == [*one_way, *((target, source) for source, target in one_way)]
        assert task.examples("train", epoch).weights == (1.0, 2.5, 1.0, 2.5)
    assert len(one_way) == len(task.examples("train", 2).weights) == 2
    assert task.examples("validation", 0).weights == ()
    assert len(task.examples("validation", 0)) == len(PAIRS)


def test_both_ways_need_one_vocabulary() -> None:
    with pytest.raises(OptionError, match=r"both need one vocabulary: set tokenizer\.joint=true"):
        learning(joint=False, both_ways=1)


def test_hidden_pieces_are_never_special_symbols_and_as_many_as_was_said() -> None:
    task = learning(word_dropout=0.25)
    specials = task.vocabularies.source.specials
    ids = torch.randint(0, task.vocabularies.source.size, (300, 200), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(2)
    found = word_dropout(ids, specials, 0.25)
    special = torch.isin(ids, torch.tensor(specials.known()))
    assert torch.equal(found[special], ids[special])
    assert set(found[found != ids].tolist()) == {specials.unk}
    assert (found != ids)[~special].float().mean().item() == pytest.approx(0.25, abs=0.02)
    torch.manual_seed(2)
    assert torch.equal(word_dropout(ids, specials, 0.25), found)


def test_pieces_are_hidden_in_training_alone_and_only_where_they_are_read() -> None:
    task, plain = learning(word_dropout=0.9), learning()
    model, batch = model_with(64, task, dropout=0.0), task.collate(task.examples("validation", 0))
    read: list[tuple[torch.Tensor, ...]] = []
    model.register_forward_pre_hook(lambda module, inputs: read.append(inputs))
    assert torch.equal(task.sums(model.eval(), batch).sums["loss"], plain.sums(model, batch).sums["loss"])
    torch.manual_seed(3)
    sums = task.sums(model.train(), batch)
    source_BS, lengths_B, target_in_BT = read[-1]
    assert (source_BS != batch.source_BS).any()
    assert (target_in_BT != batch.target_in_BT).any()
    assert torch.equal(lengths_B, batch.source_lengths_B)
    assert sums.counts["loss"] == len(batch.targets_N)


def test_the_head_that_aligns_is_chosen_on_validation_data(task: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen on what it is scored on, the error rate would be too good."""
    links = frozenset({(0, 0)})
    gold = [GoldAlignment(words := tuple(pair.source.split()), words, links, links) for pair in PAIRS]
    splits = {"validation": PAIRS[:1], "test": PAIRS[1:]}
    corpus = Corpus(splits, Ledger(), gold={"validation": tuple(gold[:1]), "test": tuple(gold[1:])})
    task = TranslationConfig().build(corpus, Modalities.of_text(task.vocabularies), seed=1)
    chosen_on: list[object] = []

    def best_head(task: object, session: object, pairs: object, gold: object) -> tuple[int, int]:
        chosen_on.append((pairs, gold))
        return 0, 1

    monkeypatch.setattr("regard.tasks.translation.best_head", best_head)
    scores = task.score(session(model_with(64, task)), "test")
    assert chosen_on == [(PAIRS[:1], tuple(gold[:1]))]
    assert scores["alignment_head"] == [0, 1]

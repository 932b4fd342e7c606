"""What must be true of every model, whoever wrote it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention import HEADS, MECHANISMS, REACHES, READERS, softmax
from regard.attention.local import Predictive
from regard.core.seams import Mechanism
from regard.core.symbols import EOS, SOS
from regard.core.taps import attention_points, record
from regard.decoding.options import Beam, Greedy, Strategy
from regard.layers import CELLS, FEED_FORWARDS, HEAD_NORMS, NORMS, POSITIONS
from regard.layers.adjacency import ADJACENCIES
from regard.layers.fronts import ARRAY_FRONTS, NODE_FRONTS
from regard.layers.grid_positions import GRID_POSITIONS
from regard.layers.vocabulary_loss import vocabulary_loss
from regard.models import MODELS
from regard.training import checkpoints
from tests.laws.subjects import (
    ARRAY_READERS,
    ATTENTIVE,
    GRAPH_READERS,
    LONG_READERS,
    SOURCE_READERS,
    SUBJECTS,
    SYMBOLS,
    Subject,
    close,
    collate,
    engine,
    kinds_covered,
    parallel,
    states,
)

SHORT, LONG, OTHER = (5, 9, 4), (7, 4, 12, 8, 10, 6, 11), (6, 11)
SOURCES = [SHORT, LONG, OTHER]
TARGET_BT = torch.tensor([[SOS, 7, 8, 4, 10, 5], [SOS, 12, 6, 6, 9, 11], [SOS, 4, 4, 11, 8, 7]])
WORDS = SYMBOLS
STRATEGIES = [Greedy(max_length=7), Beam(size=3, n_best=2, max_length=7)]

pytestmark = pytest.mark.usefixtures("without_gradients")
every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
every_attentive = pytest.mark.parametrize("subject", ATTENTIVE, ids=lambda subject: subject.name)
every_reader = pytest.mark.parametrize("subject", SOURCE_READERS, ids=lambda subject: subject.name)


def test_no_family_position_or_mechanism_escapes_the_laws() -> None:
    others = kinds_covered("kind", [*ARRAY_READERS, *GRAPH_READERS, *LONG_READERS])
    assert set(MODELS.kinds()) <= kinds_covered("kind") | others
    assert set(NODE_FRONTS.kinds()) == kinds_covered("front.kind", GRAPH_READERS)
    assert set(ADJACENCIES.kinds()) == kinds_covered("adjacency.kind", GRAPH_READERS)
    assert set(ARRAY_FRONTS.kinds()) == kinds_covered("front.kind", ARRAY_READERS)
    assert set(GRID_POSITIONS.kinds()) == kinds_covered("position.kind", ARRAY_READERS)
    assert set(POSITIONS.kinds()) == kinds_covered("position.kind")
    mechanisms = kinds_covered("attention.kind") | kinds_covered("attention.local.kind")
    assert set(MECHANISMS.kinds()) | set(READERS.kinds()) == mechanisms
    assert set(REACHES.kinds()) == kinds_covered("attention.reach.kind")
    assert set(FEED_FORWARDS.kinds()) == kinds_covered("feed_forward.kind")
    assert set(HEADS.kinds()) == kinds_covered("projection.kind")
    assert set(NORMS.kinds()) == kinds_covered("norm.kind")
    assert set(HEAD_NORMS.kinds()) == kinds_covered("head_norm.kind")
    assert set(CELLS.kinds()) == kinds_covered("cell.kind")


@every_reader
def test_a_masked_position_has_no_influence(subject: Subject) -> None:
    model = subject.build()
    source_BS, lengths_B = collate(model, SOURCES)
    before = parallel(model, (source_BS, lengths_B), TARGET_BT)
    beyond_BS = torch.arange(source_BS.shape[1]) >= lengths_B[:, None]
    assert beyond_BS.any()
    other_BS = torch.where(beyond_BS, torch.randint_like(source_BS, 3, SYMBOLS), source_BS)
    assert torch.equal(parallel(model, (other_BS, lengths_B), TARGET_BT), before)


@every_reader
def test_the_source_is_read_to_its_end(subject: Subject) -> None:
    """The opposite of the law above, without which a model that reads nothing would keep it."""
    model = subject.build()
    source_BS, lengths_B = collate(model, SOURCES)
    before = parallel(model, (source_BS, lengths_B), TARGET_BT)
    source_BS[0, lengths_B[0] - 1] = 12
    after = parallel(model, (source_BS, lengths_B), TARGET_BT)
    assert (after[0] - before[0]).abs().max() > 1e-4
    close(after[1:], before[1:], subject.within)


@every_subject
def test_the_future_never_alters_the_past(subject: Subject) -> None:
    model = subject.build()
    source = collate(model, SOURCES)
    before = parallel(model, source, TARGET_BT)
    for position in range(1, TARGET_BT.shape[1]):
        changed_BT = TARGET_BT.clone()
        changed_BT[:, position:] = (changed_BT[:, position:] + 3) % (WORDS - 3) + 3
        after = parallel(model, source, changed_BT)
        close(after[:, :position], before[:, :position], subject.within)
        assert (after[:, position] - before[:, position]).abs().max() > 1e-4


@every_subject
def test_padding_is_invisible(subject: Subject) -> None:
    model = subject.build()
    together = parallel(model, collate(model, SOURCES), TARGET_BT)
    for row, source in enumerate(SOURCES):
        alone = parallel(model, collate(model, [source]), TARGET_BT[row : row + 1, : 3 + row])
        close(together[row : row + 1, : 3 + row], alone)


@every_subject
@pytest.mark.parametrize("chunks", [(1, 1, 1, 1, 1, 1), (3, 1, 2), (2, 4), (6,)], ids=str)
def test_cached_equals_recomputed(subject: Subject, chunks: tuple[int, ...]) -> None:
    model: Any = subject.build()
    source = collate(model, SOURCES)
    close(stepwise(model, model.start(source), TARGET_BT, chunks)[0], parallel(model, source, TARGET_BT))


def test_a_long_answer_outgrows_the_room_of_its_cache() -> None:
    """A cache grows by doubling from 16 positions; nothing is lost on the way."""
    model: Any = SUBJECTS[0].build()
    source = collate(model, SOURCES)
    target_BT = torch.randint(3, WORDS, (3, 37), generator=torch.Generator().manual_seed(7))
    close(stepwise(model, model.start(source), target_BT, (1,) * 37)[0], parallel(model, source, target_BT))


def stepwise(model: Any, state: Any, tokens_RT: Tensor, chunks: tuple[int, ...]) -> tuple[Tensor, Any]:
    logits = []
    for chunk in tokens_RT.split(chunks, dim=1):
        logits_RTW, state = model.step(chunk, state)
        logits.append(logits_RTW)
    return torch.cat(logits, dim=1), state


REORDERINGS = {
    "shrink": [[2, 0]],
    "swap": [[1, 2, 0]],
    "spread": [[0, 0, 1, 1, 2, 2], [1, 0, 2, 2, 5, 4]],
    "spread, then sentences leave": [[0, 0, 1, 1, 2, 2], [3, 2, 4, 5], [1, 1]],
    "unequal": [[0, 0, 2], [2, 1, 0, 0]],
}


@every_subject
@pytest.mark.parametrize("orders", REORDERINGS.values(), ids=list(REORDERINGS))
def test_a_reordered_state_steps_like_the_reordered_batch(subject: Subject, orders: list[list[int]]) -> None:
    model: Any = subject.build()
    state = model.start(collate(model, SOURCES))
    sources, so_far_RT = list(SOURCES), TARGET_BT[:, :2]
    _, state = model.step(so_far_RT, state)
    for turn, order in enumerate(orders):
        state = state.reorder(torch.tensor(order))
        sources = [sources[row] for row in order]
        new_RT = (torch.arange(len(order))[:, None] * 2 + torch.tensor([[turn, turn + 3]])) % (WORDS - 3) + 3
        so_far_RT = torch.cat((so_far_RT[order], new_RT), dim=1)
        logits_RTW, state = model.step(new_RT, state)
        close(logits_RTW, parallel(model, collate(model, sources), so_far_RT)[:, -2:])


@every_reader
def test_beams_of_a_sentence_share_its_memory(subject: Subject) -> None:
    model: Any = subject.build()
    state = model.start(collate(model, SOURCES))
    addresses = memory_addresses(state)
    _, state = model.step(TARGET_BT[:, :1], state)
    state = state.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert memory_addresses(state) == addresses
    state = state.reorder(torch.tensor([1, 0, 3, 3, 4, 5]))
    assert memory_addresses(state) == addresses


def memory_addresses(state: Any) -> list[int]:
    if hasattr(state, "context_BD"):
        return [state.context_BD.data_ptr()]
    memories = state.memories if hasattr(state, "memories") else [state.memory]
    return [memory.k_BGSK.data_ptr() for memory in memories]


@every_subject
@pytest.mark.parametrize("options", STRATEGIES, ids=lambda options: options.kind)
def test_batched_equals_alone(subject: Subject, options: Strategy) -> None:
    model = subject.build()
    sources = [*SOURCES, (4,), (12, 5, 5, 5)]
    together = engine(model).predict(sources, options)
    alone = [engine(model).predict([source], options)[0] for source in sources]
    assert [[one.tokens for one in own] for own in together] == [[one.tokens for one in own] for own in alone]
    for own, by_itself in zip(together, alone, strict=True):
        assert [one.score for one in own] == pytest.approx([one.score for one in by_itself], abs=1e-5)


@every_subject
def test_the_search_reports_the_model_s_own_probability(subject: Subject) -> None:
    model = subject.build()
    for source, found in zip(SOURCES, engine(model).predict(SOURCES, Beam(size=3, max_length=6)), strict=True):
        tokens = [*found[0].tokens, *([EOS] if found[0].finished else [])]
        logits_BTW = parallel(model, collate(model, [source]), torch.tensor([[SOS, *tokens[:-1]]]))
        gains = logits_BTW[0].log_softmax(-1).gather(1, torch.tensor(tokens)[:, None])
        assert found[0].log_probability == pytest.approx(float(gains.sum()), abs=1e-4)


@every_subject
def test_saved_and_loaded_is_the_same(subject: Subject, tmp_path: Path) -> None:
    model, other = subject.build(seed=1), subject.build(seed=2)
    source = collate(model, SOURCES)
    weights = checkpoints.weights_of(model)
    checkpoints.save_tensors(tmp_path / "weights", weights)
    assert checkpoints.weights_hash(checkpoints.weights_of(other)) != checkpoints.weights_hash(weights)
    checkpoints.load_weights(other, checkpoints.load_tensors(tmp_path / "weights"), "here")
    assert checkpoints.weights_hash(checkpoints.weights_of(other)) == checkpoints.weights_hash(weights)
    assert torch.equal(parallel(other, source, TARGET_BT), parallel(model, source, TARGET_BT))


@every_subject
def test_one_batch_can_be_overfitted(subject: Subject) -> None:
    model: Any = subject.build(noise=0.0)
    source = collate(model, SOURCES)
    targets_N = TARGET_BT[:, 1:].flatten()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(300):
        states_BTD = states(model, source, TARGET_BT)
        loss = vocabulary_loss(states_BTD[:, :-1].flatten(0, 1), model.head.weight, targets_N).smoothed / len(targets_N)
        if loss < best_possible(subject) + 0.05:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pytest.fail(f"the loss is still {loss:.3f}")


def best_possible(subject: Subject) -> float:
    """Who reads no source must guess the first word of three; the other four of each text follow from it."""
    return 0.0 if subject.reads_a_source else 3 * torch.log(torch.tensor(3.0)).item() / 15


@every_subject
def test_fused_equals_reference(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = subject.build()
    source = collate(model, SOURCES)
    found = []
    for limit in (0, 1 << 60):
        monkeypatch.setattr(softmax, "PLAIN_UP_TO_SCORES", limit)
        cached, _ = stepwise(model, model.start(source), TARGET_BT, (2, 1, 3))
        found.append(torch.stack((parallel(model, source, TARGET_BT), cached)))
    close(found[0], found[1])


@every_attentive
def test_taps_show_what_the_mechanisms_read(subject: Subject) -> None:
    model = subject.build()
    points = attention_points(model)
    assert points
    assert all(isinstance(mechanism, Mechanism) for mechanism in points.values())
    wanted = list(inspect.signature(Mechanism.__call__).parameters)[1:]
    assert all(list(inspect.signature(one.forward).parameters) == wanted for one in points.values())
    calls: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in points}
    handles = [points[name].register_forward_hook(_keeper(calls[name])) for name in points]
    with record(model, "*") as seen:
        parallel(model, collate(model, SOURCES), TARGET_BT)
    for handle in handles:
        handle.remove()
    assert list(seen) == list(points)
    for name, attention in seen.items():
        weights_BHTS = attention.weights
        if isinstance(attention.mechanism, Predictive):  # a Gaussian takes its share
            assert (weights_BHTS.sum(-1) < 1).all()
        else:
            reads_BHT = weights_BHTS.bool().any(-1)  # padding beyond every window reads nothing
            close(weights_BHTS.sum(-1), reads_BHT.float())
            assert reads_BHT[:, :, :3].all()
        read = torch.cat([out for _, out in calls[name]], dim=-2)
        close(weights_BHTS @ calls[name][0][0], read)


def _keeper(kept: list[tuple[Tensor, Tensor]]) -> Callable[..., None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        kept.append((inputs[2], output))

    return hook


@pytest.mark.parametrize("subject", [one for one in ATTENTIVE if one.reads_a_source], ids=lambda one: one.name)
def test_taps_on_the_source_ignore_padding(subject: Subject) -> None:
    model: Any = subject.build()
    source_BS, lengths_B = collate(model, SOURCES)
    with record(model, model.anatomy.source_attention) as seen:
        parallel(model, (source_BS, lengths_B), TARGET_BT)
    beyond_BS = torch.arange(source_BS.shape[1]) >= lengths_B[:, None]
    for attention in seen.values():
        assert attention.weights.shape[2:] == (TARGET_BT.shape[1], source_BS.shape[1])
        unread = attention.weights.masked_select(beyond_BS[:, None, None, :])
        assert len(unread)
        assert not unread.any()


@every_attentive
def test_taps_leave_nothing_behind(subject: Subject) -> None:
    model = subject.build()
    source = collate(model, SOURCES)
    before = parallel(model, source, TARGET_BT)
    with record(model, "*") as seen:
        assert torch.equal(parallel(model, source, TARGET_BT), before)
    asked = {name: len(attention.calls) for name, attention in seen.items()}
    assert torch.equal(parallel(model, source, TARGET_BT), before)
    assert {name: len(attention.calls) for name, attention in seen.items()} == asked

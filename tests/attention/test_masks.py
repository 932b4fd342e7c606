"""A structured mask says the same as a dense one written down position by position."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import Tensor

from regard.attention.masks import CAUSAL, EVERYTHING, Mask, inside_segments, padding

wild = settings(max_examples=60, deadline=None)


def position_by_position(mask: Mask, batch: int, queries: int, keys: int) -> Tensor:
    """may_look_BTS from the words of the rules alone."""
    may_look_BTS = torch.ones(batch, queries, keys, dtype=torch.bool)
    for b in range(batch):
        for t in range(queries):
            for s in range(keys):
                place = mask.offset + t if mask.places_BT is None else int(mask.places_BT[b, t])
                seen = not mask.causal or s <= place
                seen &= not mask.window or abs(place - s) < mask.window
                seen &= mask.lengths_B is None or s < int(mask.lengths_B[b])
                if mask.query_segments_BT is not None and mask.key_segments_BS is not None:
                    seen &= bool(mask.query_segments_BT[b, t] == mask.key_segments_BS[b, s])
                if mask.dense_BHTS is not None:
                    seen &= bool(mask.dense_BHTS[b, 0, t, s])
                may_look_BTS[b, t, s] = seen
    return may_look_BTS


def everywhere(mask: Mask, batch: int, queries: int, keys: int) -> Tensor:
    """The mask's own dense tensor, written out for every position."""
    may_look = mask.dense(queries, keys)
    if may_look is None:
        return torch.ones(batch, queries, keys, dtype=torch.bool)
    assert may_look.dim() == 4
    assert may_look.dtype == torch.bool
    return may_look.expand(batch, 1, queries, keys)[:, 0]


@some.composite
def shapes_and_masks(draw: some.DrawFn, count: int = 1) -> tuple[tuple[int, int, int], list[Mask]]:
    batch, queries, keys = draw(some.integers(1, 3)), draw(some.integers(1, 5)), draw(some.integers(1, 7))
    offset = draw(some.integers(0, 4))
    places = _numbers(draw, (batch, queries), 8) if draw(some.booleans()) else offset
    segments = (_numbers(draw, (batch, queries), 2), _numbers(draw, (batch, keys), 2))
    masks = []
    for _ in range(count):
        query_segments, key_segments = segments if draw(some.booleans()) else (None, None)
        dense = _numbers(draw, (batch, 1, queries, keys), 1).bool() if draw(some.booleans()) else None
        masks.append(
            Mask(
                causal=draw(some.booleans()),
                window=draw(some.integers(0, 4)),
                lengths_B=_numbers(draw, (batch,), keys) if draw(some.booleans()) else None,
                query_segments_BT=query_segments,
                key_segments_BS=key_segments,
                dense_BHTS=dense,
            ).at(places)
        )
    return (batch, queries, keys), masks


def _numbers(draw: some.DrawFn, shape: tuple[int, ...], highest: int) -> Tensor:
    generator = torch.Generator().manual_seed(draw(some.integers(0, 999)))
    return torch.randint(0, highest + 1, shape, generator=generator)


@wild
@given(shapes_and_masks())
def test_structure_and_dense_tensor_say_the_same(drawn: tuple[tuple[int, int, int], list[Mask]]) -> None:
    shape, (mask,) = drawn
    assert torch.equal(everywhere(mask, *shape), position_by_position(mask, *shape))


@wild
@given(shapes_and_masks(count=2))
def test_and_lets_a_query_see_what_both_let_it_see(drawn: tuple[tuple[int, int, int], list[Mask]]) -> None:
    shape, (one, other) = drawn
    both = position_by_position(one, *shape) & position_by_position(other, *shape)
    assert torch.equal(everywhere(one & other, *shape), both)
    assert torch.equal(everywhere(other & one, *shape), both)


@wild
@given(shapes_and_masks())
def test_what_calls_itself_everything_or_just_causal_is_that(
    drawn: tuple[tuple[int, int, int], list[Mask]],
) -> None:
    shape, (mask,) = drawn
    _, queries, keys = shape
    if mask.is_everything:
        assert mask.dense(queries, keys) is None
    if mask.is_causal_only:
        triangle_TS = torch.ones(queries, keys).tril().bool()
        assert torch.equal(everywhere(mask, *shape), triangle_TS.expand(shape))


def test_a_causal_triangle_by_hand() -> None:
    may_look = CAUSAL.dense(3, 5)
    assert may_look is not None
    assert may_look[0, 0].int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]


def test_an_offset_moves_the_queries_behind_their_cache() -> None:
    full, step = CAUSAL.dense(7, 7), CAUSAL.at(5).dense(2, 7)
    assert full is not None
    assert step is not None
    assert torch.equal(step, full[:, :, 5:])
    assert CAUSAL.at(5).offset == 5
    assert not CAUSAL.at(5).is_causal_only
    assert CAUSAL.offset == 0


def test_rows_of_different_ages_see_what_each_would_see_alone() -> None:
    places_BT = torch.tensor([[2, 3], [5, 6], [0, 0]])
    mask = CAUSAL & padding(torch.tensor([7, 6, 7]), longest=7)
    may_look = mask.at(places_BT).dense(2, 7)
    assert may_look is not None
    assert may_look.shape == (3, 1, 2, 7)
    for row, offset in enumerate((2, 5)):
        alone = mask.select(torch.tensor([row])).at(offset).dense(2, 7)
        assert alone is not None
        assert torch.equal(may_look[row], alone[0])
    assert may_look[2, 0].sum(-1).tolist() == [1, 1]
    assert not CAUSAL.at(places_BT).is_causal_only


def test_a_part_and_a_selection_keep_their_places() -> None:
    places_BHT = torch.tensor([[[1, 2, 3], [4, 5, 6]], [[0, 1, 2], [3, 3, 3]]])
    whole = CAUSAL.at(places_BHT)
    expected = whole.dense(3, 7)
    assert expected is not None
    part = whole.part(queries=slice(1, 3), heads=[1]).select(torch.tensor([1, 0])).dense(2, 7)
    assert part is not None
    assert torch.equal(part, expected[[1, 0]][:, [1], 1:3])


def test_one_query_at_the_last_key_needs_no_rule() -> None:
    assert CAUSAL.at(4).dense(1, 5) is None
    assert CAUSAL.at(3).dense(1, 5) is not None


def test_a_window_by_hand_looks_to_both_sides_and_with_causal_only_back() -> None:
    both_sides, back = Mask(window=2).dense(4, 5), (Mask(window=2) & CAUSAL).dense(4, 5)
    assert both_sides is not None
    assert back is not None
    assert both_sides[0, 0].int().tolist() == [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert back[0, 0].int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]]


def test_padding_hides_keys_beyond_each_length_and_says_nothing_where_all_are_full() -> None:
    mask = padding(torch.tensor([2, 5, 3]), longest=5)
    expected = [[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert everywhere(mask, 3, 1, 5)[:, 0].int().tolist() == expected
    assert padding(torch.tensor([5, 5]), longest=5) is EVERYTHING
    assert not padding(torch.tensor([4, 4]), longest=5).is_everything


def test_masks_with_different_offsets_do_not_combine() -> None:
    with pytest.raises(ValueError, match="masks with different offsets do not combine: 3 and 0"):
        CAUSAL.at(3) & EVERYTHING


def test_two_masks_with_segments_of_their_own_do_not_combine() -> None:
    one, other = (Mask(query_segments_BT=torch.zeros(2, 3), key_segments_BS=torch.zeros(2, 3)) for _ in range(2))
    with pytest.raises(ValueError, match="two masks that both carry segments, or both carry edges, do not combine"):
        one & other


@pytest.mark.parametrize(
    "mask",
    [
        CAUSAL.at(2),
        Mask(window=3, offset=1),
        Mask(causal=True, lengths_B=torch.tensor([4, 7])),
        inside_segments(torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 1, 2, 2, 2]])),
        Mask(dense_BHTS=torch.rand(2, 3, 7, 7, generator=torch.Generator().manual_seed(1)) > 0.4, offset=1),
        Mask(dense_BHTS=torch.rand(7, 7, generator=torch.Generator().manual_seed(2)) > 0.4),
        Mask(dense_BHTS=torch.rand(2, 1, 1, 7, generator=torch.Generator().manual_seed(3)) > 0.4),
    ],
)
def test_a_part_has_the_rules_of_the_whole(mask: Mask) -> None:
    whole = mask.dense(7, 7)
    assert whole is not None
    found = mask.part(slice(2, 5), heads=[2, 0]).dense(3, 7)
    assert found is not None
    shape = (2, 3, 7, 7)
    assert torch.equal(found.expand(2, 2, 3, 7), whole.expand(shape)[:, [2, 0], 2:5])
    assert found.untyped_storage().nbytes() < 2 * 3 * 7 * 7

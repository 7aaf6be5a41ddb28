"""TritonAllocator as a whole: agreement with the oracle over histories, and what it hands out."""

from __future__ import annotations

import pytest
import torch
from batches import Pair, allocated_pages, extends, layouts, outcome, pair, usable_pages
from hypothesis import given, settings
from hypothesis import strategies as st

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    CapacityWaitError,
    ContiguousPages,
    ExtendAllocation,
    ExtendRequest,
    InvalidFreeError,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    TritonAllocator,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)

LAYOUT = LaneLayout(2, 4, 6)


def agree(allocators: Pair) -> None:
    oracle, candidate = allocators
    assert candidate.snapshot() == oracle.snapshot()
    assert candidate.digest() == oracle.digest()
    assert candidate.available_pages() == oracle.available_pages()


@clause(
    "RFC-0001:C-ATOMIC-BATCH",
    "RFC-0001:C-FLATTENED-ORDER",
    "RFC-0001:C-PHASE-SELECTION",
    "RFC-0001:C-DETERMINISTIC-SELECTION",
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/4",
)
@settings(max_examples=80)
@given(st.data(), layouts())
def test_histories_agree_with_the_oracle(data: st.DataObject, layout: LaneLayout) -> None:
    allocated = data.draw(allocated_pages(layout))
    allocators = oracle, candidate = pair(layout, allocated)
    for _ in range(data.draw(st.integers(1, 4))):
        held = sorted(set(usable_pages(layout)) - _free_pages(allocators))
        batch = data.draw(st.lists(extends(layout, held), max_size=4))
        plans = [_plan(allocator, batch) for allocator in allocators]
        assert plans[1] == plans[0]
        assert outcome(candidate, batch) == outcome(oracle, batch)
        agree(allocators)
        held = sorted(set(usable_pages(layout)) - _free_pages(allocators))
        released = data.draw(st.lists(st.sampled_from(held))) if held else []
        for allocator in allocators:
            allocator.free_pages(released)
        agree(allocators)


def _free_pages(allocators: Pair) -> set[int]:
    free = allocators[0].snapshot().free
    layout = allocators[0].layout
    return {layout.page(lane, local) for lane, pages in enumerate(free) for local in pages}


def _plan(allocator: object, batch: list[ExtendRequest]) -> object:
    try:
        return allocator.plan_extend(batch)  # type: ignore[attr-defined]
    except Exception as error:
        return type(error), vars(error)


@clause("RFC-0001:C-ATOMIC-BATCH/6")
@given(st.data(), layouts())
def test_alloc_pages_agrees_with_the_oracle(data: st.DataObject, layout: LaneLayout) -> None:
    oracle, candidate = pair(layout, data.draw(allocated_pages(layout)))
    owners = data.draw(st.lists(st.integers(0, layout.num_lanes - 1), max_size=12))
    given_by_oracle, given_by_candidate = (
        _alloc_pages(allocator, owners) for allocator in (oracle, candidate)
    )
    assert given_by_candidate == given_by_oracle
    agree((oracle, candidate))


def _alloc_pages(allocator: object, owners: list[int]) -> object:
    try:
        pages = allocator.alloc_pages(owners)  # type: ignore[attr-defined]
    except CapacityWaitError as wait:
        return vars(wait)
    return list(pages) if isinstance(pages, tuple) else pages.tolist()


def test_what_an_allocation_is_made_of() -> None:
    allocator = TritonAllocator(LAYOUT)
    given = allocator.alloc_extend(
        [ExtendRequest(0, 9, ZigzagPages()), ExtendRequest(4, 4, ZigzagPages(), phase=None)]
    )
    slots = given.out_cache_loc
    assert (slots.dtype, slots.device, slots.dim()) == (torch.int64, allocator.device, 1)
    assert slots.is_contiguous()
    assert slots.tolist() == [8, 9, 10, 11, 12, 13, 14, 15, 20]
    assert given.extend_offsets == (0, 9, 9)
    assert given.pages == ((2, 3, 5), ())
    assert (given.phases, given.evicted) == ((0, 0), ())
    assert isinstance(given, ExtendAllocation)
    assert given == given != allocator.alloc_extend([])
    pages = allocator.alloc_pages([1, 0])
    assert (pages.dtype, pages.device, pages.tolist()) == (torch.int64, allocator.device, [7, 4])


@clause("RFC-0001:C-ATOMIC-BATCH/4", "RFC-0001:C-ATOMIC-BATCH/5")
def test_nothing_to_allocate() -> None:
    allocator = TritonAllocator(LAYOUT)
    for batch in ([], [ExtendRequest(3, 3, ZigzagTokens())]):
        given = allocator.alloc_extend(batch)
        assert given.out_cache_loc.tolist() == []
        assert given.extend_offsets == (0,) * (len(batch) + 1)
        assert given.pages == ((),) * len(batch)
    assert allocator.alloc_pages([]).tolist() == []
    assert allocator.available_pages() == (5, 5)


@clause("RFC-0001:C-ATOMIC-BATCH/2", "RFC-0001:C-ATOMIC-BATCH/3")
def test_page_ids_are_read_when_asked_for_and_do_not_change() -> None:
    allocator = TritonAllocator(LAYOUT)
    given = allocator.alloc_extend([ExtendRequest(0, 8, RoundRobinPages())])
    given.out_cache_loc.fill_(-1)
    allocator.clear()
    allocator.alloc_extend([ExtendRequest(0, 8, RoundRobinPages(2))])
    assert given.pages == ((2, 3),)


def test_the_owner_of_an_unsupported_page_is_told_with_its_phase() -> None:
    with pytest.raises(UnsupportedPagePlanError) as raised:
        TritonAllocator(LAYOUT).alloc_extend(
            [ExtendRequest(0, 4, ZigzagPages()), ExtendRequest(4, 10, ZigzagTokens(), phase=1)]
        )
    assert vars(raised.value) == {"request_index": 1, "page_position": 1, "owners": (0, 1)}
    # Blocks of 4, 3, 3 and 3 tokens: the second and third meet inside page 1, on one lane.
    with pytest.raises(UnsupportedPagePlanError) as raised:
        TritonAllocator(LAYOUT).alloc_extend([ExtendRequest(0, 13, ZigzagTokens())])
    assert vars(raised.value) == {"request_index": 0, "page_position": 2, "owners": (0, 1)}
    with pytest.raises(UnsupportedPagePlanError) as raised:  # without a look at each of its tokens
        TritonAllocator(LaneLayout(3, 2**40, 2)).plan_extend(
            [ExtendRequest(0, 2**40, RoundRobinTokens())]
        )
    assert raised.value.owners == (0, 1, 2)


@clause("RFC-0001:C-INFEASIBLE-DEMAND/1", "RFC-0001:C-INFEASIBLE-DEMAND/2")
def test_infeasible_is_judged_on_an_empty_pool_with_phases_of_its_own() -> None:
    allocator = TritonAllocator(LaneLayout(2, 4, 3))
    allocator.alloc_pages([1, 1, 0, 0])
    one_page = ExtendRequest(0, 4, ZigzagPages(), phase=None)
    for count, infeasible in ((4, ()), (5, (0,)), (6, (0, 1))):
        with pytest.raises(CapacityWaitError) as raised:
            allocator.alloc_extend([one_page] * count)
        assert raised.value.infeasible == infeasible
        assert raised.value.can_wait == (not infeasible)
        assert allocator.plan_extend([one_page] * count).infeasible == infeasible


def deferring() -> tuple[TritonAllocator, list[torch.Tensor]]:
    """An allocator of full lanes, and its pages in twos: one of each lane."""
    allocator = TritonAllocator(LAYOUT, deferred_release=True)
    return allocator, list(allocator.alloc_pages([0, 1] * 5).split(2))


@clause(
    "RFC-0001:C-RELEASE/7",
    "RFC-0001:C-RELEASE/11",
    "RFC-0001:C-REPLICA-DETERMINISM/5",
)
def test_deferred_releases_are_folded_where_counts_are_needed() -> None:
    allocator, held = deferring()
    allocator.free_pages(held[0])
    assert allocator.available_lower_bound() == (0, 0)
    assert allocator.plan_extend([]).deficit == (0, 0)
    assert allocator.available_lower_bound() == (1, 1)
    allocator.alloc_pages([0])
    allocator.free_pages(held[1])
    allocator.alloc_pages([1])
    assert allocator.available_lower_bound() == (0, 0)  # the fold was not needed
    allocator.alloc_pages([1])
    assert allocator.available_lower_bound() == (1, 0)  # a lane was short
    allocator.free_pages(held[2])
    allocator.alloc_extend([ExtendRequest(0, 0, ContiguousPages(), phase=None)])
    assert allocator.available_lower_bound() == (2, 1)
    assert allocator.available_pages() == (2, 1)


@clause("RFC-0001:C-RELEASE/8", "RFC-0001:C-RELEASE/9")
def test_a_refused_release_is_told_before_the_call_does_anything() -> None:
    allocator, held = deferring()
    allocator.free_pages(held[0])
    allocator.free_pages(torch.tensor([0]))
    with pytest.raises(InvalidFreeError, match="1 of 2 deferred releases"):
        allocator.alloc_extend([ExtendRequest(0, 8, ZigzagPages())])
    assert allocator.available_pages() == (1, 1)
    given = allocator.alloc_extend([ExtendRequest(0, 8, ZigzagPages())])
    assert given.pages == (tuple(held[0].tolist()),)


def test_a_tail_page_that_a_deferred_release_freed_is_free() -> None:
    allocator, held = deferring()
    allocator.free_pages(held[0])
    with pytest.raises(ValueError, match=r"request 0: last_slot: .* page 2 is free"):
        allocator.alloc_extend([ExtendRequest(1, 2, ZigzagPages(), last_slot=8)])


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/6", "RFC-0001:C-CONSERVATION")
def test_clear_frees_everything_and_keeps_snapshots() -> None:
    allocator = TritonAllocator(LAYOUT)
    fresh = allocator.snapshot()
    allocator.alloc_pages([0, 0, 1])
    taken = allocator.snapshot()
    allocator.clear()
    assert allocator.snapshot() == fresh != taken
    assert allocator.available_pages() == (5, 5)

"""What the tally makes of what it hears, in numbers small enough to check by hand."""

from __future__ import annotations

import pytest

from ownerlanes.conformance.replay.pools import AggregateCountCache, without_lanes
from ownerlanes.conformance.replay.tally import Sample, Tally, Wait
from ownerlanes.conformance.replay.workload import Prompt
from ownerlanes.reference import (
    CapacityWaitError,
    ExtendAllocation,
    LaneLayout,
    LanePrefixCache,
)

LAYOUT = LaneLayout(num_lanes=3, page_size=4, pages_per_lane=6)


def page(lane: int, local_page: int) -> int:
    return LAYOUT.page(lane, local_page)


@pytest.fixture
def tally() -> Tally:
    """After one batch: two pages on lane 0 where one was free, one on lane 1 where one was."""
    tally = Tally(LAYOUT)
    allocation = ExtendAllocation(
        out_cache_loc=tuple(range(11)),
        extend_offsets=(0, 11),
        pages=((page(0, 1), page(0, 2), page(1, 1)),),
        phases=(0,),
        evicted=(page(0, 2), page(1, 3), page(2, 4), page(2, 5)),
    )
    held = [[page(0, 1), page(0, 2), page(1, 1)], [page(0, 1), page(2, 1)]]
    tally.note_batch(allocation, free_before=(1, 1, 0), free=(0, 1, 2), held=held)
    return tally


def test_collateral_is_what_went_from_lanes_that_were_not_short(tally: Tally) -> None:
    assert (tally.evicted, tally.collateral) == (4, 3)
    assert (tally.extends, tally.computed) == (1, 11)


def test_a_page_held_twice_is_live_once(tally: Tally) -> None:
    assert tally.samples == [Sample(free=(0, 1, 2), live=(2, 1, 1), served=0, hit_ratio=0.0)]


def test_effective_capacity_is_the_shortest_lane_times_lanes(tally: Tally) -> None:
    assert tally.effective_capacity() == [3 * 3 / (3 + 4 + 4)]


def test_hit_ratio_is_of_tokens_served(tally: Tally) -> None:
    assert tally.hit_ratio == 0.0
    tally.note_served(Prompt(0, 30, ()), reused=0)
    tally.note_served(Prompt(1, 10, ()), reused=8)
    assert tally.hit_ratio == 8 / 40
    assert tally.requests_left == 2


def test_a_wait_is_kept_with_its_counts(tally: Tally) -> None:
    tally.note_wait(
        CapacityWaitError(
            required=(1, 2, 3),
            available=(1, 1, 1),
            deficit=(0, 1, 2),
            evicted=(2, 0, 0),
            infeasible=(),
        )
    )
    assert tally.waits == [Wait(batch=1, free=(1, 1, 1), deficit=(0, 1, 2))]
    assert tally.evicted == 6


@pytest.mark.parametrize("reserved", [0, 1, 2])
def test_the_limit_has_as_many_allocatable_pages(reserved: int) -> None:
    layout = LaneLayout(3, 4, 6, "blocked", reserved)
    blind = without_lanes(layout)
    assert blind.num_lanes == 1
    assert blind.capacity == 3 * layout.capacity


def test_counting_in_aggregate_gives_up_the_oldest_until_no_lane_is_short() -> None:
    """Oldest first lane 1, lane 2, lane 0, lane 0: lane 0 is short of one page."""
    pages = [page(1, 1), page(2, 1), page(0, 1), page(0, 2)]
    caches = AggregateCountCache(LAYOUT), LanePrefixCache(LAYOUT)
    for key, number in enumerate(pages):
        for cache in caches:
            cache.insert([key], [number])
    aggregate, by_lane = (cache.evict([1, 0, 0]) for cache in caches)
    assert aggregate == tuple(sorted(pages[:3]))
    assert by_lane == (pages[2],)

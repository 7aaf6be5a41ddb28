"""C-OWNER-LANE-LAYOUT, as far as an allocator shows it: the ids of the pages that it hands out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import PagesIntent, RequestIntent
from ownerlanes.conformance.operations import AllocExtend, AllocPages
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect, needs, own_counts
from ownerlanes.reference.contract import ExtendRequest, LaneLayout, RoundRobinPages


@clause(
    "RFC-0001:C-OWNER-LANE-LAYOUT/1",
    "RFC-0001:C-OWNER-LANE-LAYOUT/2",
    "RFC-0001:C-OWNER-LANE-LAYOUT/5",
)
@needs("alloc_pages", "exact_pages")
@examples()
@given(strategies.layouts())
def test_the_whole_pool_by_lane_has_the_ids_of_its_placement(layout: LaneLayout) -> None:
    played = session.lockstep(layout)
    layout = played.layout
    for lane in range(layout.num_lanes):
        actual = played.step_both(AllocPages((lane,) * layout.capacity))[1]
        local_pages = range(layout.reserved_pages, layout.pages_per_lane)
        if layout.placement == "interleaved":
            wanted = tuple(local * layout.num_lanes + lane for local in local_pages)
        else:
            wanted = tuple(lane * layout.pages_per_lane + local for local in local_pages)
        number = 1 if layout.placement == "interleaved" else 2
        expect(
            wanted,
            ints(actual.result),
            clause=f"C-OWNER-LANE-LAYOUT/{number}",
            field=f"the pages of lane {lane}",
        )


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/3", "RFC-0001:C-OWNER-LANE-LAYOUT/4")
@examples()
@given(strategies.layouts(least_pages=1), strategies.batches(faults=False))
def test_slots_lie_on_the_pages_that_are_named(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    played, requests = session.batch(layout, batch)
    found = allocation(played, requests)
    if found is None:
        return
    layout = played.layout
    named = {page for row in found.pages for page in row}
    for slot in found.out_cache_loc:
        page = slot // layout.page_size
        local = (
            page // layout.num_lanes
            if layout.placement == "interleaved"
            else page % layout.pages_per_lane
        )
        expect(
            (True, local * layout.page_size + slot % layout.page_size),
            (page in named, layout.local_slot(slot)),
            clause="C-OWNER-LANE-LAYOUT/4",
            field=f"slot {slot}: whether its page is named, and its local_slot",
        )


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/5")
@examples()
@given(strategies.layouts(), strategies.batches(faults=False))
def test_reserved_pages_are_never_handed_out(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    played, requests = session.batch(layout, batch)
    found = allocation(played, requests)
    for page in {slot // played.layout.page_size for slot in found.out_cache_loc} if found else ():
        expect(
            True,
            played.layout.local_page(page) >= played.layout.reserved_pages,
            clause="C-OWNER-LANE-LAYOUT/5",
            field=f"page {page} lies above the reserved ones",
        )


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/7", "RFC-0001:C-CAPACITY-AND-EVICTION/2")
@needs("RoundRobinPages")
@pytest.mark.parametrize("placement", ["interleaved", "blocked"])
@pytest.mark.parametrize("num_lanes", [1, 2, 5])
@pytest.mark.parametrize("reserved", [0, 1, 3])
def test_a_pool_without_capacity_gives_nothing_and_waits(
    num_lanes: int, reserved: int, placement: Any
) -> None:
    played = session.play(
        LaneLayout(num_lanes, 4, reserved, placement, reserved),
        AllocExtend(()),
        AllocExtend((ExtendRequest(4, 4, RoundRobinPages()),)),
        AllocExtend((ExtendRequest(0, 1, RoundRobinPages()),)),
    )
    expect(
        (0,) * num_lanes,
        own_counts(played),
        clause="C-OWNER-LANE-LAYOUT/7",
        field="available_pages()",
    )


@clause(
    "RFC-0001:C-OWNER-LANE-LAYOUT/3",
    "RFC-0001:C-OWNER-LANE-LAYOUT/8",
    "RFC-0001:C-FLATTENED-ORDER/6",
)
@needs("RoundRobinPages", "phases")
@pytest.mark.parametrize("placement", ["interleaved", "blocked"])
def test_slots_are_as_wide_as_need_be(placement: Any) -> None:
    """Four billion slots, all but a few on reserved pages, so that small lists still tell them."""
    layout = LaneLayout(2, 2**16, 2**15, placement, reserved_pages=2**15 - 4)
    request = ExtendRequest(0, 5, RoundRobinPages(), phase=1)
    session.play(layout, AllocExtend((request,)), AllocExtend((request,)))


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/8")
@pytest.mark.parametrize("reserved", [0, 1, 2])
@pytest.mark.parametrize("num_lanes", [1, 7, 64])
def test_a_layout_may_have_no_capacity(num_lanes: int, reserved: int) -> None:
    session.play(LaneLayout(num_lanes, 16, reserved, reserved_pages=reserved), AllocExtend(()))


@clause("RFC-0001:C-OWNER-LANE-LAYOUT/7", "RFC-0001:C-CONSERVATION/4")
@needs("alloc_pages")
@examples()
@given(strategies.layouts())
def test_every_lane_can_be_used_up_to_its_capacity_and_no_further(layout: LaneLayout) -> None:
    director = session.direct(layout, [PagesIntent(fit=1)])
    expect(
        (0,) * layout.num_lanes,
        own_counts(director.lockstep),
        clause="C-OWNER-LANE-LAYOUT/7",
        field="available_pages() once everything is taken",
    )
    for lane in range(layout.num_lanes):
        director.play(PagesIntent((lane,)))

"""Closed-form planning against owners page by page, and against big integers.

What a plan promises is checked by expanding it: every new page of a request must come up once,
on the lane that the oracle plans it on. Nothing here allocates.
"""

from __future__ import annotations

import pytest
from batches import extends, layouts, usable_pages
from hypothesis import given, settings
from hypothesis import strategies as st

from ownerlanes.conformance.clauses import clause
from ownerlanes.gpu import (
    CapacityWaitError,
    ContiguousPages,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    TritonAllocator,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)
from ownerlanes.gpu.planning import DEMAND, GAP, LISTED, RUN, START, Plan, plan_batch
from ownerlanes.gpu.planning_phases import place_on_lanes
from ownerlanes.gpu.validation import Batch, read_batch
from ownerlanes.reference import page_owners


def read(requests: list[ExtendRequest], layout: LaneLayout) -> Batch:
    batch, fault = read_batch(requests, layout)
    assert fault is None
    return batch


def expand(batch: Batch, plan: Plan, layout: LaneLayout) -> list[dict[int, int]]:
    """Touched page number -> lane of every new page, as the formula in `planning` has it."""
    lane_plan = place_on_lanes(batch, plan, batch.phases, layout)
    found: list[dict[int, int]] = []
    for index in range(len(batch)):
        pages: dict[int, int] = {}
        for lane in range(layout.num_lanes):
            demand, start, run, gap = (
                int(lane_plan.tables[table, index, lane]) for table in (DEMAND, START, RUN, GAP)
            )
            skip = int(plan.skip[index]) if lane == lane_plan.turns[index] else 0
            for k in range(skip, skip + demand):
                page = int(plan.listed[start + k]) if gap == LISTED else start + k + k // run * gap
                assert page not in pages
                pages[page] = lane
        found.append(pages)
    return found


def planned(request: ExtendRequest, layout: LaneLayout) -> object:
    """The lane of every new page of one request by the closed form, or the plan's fault."""
    batch = read([request], layout)
    try:
        plan = plan_batch(batch, layout)
    except UnsupportedPagePlanError as error:
        return vars(error)
    if request.phase is None and batch.partial[0]:
        batch.phases[0] = (batch.tail_lanes[0] - plan.first_lane[0]) % layout.num_lanes
    return expand(batch, plan, layout)[0]


def enumerated(request: ExtendRequest, layout: LaneLayout) -> object:
    try:
        lanes = page_owners(request, layout)
    except UnsupportedPagePlanError as error:
        return vars(error)
    placed = int(bool(lanes and request.prefix_len % layout.page_size))
    return {page: lane for page, lane in enumerate(lanes) if page >= placed}


@clause("RFC-0001:C-PAGE-OWNERSHIP", "RFC-0001:C-UNSUPPORTED-PLANS")
@settings(max_examples=400)
@given(st.data(), layouts())
def test_closed_forms_are_the_splits_page_by_page(data: st.DataObject, layout: LaneLayout) -> None:
    request = data.draw(extends(layout, usable_pages(layout), most_tokens=150))
    assert planned(request, layout) == enumerated(request, layout)


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/1", "RFC-0001:C-REQUEST-LOCAL-PLANNING/3")
@given(st.data(), layouts())
def test_a_request_is_planned_alike_alone_and_in_a_batch(
    data: st.DataObject, layout: LaneLayout
) -> None:
    whole_pages = extends(layout, ())
    requests = data.draw(st.lists(whole_pages, max_size=6))
    supported = [
        r
        for r in requests
        if isinstance(planned_or_none := planned(r, layout), dict)
        and "page_position" not in planned_or_none
    ]
    batch = read(supported, layout)
    plan = plan_batch(batch, layout)
    assert expand(batch, plan, layout) == [planned(r, layout) for r in supported]


LANES, SIZE = 4, 64
LAYOUT = LaneLayout(LANES, SIZE, 1000)


def items_of_blocks(items: int, pad: int, blocks: int) -> list[int]:
    """How many of `items` lie in each block of items + pad."""
    each, larger = divmod(items + pad, blocks)
    sizes = [each + (b < larger) for b in range(blocks)]
    starts = [sum(sizes[:b]) for b in range(blocks)]
    return [max(min(items - start, size), 0) for start, size in zip(starts, sizes, strict=True)]


def in_turn(pages: int, run: int, lane: int) -> int:
    """How many of pages 0 ... pages-1 a round robin gives to a lane."""
    rounds, rest = divmod(pages, run * LANES)
    return rounds * run + min(max(rest - lane * run, 0), run)


def big_demand(split: Split, prefix_pages: int, pages: int) -> list[int]:
    match split:
        case ZigzagPages(pad):
            dealt = items_of_blocks(pages, pad, 2 * LANES)
            return [dealt[lane] + dealt[2 * LANES - 1 - lane] for lane in range(LANES)]
        case ZigzagTokens(pad):
            dealt = items_of_blocks(pages * SIZE, pad, 2 * LANES)
            return [(dealt[lane] + dealt[2 * LANES - 1 - lane]) // SIZE for lane in range(LANES)]
        case ContiguousPages(pad):
            return items_of_blocks(pages, pad, LANES)
        case RoundRobinPages(run):
            pages_in_run = run
        case RoundRobinTokens(run):
            pages_in_run = run // SIZE
        case _:
            raise AssertionError(split)
    end = prefix_pages + pages
    return [
        in_turn(end, pages_in_run, lane) - in_turn(prefix_pages, pages_in_run, lane)
        for lane in range(LANES)
    ]


BIG_SPLITS: list[Split] = [
    ZigzagPages(),
    ZigzagPages(2**31 - 1),
    ZigzagTokens(),
    ContiguousPages(),
    ContiguousPages(2**31 - 1),
    RoundRobinPages(),
    RoundRobinPages(2**31 - 1),
    RoundRobinTokens(SIZE * 3),
    RoundRobinTokens(2**31 - SIZE),
]


@clause("RFC-0001:C-INFEASIBLE-DEMAND/1", "RFC-0001:C-REQUEST-LOCAL-PLANNING/4")
@pytest.mark.parametrize("prefix_len", [0, 10**12 - 10**12 % SIZE, 2**61 - SIZE * 12345])
@pytest.mark.parametrize("new_tokens", [512 * 10**9, 2**61])
@pytest.mark.parametrize("split", BIG_SPLITS, ids=repr)
def test_any_length_is_counted_exactly(split: Split, prefix_len: int, new_tokens: int) -> None:
    request = ExtendRequest(prefix_len, prefix_len + new_tokens, split)
    pages = (request.seq_len - prefix_len) // SIZE
    plan = TritonAllocator(LAYOUT).plan_extend([request])
    assert plan.demand == (tuple(big_demand(split, prefix_len // SIZE, pages)),)
    assert plan.infeasible == tuple(
        lane for lane in range(LANES) if plan.required[lane] > LAYOUT.capacity
    )


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/3")
@pytest.mark.parametrize("phase", [0, None])
def test_sums_beyond_int64_are_exact(phase: int | None) -> None:
    layout = LaneLayout(2, 1, 10)
    requests = [ExtendRequest(0, 2**62, ContiguousPages(), phase=phase)] * 7
    with pytest.raises(CapacityWaitError) as raised:
        TritonAllocator(layout).alloc_extend(requests)
    assert raised.value.required == (7 * 2**61, 7 * 2**61)
    assert raised.value.deficit == (7 * 2**61 - 9, 7 * 2**61 - 9)
    assert raised.value.infeasible == (0, 1)


def test_the_last_page_of_the_longest_sequence() -> None:
    layout = LaneLayout(3, 4, 9)
    request = ExtendRequest(2**62 - 13, 2**62, RoundRobinTokens(4), last_slot=5 * 4 + 2)
    assert (2**62 - 13) % 4 == 3
    assert planned(request, layout) == enumerated(request, layout)

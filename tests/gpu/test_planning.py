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
from ownerlanes.gpu.page_math import Integers
from ownerlanes.gpu.planning import DEMAND, GAP, LISTED, RUN, START, Plan, plan_batch
from ownerlanes.gpu.planning_phases import choose_phases, place_on_lanes
from ownerlanes.gpu.validation import Batch, read_batch
from ownerlanes.reference import page_owners


def read(requests: list[ExtendRequest], layout: LaneLayout) -> Batch:
    batch, fault = read_batch(requests, layout)
    assert fault is None
    return batch


def expand(batch: Batch, plan: Plan, phases: Integers, layout: LaneLayout) -> list[dict[int, int]]:
    """Touched page number -> lane of every new page, as the formula in `planning` has it."""
    lane_plan = place_on_lanes(batch, plan, phases, layout)
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
    # Lanes of equal counts leave nothing to choose but the smallest supported phase.
    phases = choose_phases(batch, plan, layout, [layout.capacity] * layout.num_lanes, None)
    return expand(batch, plan, phases, layout)[0]


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
    requests = data.draw(st.lists(extends(layout, ()), max_size=6))
    alone = [(request, planned_alone(request, layout)) for request in requests]
    supported = [(request, pages) for request, pages in alone if pages is not None]
    batch = read([request for request, _ in supported], layout)
    found = expand(batch, plan_batch(batch, layout), batch.phases, layout)
    assert found == [pages for _, pages in supported]


def planned_alone(request: ExtendRequest, layout: LaneLayout) -> dict[int, int] | None:
    """Its pages with its own phase, or phase 0 where that is open; None when not supported."""
    batch = read([request], layout)
    try:
        return expand(batch, plan_batch(batch, layout), batch.phases, layout)[0]
    except UnsupportedPagePlanError:
        return None


RUNS_OF_TOKENS = [
    (8, 12, 6, 1),  # one run
    (8, 16, 6, 2),  # two runs that meet at a page's start
    (9, 18, 6, 2),  # the same with a tail page
    (8, 19, 6, 0),  # and one token of a third run: that cuts page 4
    (12, 17, 10, 1),
    (14, 24, 10, 2),
    (6, 10, 6, 1),
    (6, 8, 3, 1),  # nothing but the rest of a page
    (6, 13, 6, 0),  # runs meet inside page 3
]


@clause("RFC-0001:C-PAGE-OWNERSHIP/5", "RFC-0001:C-UNSUPPORTED-PLANS/8")
@pytest.mark.parametrize("phase", [0, 1, None])
@pytest.mark.parametrize(("prefix_len", "seq_len", "run", "owners"), RUNS_OF_TOKENS)
def test_runs_of_tokens_that_pages_do_not_divide(
    prefix_len: int, seq_len: int, run: int, owners: int, phase: int | None
) -> None:
    layout = LaneLayout(3, 4, 9)
    lane = (prefix_len // run + (phase or 1)) % 3
    last_slot = layout.page(lane, 1) * 4 + prefix_len % 4 - 1 if prefix_len % 4 else None
    request = ExtendRequest(prefix_len, seq_len, RoundRobinTokens(run), last_slot, phase)
    assert planned(request, layout) == enumerated(request, layout)
    if phase is None and owners:
        pages = planned(request, layout)
        assert isinstance(pages, dict)
        assert len({lane, *pages.values()} if last_slot else {*pages.values()}) == owners


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

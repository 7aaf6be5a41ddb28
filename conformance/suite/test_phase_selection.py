"""C-PHASE-SELECTION: which phase a request gets that leaves the choice open."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import (
    EvictIntent,
    ExtendIntent,
    Intent,
    PagesIntent,
    ReleaseIntent,
    RequestIntent,
)
from ownerlanes.conformance.operations import AllocExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect, needs
from ownerlanes.reference.contract import (
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
)

OPEN: st.SearchStrategy[int | None] = st.sampled_from((None, None, None, 0, 2))


@clause(
    "RFC-0001:C-PHASE-SELECTION/1",
    "RFC-0001:C-PHASE-SELECTION/3",
    "RFC-0001:C-PHASE-SELECTION/4",
    "RFC-0001:C-PHASE-SELECTION/8",
)
@needs("open_phase")
@examples()
@given(
    strategies.layouts(least_pages=2, most_pages=10),
    st.lists(strategies.intents(faults=False), max_size=3),
    strategies.batches(faults=False, least=1, phases=OPEN),
)
def test_the_fullest_pool_is_left(
    layout: LaneLayout, before: list[Intent], batch: tuple[RequestIntent, ...]
) -> None:
    director = session.direct(layout, before)
    director.play(ExtendIntent(batch, only_plan=True))
    director.play(ExtendIntent(batch))


@clause("RFC-0001:C-PHASE-SELECTION/3", "RFC-0001:C-PHASE-SELECTION/4")
@needs("open_phase", "ExplicitOwners", "alloc_pages")
@examples()
@given(
    st.sampled_from((2, 3, 4, 5, 8)),
    st.sampled_from((24, 5, 3)),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
    st.integers(1, 12),
    st.integers(1, 3),
)
def test_one_request_in_words(
    num_lanes: int, capacity: int, most_left: list[int], pages: int, run: int
) -> None:
    """The rule said once more: sorted counts after the request, the largest, smallest phase."""
    layout = LaneLayout(num_lanes, 4, capacity + 1)
    taken = [lane for lane in range(num_lanes) for _ in range(capacity - most_left[lane])]
    director = session.direct(layout, [PagesIntent(tuple(taken))])
    free = ints(director.lockstep.player.allocator.available_pages())
    left = {}
    for phase in range(num_lanes):
        lanes = [(page // run + phase) % num_lanes for page in range(pages)]
        left[phase] = sorted(free[lane] - lanes.count(lane) for lane in range(num_lanes))
    best = min(phase for phase in left if left[phase] == max(left.values()))
    request = ExtendRequest(0, pages * 4, RoundRobinPages(run), phase=None)
    found = allocation(director.lockstep, (request,))
    if found is not None:
        expect((best,), found.phases, clause="C-PHASE-SELECTION/3", field="phases", note=f"{left}")


@clause("RFC-0001:C-PHASE-SELECTION/2", "RFC-0001:C-PHASE-SELECTION/8")
@examples(0.5)
@given(
    strategies.layouts(least_pages=30, most_pages=30),
    strategies.batches(faults=False, phases=strategies.FIXED_PHASES),
)
def test_a_given_phase_is_kept(layout: LaneLayout, batch: tuple[RequestIntent, ...]) -> None:
    played, requests = session.batch(layout, batch)
    found = allocation(played, requests)
    if found is not None:
        expect(
            ints(request.phase for request in requests),
            found.phases,
            clause="C-PHASE-SELECTION/2",
            field="phases",
        )


@clause("RFC-0001:C-PHASE-SELECTION/1")
@needs("open_phase", "RoundRobinPages", "ZigzagPages", "phases")
def test_later_requests_see_what_earlier_ones_take() -> None:
    played = session.lockstep(LaneLayout(4, 16, 7))
    seeded = [ExtendRequest(0, 16, RoundRobinPages(), phase=phase) for phase in (0, 0, 0, 2, 1)]
    played.step(AllocExtend(tuple(seeded)))
    found = allocation(
        played,
        (
            ExtendRequest(0, 16, ZigzagPages(), phase=None),
            ExtendRequest(0, 48, ZigzagPages(), phase=None),
            ExtendRequest(0, 16, RoundRobinPages(), phase=None),
        ),
    )
    assert found is not None
    expect(
        (3, 1, 1),
        found.phases[:2] + found.phases[1:2],
        clause="C-PHASE-SELECTION/1",
        field="phases of the first two requests, the second one twice",
    )


@clause(
    "RFC-0001:C-PHASE-SELECTION/5",
    "RFC-0001:C-PHASE-SELECTION/7",
    "RFC-0001:C-LANE-EVICTION/3",
    "RFC-0001:C-LANE-EVICTION/4",
)
@needs("open_phase", "eviction")
@examples()
@given(
    strategies.layouts(least_pages=1, most_pages=5),
    st.lists(st.integers(0, 7), max_size=6),
    strategies.batches(faults=False, least=1, most=3, phases=OPEN),
    strategies.good_evictors(),
)
def test_under_pressure_the_evictable_pages_count_too(
    layout: LaneLayout,
    spared: list[int],
    batch: tuple[RequestIntent, ...],
    evictor: EvictIntent,
) -> None:
    director = session.direct(layout, [PagesIntent(fit=1)], evictor=True)
    for which in spared:
        director.play(ReleaseIntent(first=which, count=1))
    director.play(ExtendIntent(batch, evictor))


@clause("RFC-0001:C-PHASE-SELECTION/6")
@needs("open_phase", "ZigzagPages", "alloc_pages")
def test_an_empty_extend_gets_phase_zero() -> None:
    director = session.direct(LaneLayout(3, 4, 5), [PagesIntent((0, 0, 1))])
    found = allocation(
        director.lockstep,
        (
            ExtendRequest(0, 0, ZigzagPages(), phase=None),
            ExtendRequest(0, 4, ZigzagPages(), phase=None),
            ExtendRequest(6, 6, ZigzagPages(), phase=None),
        ),
    )
    assert found is not None
    expect((0, 2, 0), found.phases, clause="C-PHASE-SELECTION/6", field="phases")


@clause("RFC-0001:C-PHASE-SELECTION/3")
@needs("open_phase", "partial_pages", "RoundRobinPages", "phases")
def test_a_tail_page_leaves_one_phase() -> None:
    played = session.lockstep(LaneLayout(4, 4, 9))
    first = played.step(AllocExtend((ExtendRequest(0, 6, RoundRobinPages(), phase=2),)))
    chunk = ExtendRequest(6, 20, RoundRobinPages(), first.result.out_cache_loc[-1], None)
    found = allocation(played, (chunk,))
    assert found is not None
    expect((2,), found.phases, clause="C-PHASE-SELECTION/3", field="phases")


@clause("RFC-0001:C-PHASE-SELECTION/3", "RFC-0001:C-INFEASIBLE-DEMAND/2")
@needs("open_phase", "ExplicitOwners", "RoundRobinPages")
def test_a_batch_that_fits_an_empty_pool_is_not_called_infeasible() -> None:
    played = session.lockstep(LaneLayout(2, 1, 4))
    played.step(AllocExtend((ExtendRequest(0, 3, ExplicitOwners((1, 1, 1))),)))
    batch = (
        ExtendRequest(0, 2, ExplicitOwners((0, 0))),
        ExtendRequest(0, 2, RoundRobinPages(2), phase=None),
    )
    played.step(AllocExtend(batch))

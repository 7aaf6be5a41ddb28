"""C-ATOMIC-BATCH: all or nothing, checks in their order, empty calls, pages without tokens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies, tables
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import ExtendIntent, Intent, PagesIntent, RequestIntent
from ownerlanes.conformance.operations import AllocExtend, AllocPages, PlanExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect, needs, own_counts
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendRequest,
    LaneLayout,
    OwnerLaneError,
    RoundRobinPages,
    ZigzagPages,
)


@clause("RFC-0001:C-ATOMIC-BATCH/1", "RFC-0001:C-ATOMIC-BATCH/2", "RFC-0001:C-ATOMIC-BATCH/3")
@examples()
@given(
    strategies.layouts(most_pages=4),
    st.lists(strategies.intents(faults=False), max_size=3),
    st.lists(strategies.batches(least=1), min_size=1, max_size=3),
)
def test_batches_that_fail_leave_nothing_behind(
    layout: LaneLayout, before: list[Intent], batches: list[tuple[RequestIntent, ...]]
) -> None:
    director = session.direct(layout, before)
    for batch in batches:
        director.play(ExtendIntent(batch))


@clause("RFC-0001:C-ATOMIC-BATCH/1")
@needs("RoundRobinPages", "phases")
@pytest.mark.parametrize("num_lanes", [2, 4, 5])
def test_the_last_lane_of_the_last_request_fails(num_lanes: int) -> None:
    whole = ExtendRequest(0, 16 * num_lanes, RoundRobinPages())
    one_more = ExtendRequest(0, 16, RoundRobinPages(), phase=num_lanes - 1)
    played = session.lockstep(LaneLayout(num_lanes, 16, 5))
    played.step(AllocExtend((whole,) * 3))
    assert isinstance(played.step(AllocExtend((whole, one_more))).error, CapacityWaitError)
    expect(
        (1,) * num_lanes, own_counts(played), clause="C-ATOMIC-BATCH/1", field="available_pages()"
    )
    played.step(AllocExtend((whole,)))


@clause("RFC-0001:C-ATOMIC-BATCH/1")
@needs("RoundRobinPages")
def test_a_failed_batch_holds_nothing_for_the_requests_that_fit() -> None:
    request = ExtendRequest(0, 8, RoundRobinPages())
    played = session.lockstep(LaneLayout(2, 1, 11))
    played.step(AllocExtend((ExtendRequest(0, 12, RoundRobinPages()),)))
    assert isinstance(played.step(AllocExtend((request, request))).error, CapacityWaitError)
    assert played.step(AllocExtend((request,))).error is None


@clause("RFC-0001:C-ATOMIC-BATCH/4")
@needs("ZigzagPages")
def test_zero_length_extends_are_legal_anywhere() -> None:
    played = session.lockstep(LaneLayout(2, 16, 5))
    empty = ExtendRequest(32, 32, ZigzagPages())
    for batch in ((empty,), (empty, ExtendRequest(0, 16, ZigzagPages()), empty)):
        found = allocation(played, batch)
        assert found is not None
        expect((), found.pages[0], clause="C-ATOMIC-BATCH/4", field="pages[0]")
    played.step(AllocExtend((ExtendRequest(7, 7, ZigzagPages()),)))


@clause("RFC-0001:C-ATOMIC-BATCH/5")
@pytest.mark.parametrize("empty", [(), []])
def test_an_empty_batch_is_legal(empty: Any) -> None:
    found = allocation(session.lockstep(LaneLayout(2, 16, 5)), empty)
    assert found is not None
    expect(
        ((), (0,), (), (), ()),
        (found.out_cache_loc, found.extend_offsets, found.pages, found.phases, found.evicted),
        clause="C-ATOMIC-BATCH/5",
        field="out_cache_loc, extend_offsets, pages, phases, evicted",
    )


@clause("RFC-0001:C-ATOMIC-BATCH/6", "RFC-0001:C-ATOMIC-BATCH/7")
@needs("alloc_pages")
@examples()
@given(
    strategies.layouts(),
    st.lists(strategies.intents(faults=False), max_size=3),
    strategies.page_calls(faults=False),
    st.booleans(),
)
def test_pages_come_on_the_lanes_that_are_named(
    layout: LaneLayout, before: list[Intent], call: PagesIntent, evictor: bool
) -> None:
    director = session.direct(layout, before, evictor=evictor)
    director.play(call)


@clause("RFC-0001:C-ATOMIC-BATCH/6")
@needs("alloc_pages")
@examples(0.5)
@given(strategies.layouts(least_pages=8), st.lists(st.integers(0, 7), max_size=8))
def test_lanes_of_pages_by_the_letter(layout: LaneLayout, owners: list[int]) -> None:
    owners = [owner % layout.num_lanes for owner in owners]
    played = session.lockstep(layout)
    pages = ints(played.step_both(AllocPages(tuple(owners)))[1].result)
    expect(
        owners,
        [int(played.layout.lane_of_page(page)) for page in pages],
        clause="C-ATOMIC-BATCH/6",
        field="lanes of the pages",
    )


@clause("RFC-0001:C-ATOMIC-BATCH/8")
@needs("alloc_pages", "argument_checks")
@pytest.mark.parametrize("owners", tables.MALFORMED_OWNERS, ids=repr)
def test_owners_that_are_no_lanes_are_refused(owners: Any) -> None:
    session.play(LaneLayout(2, 4, 5), AllocPages(owners), AllocPages((0, 1)))


@clause("RFC-0001:C-ATOMIC-BATCH/9")
@needs("argument_checks")
@pytest.mark.parametrize("requests", [7, None, 1.5], ids=repr)
def test_what_is_no_batch_is_refused(requests: Any) -> None:
    played = session.lockstep(LaneLayout(2, 4, 5))
    played.step(AllocExtend(requests))
    if not played.candidate.capabilities.lacks("plan_extend"):
        played.step(PlanExtend(requests))


@clause("RFC-0001:C-ATOMIC-BATCH/10")
@needs("typed_errors", "RoundRobinPages")
def test_errors_are_those_of_the_contract() -> None:
    played = session.lockstep(LaneLayout(2, 4, 3))
    too_long = (ExtendRequest(0, 400, RoundRobinPages()),)
    for step in (AllocExtend(too_long), AllocExtend((None,)), AllocPages((9,))):
        if not isinstance(step, AllocPages) or played.candidate.capabilities.alloc_pages:
            actual = played.step_both(step)[1]
            expect(
                True,
                isinstance(actual.error, OwnerLaneError),
                clause="C-ATOMIC-BATCH/10",
                field=f"{type(actual.error).__name__} is an OwnerLaneError",
            )

"""C-INFEASIBLE-DEMAND: what no amount of waiting can serve is told apart from a wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import ExtendIntent, PagesIntent, RequestIntent
from ownerlanes.conformance.operations import AllocExtend, PlanExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import expect, needs
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
)


@clause("RFC-0001:C-INFEASIBLE-DEMAND/1", "RFC-0001:C-INFEASIBLE-DEMAND/3")
@needs("typed_errors")
@examples()
@given(strategies.layouts(most_pages=3), strategies.batches(faults=False, least=1))
def test_infeasible_lanes_by_the_letter(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    """Phases given: `required` is that of the empty pool, so capacity alone decides."""
    played, requests = session.batch(layout, batch)
    expected, actual = played.step_both(AllocExtend(requests))
    if not isinstance(expected.error, CapacityWaitError):
        return
    error = actual.error
    if all(request.phase is not None for request in requests):
        required = ints(error.required)  # type: ignore[union-attr]
        over = [lane for lane, pages in enumerate(required) if pages > layout.capacity]
        expect(
            tuple(over),
            ints(error.infeasible),  # type: ignore[union-attr]
            clause="C-INFEASIBLE-DEMAND/1",
            field="CapacityWaitError.infeasible",
        )
    expect(
        not ints(error.infeasible),  # type: ignore[union-attr]
        error.can_wait,  # type: ignore[union-attr]
        clause="C-INFEASIBLE-DEMAND/3",
        field="CapacityWaitError.can_wait",
    )


@clause("RFC-0001:C-INFEASIBLE-DEMAND/2")
@needs("open_phase", "alloc_pages")
@examples()
@given(
    strategies.layouts(least_pages=1, most_pages=4),
    st.lists(st.integers(0, 7), max_size=8),
    strategies.batches(faults=False, least=1, phases=st.none()),
)
def test_phases_are_chosen_anew_for_the_empty_pool(
    layout: LaneLayout, taken: list[int], batch: tuple[RequestIntent, ...]
) -> None:
    director = session.direct(layout, [PagesIntent(tuple(taken))])
    director.play(ExtendIntent(batch))


@clause("RFC-0001:C-INFEASIBLE-DEMAND/4")
@needs("plan_extend", "typed_errors")
@examples()
@given(strategies.layouts(most_pages=3), strategies.batches(faults=False, least=1))
def test_the_dry_run_names_the_same_lanes(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    played, requests = session.batch(layout, batch)
    planned = played.step_both(PlanExtend(requests))[1]
    expected, actual = played.step_both(AllocExtend(requests))
    if isinstance(expected.error, CapacityWaitError):
        expect(
            ints(actual.error.infeasible),  # type: ignore[union-attr]
            ints(planned.result.infeasible),
            clause="C-INFEASIBLE-DEMAND/4",
            field="plan_extend(...).infeasible",
        )


@clause("RFC-0001:C-INFEASIBLE-DEMAND/5", "RFC-0001:C-INFEASIBLE-DEMAND/1")
@needs("ZigzagPages")
def test_more_than_the_pool_is_an_error_that_can_be_caught() -> None:
    played = session.lockstep(LaneLayout(4, 16, 11))
    error = played.step(AllocExtend((ExtendRequest(0, 1000, ZigzagPages()),))).error
    assert isinstance(error, CapacityWaitError)
    assert (error.infeasible, error.can_wait) == ((0, 1, 2, 3), False)
    assert played.step(AllocExtend((ExtendRequest(0, 640, ZigzagPages()),))).error is None


@clause("RFC-0001:C-INFEASIBLE-DEMAND/1", "RFC-0001:C-INFEASIBLE-DEMAND/3")
@needs("RoundRobinPages", "typed_errors")
def test_a_lane_that_is_short_now_can_be_feasible() -> None:
    request = ExtendRequest(0, 96, RoundRobinPages())
    played = session.lockstep(LaneLayout(4, 16, 3))
    played.step(AllocExtend((request,)))
    actual = played.step_both(AllocExtend((request,)))[1].error
    expect(
        ((), True),
        (ints(actual.infeasible), actual.can_wait),  # type: ignore[union-attr]
        clause="C-INFEASIBLE-DEMAND/1",
        field="infeasible and can_wait of lanes that are full",
    )


@clause("RFC-0001:C-INFEASIBLE-DEMAND/1")
@needs("RoundRobinPages")
def test_only_some_lanes_are_infeasible() -> None:
    played = session.lockstep(LaneLayout(4, 16, 3))
    batch = (ExtendRequest(0, 64, RoundRobinPages()), ExtendRequest(0, 80, RoundRobinPages()))
    error = played.step(AllocExtend(batch)).error
    assert isinstance(error, CapacityWaitError)
    assert error.infeasible == (0,)
    assert played.step(AllocExtend(batch[:1] * 2)).error is None

"""C-REQUEST-LOCAL-PLANNING: plans by themselves, and the dry run that foretells."""

from __future__ import annotations

from dataclasses import replace

import pytest
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
    RequestIntent,
)
from ownerlanes.conformance.operations import AllocExtend, PlanExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect, needs
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ContiguousPages,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
)

ROOMY = strategies.layouts(least_pages=40, most_pages=40)


def lanes(layout: LaneLayout, row: tuple[int, ...]) -> list[int]:
    return [int(layout.lane_of_page(page)) for page in row]


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/1", "RFC-0001:C-REQUEST-LOCAL-PLANNING/2")
@examples()
@given(ROOMY, strategies.batches(faults=False, least=2, phases=strategies.FIXED_PHASES))
def test_a_request_is_planned_in_a_batch_as_it_is_alone(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    new = [replace(intent, source="new") for intent in batch]
    new = [replace(intent, split=replace(intent.split, fit=0)) for intent in new]
    played, requests = session.batch(layout, new)
    together = allocation(played, requests, about="C-REQUEST-LOCAL-PLANNING/1")
    if together is None:
        return
    for index, request in enumerate(requests):
        alone = allocation(session.lockstep(layout), (request,))
        assert alone is not None
        expect(
            lanes(played.layout, alone.pages[0]),
            lanes(played.layout, together.pages[index]),
            clause="C-REQUEST-LOCAL-PLANNING/1",
            field=f"lanes of request {index}, alone and in the batch",
        )


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/1")
@examples(0.5)
@given(
    strategies.layouts(least_pages=20, most_pages=20),
    strategies.requests(faults=False, phases=strategies.FIXED_PHASES),
    st.lists(st.integers(0, 7), max_size=12),
)
def test_which_pages_are_free_does_not_change_a_plan(
    layout: LaneLayout, intent: RequestIntent, taken: list[int]
) -> None:
    intent = replace(intent, source="new", split=replace(intent.split, fit=0))
    fresh, (request,) = session.batch(layout, [intent])
    used = session.direct(layout, [PagesIntent(tuple(taken))]).lockstep
    first, second = allocation(fresh, (request,)), allocation(used, (request,))
    if first is not None and second is not None:
        expect(
            lanes(fresh.layout, first.pages[0]),
            lanes(fresh.layout, second.pages[0]),
            clause="C-REQUEST-LOCAL-PLANNING/1",
            field="lanes of the pages, in an empty and in a used pool",
        )


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/2")
@needs("ZigzagPages")
def test_two_requests_are_not_one_long_request() -> None:
    played = session.lockstep(LaneLayout(4, 16, 7))
    found = allocation(
        played,
        (
            ExtendRequest(0, 48, ZigzagPages()),
            ExtendRequest(0, 128, ZigzagPages()),
            ExtendRequest(0, 16, ZigzagPages()),
        ),
        about="C-REQUEST-LOCAL-PLANNING/2",
    )
    assert found is not None
    expect(
        [[0, 1, 2], [0, 1, 2, 3, 3, 2, 1, 0], [0]],
        [lanes(played.layout, row) for row in found.pages],
        clause="C-REQUEST-LOCAL-PLANNING/2",
        field="lanes of the pages of each request",
    )


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/3")
@needs("ZigzagPages", "ContiguousPages", "RoundRobinPages", "ExplicitOwners")
def test_every_request_has_its_own_split() -> None:
    played = session.lockstep(LaneLayout(3, 8, 13))
    found = allocation(
        played,
        (
            ExtendRequest(0, 72, ZigzagPages()),
            ExtendRequest(0, 24, ContiguousPages()),
            ExtendRequest(0, 25, RoundRobinPages(2)),
            ExtendRequest(0, 24, ExplicitOwners((2, 0, 2))),
        ),
        about="C-REQUEST-LOCAL-PLANNING/3",
    )
    assert found is not None
    expect(
        [[0, 0, 1, 1, 2, 2, 2, 1, 0], [0, 1, 2], [0, 0, 1, 1], [2, 0, 2]],
        [lanes(played.layout, row) for row in found.pages],
        clause="C-REQUEST-LOCAL-PLANNING/3",
        field="lanes of the pages of each request",
    )


@clause(
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/4",
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/6",
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/7",
    "RFC-0001:C-REQUEST-LOCAL-PLANNING/8",
)
@needs("plan_extend")
@examples()
@given(
    strategies.layouts(),
    st.booleans(),
    st.lists(strategies.intents(faults=False), max_size=4),
    strategies.batches(),
    strategies.evictors(),
)
def test_a_dry_run_tells_what_the_batch_would_take(
    layout: LaneLayout,
    evictor: bool,
    before: list[Intent],
    batch: tuple[RequestIntent, ...],
    script: EvictIntent | None,
) -> None:
    director = session.direct(layout, before, evictor=evictor)
    director.play(ExtendIntent(batch, script, only_plan=True))
    director.play(ExtendIntent(batch, script))


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/4")
@needs("plan_extend")
@examples()
@given(strategies.layouts(), strategies.batches(faults=False))
def test_the_deficit_of_a_dry_run_is_that_of_the_wait(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    played, requests = session.batch(layout, batch)
    planned, plan = played.step_both(PlanExtend(requests))
    outcome, actual = played.step_both(AllocExtend(requests))
    if planned.error is not None or not played.candidate.capabilities.typed_errors:
        return
    if isinstance(outcome.error, CapacityWaitError):
        told = ints(actual.error.deficit)  # type: ignore[union-attr]
    else:
        told = (0,) * played.layout.num_lanes
    expect(
        told,
        ints(plan.result.deficit),
        clause="C-REQUEST-LOCAL-PLANNING/4",
        field="plan_extend(...).deficit",
    )


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/4")
@needs("plan_extend", "RoundRobinPages")
@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_the_deficit_of_a_dry_run_counts_what_is_free_now(taken: int) -> None:
    """Three pages a lane, some of them taken, and two wanted."""
    played = session.lockstep(LaneLayout(2, 4, 4))
    played.step(AllocExtend((ExtendRequest(0, 8 * taken, RoundRobinPages()),)))
    plan = played.step_both(PlanExtend((ExtendRequest(0, 16, RoundRobinPages()),)))[1].result
    expect(
        ((2, 2), (max(0, taken - 1),) * 2),
        (ints(plan.required), ints(plan.deficit)),
        clause="C-REQUEST-LOCAL-PLANNING/4",
        field="required and deficit of plan_extend(...)",
    )


@clause("RFC-0001:C-REQUEST-LOCAL-PLANNING/5")
@needs("plan_extend", "partial_pages", "RoundRobinPages")
def test_a_tail_page_is_in_no_count() -> None:
    played = session.lockstep(LaneLayout(4, 64, 3))
    first = played.step(AllocExtend((ExtendRequest(0, 63, RoundRobinPages()),)))
    filling = ExtendRequest(63, 64, RoundRobinPages(), first.result.out_cache_loc[-1])
    plan = played.step_both(PlanExtend((filling,)))[1].result
    expect(
        (0, 0, 0, 0),
        ints(plan.required),
        clause="C-REQUEST-LOCAL-PLANNING/5",
        field="plan_extend(...).required",
    )
    played.step(PlanExtend((replace(filling, seq_len=65),)))
    played.step(AllocExtend((filling,)))

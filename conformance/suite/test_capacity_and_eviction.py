"""C-CAPACITY-AND-EVICTION: a shortage is told by lane, can be caught, and changes nothing."""

from __future__ import annotations

import re

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
from ownerlanes.conformance.operations import AllocExtend, AllocPages, EvictorScript, FreePages
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import expect, needs, own_counts
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    ZigzagPages,
)


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/1")
@needs("eviction", "alloc_pages")
@examples()
@given(
    strategies.layouts(least_pages=1, most_pages=6),
    strategies.batches(faults=False, least=1, most=2),
    strategies.good_evictors(),
    strategies.page_calls(faults=False),
)
def test_a_full_pool_evicts_and_tries_again(
    layout: LaneLayout,
    batch: tuple[RequestIntent, ...],
    evictor: EvictIntent,
    call: PagesIntent,
) -> None:
    director = session.direct(layout, evictor=True)
    director.play(ExtendIntent(batch, evictor, pressed=True))
    director.play(call)


@clause(
    "RFC-0001:C-CAPACITY-AND-EVICTION/2",
    "RFC-0001:C-CAPACITY-AND-EVICTION/3",
    "RFC-0001:C-CAPACITY-AND-EVICTION/4",
)
@examples()
@given(
    strategies.layouts(most_pages=3),
    st.lists(strategies.intents(faults=False), max_size=3),
    strategies.batches(faults=False, least=2),
)
def test_shortages_are_told_by_lane(
    layout: LaneLayout, before: list[Intent], batch: tuple[RequestIntent, ...]
) -> None:
    session.direct(layout, before).play(ExtendIntent(batch))


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/3")
@needs("typed_errors")
@examples()
@given(strategies.layouts(most_pages=3), strategies.batches(faults=False, least=2))
def test_the_three_counts_agree_with_each_other(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    played, requests = session.batch(layout, batch)
    expected, actual = played.step_both(AllocExtend(requests))
    if not isinstance(expected.error, CapacityWaitError):
        return
    error = actual.error
    required, available = ints(error.required), ints(error.available)  # type: ignore[union-attr]
    expect(
        own_counts(played),
        available,
        clause="C-CAPACITY-AND-EVICTION/3",
        field="CapacityWaitError.available, and available_pages() after it",
    )
    expect(
        tuple(max(0, a - b) for a, b in zip(required, available, strict=True)),
        ints(error.deficit),  # type: ignore[union-attr]
        clause="C-CAPACITY-AND-EVICTION/3",
        field="CapacityWaitError.deficit, by its required and available",
    )


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/5")
@needs("typed_errors", "RoundRobinPages", "phases")
def test_the_message_names_every_short_lane_with_its_counts() -> None:
    played = session.lockstep(LaneLayout(4, 16, 4))
    batch = (
        ExtendRequest(0, 16 * 17, RoundRobinPages()),
        ExtendRequest(0, 16 * 9, RoundRobinPages(), phase=2),
    )
    error = played.step_both(AllocExtend(batch))[1].error
    assert error is not None
    told = [int(number) for number in re.findall(r"\d+", str(error))]
    for lane, missing in enumerate(ints(error.deficit)):  # type: ignore[attr-defined]
        numbers = [lane, *(ints(getattr(error, name))[lane] for name in ("required", "available"))]
        if missing:
            expect(
                [*numbers, missing],
                [number for number in [*numbers, missing] if number in told],
                clause="C-CAPACITY-AND-EVICTION/5",
                field=f"numbers of lane {lane} in the message {str(error)!r}",
            )


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2")
@needs("RoundRobinPages", "phases")
@pytest.mark.parametrize("pages", [1, 2])
def test_a_pool_with_room_elsewhere_still_waits_for_the_short_lane(pages: int) -> None:
    request = ExtendRequest(0, 16, RoundRobinPages())
    played = session.lockstep(LaneLayout(2, 16, 5))
    played.step(AllocExtend((request,) * 4))
    error = played.step(AllocExtend((ExtendRequest(0, 16 * pages, RoundRobinPages()),))).error
    assert isinstance(error, CapacityWaitError)
    assert error.deficit == (1, 0)
    played.step(AllocExtend((ExtendRequest(0, 16, RoundRobinPages(), phase=1),)))


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2")
@needs("RoundRobinPages", "phases")
def test_many_requests_on_one_phase_are_counted_together() -> None:
    played = session.lockstep(LaneLayout(4, 16, 10))
    request = ExtendRequest(0, 16, RoundRobinPages(), phase=3)
    played.step(AllocExtend((request,) * 7))
    assert played.step(AllocExtend((request,) * 3)).error is not None
    assert played.step(AllocExtend((request,) * 2)).error is None


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2", "RFC-0001:C-CAPACITY-AND-EVICTION/4")
@needs("RoundRobinPages")
def test_one_page_short_one_released_then_it_fits() -> None:
    played = session.lockstep(LaneLayout(2, 16, 4))
    first = played.step(AllocExtend((ExtendRequest(0, 16, RoundRobinPages()),)))
    everything = AllocExtend((ExtendRequest(0, 96, RoundRobinPages()),))
    assert isinstance(played.step(everything).error, CapacityWaitError)
    played.step(FreePages(first.result.pages[0]))
    assert played.step(everything).error is None


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2")
@needs("ZigzagPages")
def test_needs_are_whole_pages_of_each_request() -> None:
    """Four and five pages on four lanes of two: together nine pages, on a pool of eight."""
    played = session.lockstep(LaneLayout(4, 16, 3))
    four, five = (ExtendRequest(0, 16 * pages, ZigzagPages()) for pages in (4, 5))
    assert played.step(AllocExtend((four, five))).error is not None
    assert played.step(AllocExtend((four, four))).error is None
    lengths = (1444, 1, 63, 64, 65, 127, 128, 129)
    session.play(
        LaneLayout(4, 64, 81),
        AllocExtend(tuple(ExtendRequest(0, length, ZigzagPages()) for length in lengths)),
    )


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2")
@needs("ZigzagPages")
@pytest.mark.parametrize("num_lanes", [1, 4])
def test_an_exact_fit_is_not_refused(num_lanes: int) -> None:
    played = session.lockstep(LaneLayout(num_lanes, 32, 9))
    fit = ExtendRequest(0, num_lanes * 8 * 32, ZigzagPages())
    assert played.step(AllocExtend((fit,))).error is None
    assert played.step(AllocExtend((ExtendRequest(0, 1, ZigzagPages()),))).error is not None


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/2", "RFC-0001:C-CAPACITY-AND-EVICTION/4")
@needs("exact_pages", "alloc_pages")
@examples()
@given(
    strategies.layouts(least_pages=1),
    st.lists(st.integers(0, 7), max_size=8),
    st.integers(0, 7),
)
def test_exactly_what_is_free_fits_and_one_page_more_does_not(
    layout: LaneLayout, taken: list[int], lane: int
) -> None:
    director = session.direct(layout, [PagesIntent(tuple(taken))])
    director.play(PagesIntent((lane,), fit=2))
    director.play(PagesIntent((lane,), fit=1))


@clause("RFC-0001:C-CAPACITY-AND-EVICTION/3", "RFC-0001:C-CAPACITY-AND-EVICTION/4")
@needs("eviction", "alloc_pages", "RoundRobinPages")
@pytest.mark.parametrize("through", ["return", "free", "free_pages"])
def test_what_eviction_released_stays_released_when_it_was_too_little(through: str) -> None:
    played = session.lockstep(LaneLayout(2, 4, 4), evictor=True)
    pages = played.step(AllocPages((0, 0, 0, 1, 1, 1))).result
    script = EvictorScript((3, 3), (pages[0], pages[3], pages[4]), through)  # type: ignore[arg-type]
    error = played.step(AllocExtend((ExtendRequest(0, 16, RoundRobinPages()),), script)).error
    assert isinstance(error, CapacityWaitError)
    assert (error.evicted, error.deficit) == ((1, 2), (1, 0))

"""C-CONSERVATION: nothing is lost, nothing is handed out twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.intents import (
    ClearIntent,
    ExtendIntent,
    Intent,
    ReleaseIntent,
    RequestIntent,
)
from ownerlanes.conformance.operations import AllocExtend, Clear
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import expect, needs, own_counts, plain_allocation
from ownerlanes.reference.contract import LaneLayout


@clause("RFC-0001:C-CONSERVATION/1")
@examples()
@given(strategies.histories(most=8))
def test_free_and_allocated_add_up_after_every_call(
    history: tuple[LaneLayout, bool, list[Intent]],
) -> None:
    layout, evictor, intents = history
    director = session.direct(layout, evictor=evictor)
    for intent in intents:
        director.play(intent)
        pages = {page for live in director.live for page in live.pages(director.layout)}
        held: list[int] = [director.layout.lane_of_page(page) for page in pages]
        free = own_counts(director.lockstep)
        expect(
            (director.layout.capacity,) * director.layout.num_lanes,
            tuple(count + held.count(lane) for lane, count in enumerate(free)),
            clause="C-CONSERVATION/1",
            field="free + allocated, by lane",
        )


@clause("RFC-0001:C-CONSERVATION/2")
@examples()
@given(
    strategies.layouts(least_pages=3, most_pages=12),
    st.lists(strategies.batches(faults=False, least=1), min_size=2, max_size=4),
)
def test_no_page_is_handed_out_while_it_is_allocated(
    layout: LaneLayout, batches: list[tuple[RequestIntent, ...]]
) -> None:
    director = session.direct(layout)
    live: set[int] = set()
    for batch in batches:
        requests = tuple(
            director.batch([intent for intent in batch if intent.source != "chunk"])[0]
        )
        expected, actual = director.lockstep.step_both(AllocExtend(requests))
        if expected.error is None:
            new = [page for row in plain_allocation(actual.result).pages for page in row]
            expect(
                set(),
                live & set(new),
                clause="C-CONSERVATION/2",
                field="pages handed out twice",
            )
            expect(len(new), len(set(new)), clause="C-CONSERVATION/2", field="distinct new pages")
            live |= set(new)


@clause("RFC-0001:C-CONSERVATION/3")
@needs("snapshot")
@examples()
@given(strategies.histories(faults=False, most=6))
def test_counts_are_those_of_the_snapshot(
    history: tuple[LaneLayout, bool, list[Intent]],
) -> None:
    layout, evictor, intents = history
    played = session.direct(layout, intents, evictor=evictor).lockstep
    free = played.player.allocator.snapshot().free
    expect(
        tuple(len(ints(lane)) for lane in free),
        own_counts(played),
        clause="C-CONSERVATION/3",
        field="available_pages(), by the snapshot",
    )


@clause("RFC-0001:C-CONSERVATION/4")
@examples(0.5)
@given(strategies.layouts())
def test_a_new_allocator_has_everything_free(layout: LaneLayout) -> None:
    played = session.lockstep(layout)
    expect(
        (layout.capacity,) * layout.num_lanes,
        own_counts(played),
        clause="C-CONSERVATION/4",
        field="available_pages() of a new allocator",
    )


@clause("RFC-0001:C-CONSERVATION/5", "RFC-0001:C-CONSERVATION/6")
@needs("clear")
@examples(0.5)
@given(strategies.histories(faults=False, most=5), strategies.batches(faults=False))
def test_clear_makes_everything_free_and_asks_nobody(
    history: tuple[LaneLayout, bool, list[Intent]], batch: tuple[RequestIntent, ...]
) -> None:
    layout, _, intents = history
    director = session.direct(layout, intents, evictor=True)
    actual = director.lockstep.step_both(Clear())[1]
    expect(0, actual.times_counted, clause="C-CONSERVATION/6", field="calls of evictable_pages()")
    expect((), actual.evictions, clause="C-CONSERVATION/6", field="calls of evict()")
    director.live.clear()
    director.play(ExtendIntent(batch))
    director.play(ReleaseIntent())
    director.play(ClearIntent())

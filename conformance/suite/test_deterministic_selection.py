"""C-DETERMINISTIC-SELECTION: the free set is the whole state, and pages are taken in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.difference import ints
from ownerlanes.conformance.director import Director
from ownerlanes.conformance.intents import ExtendIntent, Intent, PagesIntent, RequestIntent
from ownerlanes.conformance.operations import AllocExtend, AllocPages, FreePages
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import expect, needs, plain_allocation
from ownerlanes.reference.contract import LaneLayout


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/1", "RFC-0001:C-DETERMINISTIC-SELECTION/2")
@needs("exact_pages", "snapshot")
@examples()
@given(
    strategies.layouts(least_pages=2, most_pages=10),
    st.lists(strategies.intents(faults=False), max_size=4),
    strategies.batches(faults=False, least=1),
)
def test_lanes_hand_out_their_lowest_pages_in_flattened_order(
    layout: LaneLayout, before: list[Intent], batch: tuple[RequestIntent, ...]
) -> None:
    director = session.direct(layout, before)
    played = director.lockstep
    free = [ints(lane) for lane in played.player.allocator.snapshot().free]
    expected, actual = played.step_both(AllocExtend(tuple(director.batch(batch)[0])))
    if expected.error is not None:
        return
    taken: list[list[int]] = [[] for _ in free]
    for row in plain_allocation(actual.result).pages:
        for page in row:
            taken[played.layout.lane_of_page(page)].append(played.layout.local_page(page))
    for lane, pages in enumerate(taken):
        expect(
            list(free[lane][: len(pages)]),
            pages,
            clause="C-DETERMINISTIC-SELECTION/1",
            field=f"local pages taken of lane {lane}, in flattened order",
        )


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/3")
@needs("exact_pages", "alloc_pages")
@examples()
@given(
    strategies.layouts(least_pages=1),
    st.lists(st.integers(0, 99), max_size=12),
    st.lists(st.integers(0, 99), max_size=12),
    strategies.batches(faults=False, least=1),
)
def test_the_order_of_releases_leaves_no_trace(
    layout: LaneLayout,
    kept: list[int],
    order: list[int],
    batch: tuple[RequestIntent, ...],
) -> None:
    """One pool emptied lane by lane in one order, one in another; the same pages stay taken."""
    everything = tuple(range(layout.num_lanes)) * layout.capacity
    first, second = session.lockstep(layout), session.lockstep(layout)
    answers = []
    for played, keys in ((first, None), (second, order)):
        pages = list(played.step(AllocPages(everything)).result)
        keep = {pages[at % len(pages)] for at in kept}
        release = [page for page in pages if page not in keep]
        if keys:
            release.sort(key=lambda page: keys[page % len(keys)])
        for page in release:
            played.step(FreePages((page,)))
        requests = Director(played).batch([intent for intent in batch if intent.source != "chunk"])[
            0
        ]
        actual = played.step_both(AllocExtend(tuple(requests)))[1]
        refused = actual.error is not None or actual.result is None
        answers.append(None if refused else plain_allocation(actual.result))
    expect(
        answers[0],
        answers[1],
        clause="C-DETERMINISTIC-SELECTION/3",
        field="the answers of two pools with the same free pages",
    )


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/4", "RFC-0001:C-DETERMINISTIC-SELECTION/5")
@needs("snapshot")
@examples(0.5)
@given(strategies.histories(faults=False, most=6))
def test_snapshots_are_the_free_pages_ascending(
    history: tuple[LaneLayout, bool, list[Intent]],
) -> None:
    layout, evictor, intents = history
    director = session.direct(layout, intents, evictor=evictor)
    snapshot = director.lockstep.player.allocator.snapshot()
    for lane, pages in enumerate(snapshot.free):
        expect(
            sorted(set(pages)),
            list(pages),
            clause="C-DETERMINISTIC-SELECTION/4",
            field=f"snapshot().free[{lane}], sorted and distinct",
        )
    if director.claims.exact_pages:
        expect(
            (director.lockstep.pool, hash(director.lockstep.pool)),
            (snapshot, hash(snapshot)),
            clause="C-DETERMINISTIC-SELECTION/5",
            field="snapshot() and its hash",
        )


@clause("RFC-0001:C-DETERMINISTIC-SELECTION/6")
@needs("snapshot")
@examples(0.5)
@given(strategies.layouts(least_pages=1), st.lists(strategies.intents(faults=False), max_size=4))
def test_a_snapshot_stays_as_it_was(layout: LaneLayout, intents: list[Intent]) -> None:
    director = session.direct(layout, [PagesIntent((0, 1, 0))])
    snapshot = director.lockstep.player.allocator.snapshot()
    before = (hash(snapshot), tuple(map(tuple, snapshot.free)))
    for intent in [*intents, ExtendIntent((RequestIntent(),))]:
        director.play(intent)
    expect(
        before,
        (hash(snapshot), tuple(map(tuple, snapshot.free))),
        clause="C-DETERMINISTIC-SELECTION/6",
        field="an old snapshot's hash and pages",
    )

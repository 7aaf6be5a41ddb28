"""C-FLATTENED-ORDER: what out_cache_loc promises, stated on the candidate's own answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import ExtendIntent, Intent, Length, RequestIntent
from ownerlanes.conformance.operations import AllocExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, expect, needs
from ownerlanes.reference.contract import ExtendRequest, LaneLayout, RoundRobinPages, ZigzagPages


@clause(
    "RFC-0001:C-FLATTENED-ORDER/1",
    "RFC-0001:C-FLATTENED-ORDER/2",
    "RFC-0001:C-FLATTENED-ORDER/3",
    "RFC-0001:C-FLATTENED-ORDER/4",
    "RFC-0001:C-FLATTENED-ORDER/5",
    "RFC-0001:C-FLATTENED-ORDER/6",
    "RFC-0001:C-FLATTENED-ORDER/7",
    "RFC-0001:C-FLATTENED-ORDER/8",
)
@examples()
@given(
    strategies.layouts(least_pages=4, most_pages=20),
    st.lists(strategies.intents(faults=False), max_size=3),
    strategies.batches(faults=False, least=1),
)
def test_slots_by_the_letter(
    layout: LaneLayout, before: list[Intent], batch: tuple[RequestIntent, ...]
) -> None:
    director = session.direct(layout, before)
    requests = tuple(director.batch(batch)[0])
    found = allocation(director.lockstep, requests)
    if found is None:
        return
    size, slots = layout.page_size, found.out_cache_loc
    lengths = [int(request.seq_len) - int(request.prefix_len) for request in requests]
    order = "C-FLATTENED-ORDER"
    expect(sum(lengths), len(slots), clause=f"{order}/1", field="len(out_cache_loc)")
    expect(len(slots), len(set(slots)), clause=f"{order}/4", field="number of distinct slots")
    expect(0, found.extend_offsets[0], clause=f"{order}/5", field="extend_offsets[0]")
    expect(
        lengths,
        [end - start for start, end in pairwise(found.extend_offsets)],
        clause=f"{order}/5",
        field="differences of extend_offsets",
    )
    for index, request in enumerate(requests):
        own = slots[found.extend_offsets[index] : found.extend_offsets[index + 1]]
        check_request(request, own, found.pages[index], size)


def check_request(
    request: ExtendRequest, slots: tuple[int, ...], pages: tuple[int, ...], size: int
) -> None:
    """The slots of one request: offsets, one page a position, and the pages as named."""
    first = int(request.prefix_len)
    expect(
        [position % size for position in range(first, int(request.seq_len))],
        [slot % size for slot in slots],
        clause="C-FLATTENED-ORDER/6",
        field="offsets in the pages",
    )
    by_position: dict[int, set[int]] = {}
    for position, slot in enumerate(slots, first):
        by_position.setdefault(position // size, set()).add(slot // size)
    named = list(pages)
    if first % size and slots:
        assert request.last_slot is not None
        expect(
            {slots[0] // size},
            by_position[first // size],
            clause="C-FLATTENED-ORDER/7",
            field="pages of the tail page's position",
        )
        named.insert(0, slots[0] // size)
    expect(
        [{page} for page in named],
        [by_position[position] for position in sorted(by_position)],
        clause="C-FLATTENED-ORDER/8",
        field="pages by position, and pages as named",
    )


@clause("RFC-0001:C-FLATTENED-ORDER/2", "RFC-0001:C-FLATTENED-ORDER/3")
@needs("ZigzagPages")
def test_eighteen_uneven_requests_keep_their_order() -> None:
    lengths = (511, 3, 777, 64, 65, 1023, 12, 700, 300, 299, 801, 5, 640, 641, 127, 900, 2, 1000)
    played = session.lockstep(LaneLayout(8, 64, 33))
    found = allocation(played, tuple(ExtendRequest(0, length, ZigzagPages()) for length in lengths))
    assert found is not None
    expect(
        sum(lengths), found.extend_offsets[-1], clause="C-FLATTENED-ORDER/5", field="last offset"
    )


@clause("RFC-0001:C-FLATTENED-ORDER/2", "RFC-0001:C-FLATTENED-ORDER/3")
@needs("ZigzagPages", "RoundRobinPages")
@pytest.mark.parametrize("placement", ["interleaved", "blocked"])
def test_pages_of_one_slot_keep_the_order_of_the_tokens(placement: Any) -> None:
    session.play(
        LaneLayout(3, 1, 12, placement),
        AllocExtend((ExtendRequest(0, 10, ZigzagPages()), ExtendRequest(0, 7, RoundRobinPages()))),
        AllocExtend((ExtendRequest(7, 12, ZigzagPages()),)),
    )


@clause("RFC-0001:C-FLATTENED-ORDER/3", "RFC-0001:C-FLATTENED-ORDER/2")
@examples(0.1)
@given(strategies.layouts(least_pages=60, most_pages=60), strategies.large_batches())
def test_large_batches(layout: LaneLayout, batch: tuple[RequestIntent, ...]) -> None:
    session.direct(layout, [ExtendIntent(batch), ExtendIntent(batch)])


@clause("RFC-0001:C-FLATTENED-ORDER/3")
@needs("RoundRobinPages", "ZigzagPages")
def test_one_long_request_among_short_ones() -> None:
    session.play(
        LaneLayout(8, 64, 40),
        AllocExtend(
            (
                ExtendRequest(0, 1, RoundRobinPages()),
                ExtendRequest(0, 12_345, ZigzagPages()),
                ExtendRequest(0, 1, RoundRobinPages()),
            )
        ),
    )


@clause("RFC-0001:C-FLATTENED-ORDER/7", "RFC-0001:C-FLATTENED-ORDER/8")
@needs("partial_pages", "RoundRobinPages")
def test_filling_a_partial_page_takes_no_page() -> None:
    played = session.lockstep(LaneLayout(4, 64, 3))
    first = played.step(AllocExtend((ExtendRequest(0, 63, RoundRobinPages()),)))
    last = first.result.out_cache_loc[-1]
    outcome = played.step(AllocExtend((ExtendRequest(63, 64, RoundRobinPages(), last),)))
    assert outcome.result.pages == ((),)
    assert outcome.result.out_cache_loc == (last + 1,)


@clause("RFC-0001:C-FLATTENED-ORDER/7")
@needs("partial_pages")
@examples()
@given(
    strategies.layouts(least_pages=12, most_pages=12),
    st.lists(strategies.requests(faults=False), min_size=1, max_size=3),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_several_chains_grow_together(
    layout: LaneLayout, first: list[RequestIntent], chunks: list[int]
) -> None:
    director = session.direct(layout, [ExtendIntent(tuple(first))])
    for tokens in chunks:
        batch = tuple(
            RequestIntent("chunk", which, length=Length("token", tokens), split=intent.split)
            for which, intent in enumerate(first)
        )
        director.play(ExtendIntent(batch))

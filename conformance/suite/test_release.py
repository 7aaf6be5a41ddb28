"""C-RELEASE: whole pages, all or nothing, once each, whatever names them.

Deferred release is an offer of its own, made to callers with device tensors, and not covered here.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies, tables
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import ExtendIntent, ReleaseIntent, RequestIntent
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, Free, FreePages, Step
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import error_of, expect, needs, own_counts
from ownerlanes.reference.contract import (
    ExtendRequest,
    InvalidFreeError,
    LaneLayout,
    RoundRobinPages,
)

BATCHES = strategies.batches(faults=False, least=1)


@clause(
    "RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/2", "RFC-0001:C-RELEASE/3", "RFC-0001:C-RELEASE/6"
)
@examples()
@given(
    strategies.layouts(least_pages=2),
    BATCHES,
    st.lists(strategies.releases(faults=False), min_size=1, max_size=4),
    BATCHES,
)
def test_what_was_allocated_can_be_released_and_taken_again(
    layout: LaneLayout,
    batch: tuple[RequestIntent, ...],
    releases: list[ReleaseIntent],
    again: tuple[RequestIntent, ...],
) -> None:
    session.direct(layout, [ExtendIntent(batch), *releases, ExtendIntent(again)])


@clause("RFC-0001:C-RELEASE/4", "RFC-0001:C-RELEASE/5")
@needs("release_checks")
@examples()
@given(
    strategies.layouts(least_pages=2),
    BATCHES,
    st.lists(strategies.releases(), min_size=1, max_size=5),
)
def test_a_release_with_a_wrong_page_releases_nothing(
    layout: LaneLayout, batch: tuple[RequestIntent, ...], releases: list[ReleaseIntent]
) -> None:
    session.direct(layout, [ExtendIntent(batch), *releases])


def two_pages() -> tuple[Lockstep, tuple[int, ...], tuple[int, ...]]:
    """A pool with one request of eight tokens on two pages; its slots and pages."""
    played = session.lockstep(LaneLayout(2, 4, 5))
    result = played.step(AllocExtend((ExtendRequest(0, 8, RoundRobinPages()),))).result
    return played, result.out_cache_loc, result.pages[0]


@clause("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/3")
@needs("RoundRobinPages")
@pytest.mark.parametrize("carried", ["sequence", "own"])
def test_one_slot_of_a_page_releases_it_and_duplicates_are_one_release(carried: Any) -> None:
    played, slots, pages = two_pages()
    played.step(Free((slots[1], slots[1], slots[2]), carried))
    expect((4, 3), own_counts(played), clause="C-RELEASE/1", field="available_pages()")
    played.step(FreePages((pages[1], pages[1]), carried))
    expect((4, 4), own_counts(played), clause="C-RELEASE/3", field="available_pages()")


@clause("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/2")
@needs("RoundRobinPages")
@pytest.mark.parametrize("kind", [Free, FreePages])
@pytest.mark.parametrize("pages", [1, 2, 3, 4, 5, 9, 16])
def test_one_release_of_many_pages_releases_them_all(pages: int, kind: Any) -> None:
    played = session.lockstep(LaneLayout(2, 4, 10))
    request = ExtendRequest(0, 4 * pages, RoundRobinPages())
    given = played.step(AllocExtend((request,))).result
    played.step(kind(given.out_cache_loc if kind is Free else given.pages[0]))
    expect((9, 9), own_counts(played), clause="C-RELEASE/2", field="available_pages()")


@clause("RFC-0001:C-RELEASE/4")
@needs("RoundRobinPages", "release_checks")
@pytest.mark.parametrize("carried", ["sequence", "own"])
@pytest.mark.parametrize("by_slots", [True, False])
def test_a_second_release_is_refused(carried: Any, by_slots: bool) -> None:
    played, slots, pages = two_pages()
    step: Step = Free(slots[:4], carried) if by_slots else FreePages(pages[:1], carried)
    assert error_of(played, step) is None
    assert isinstance(error_of(played, step), InvalidFreeError)
    apart = Free((slots[3],), carried)  # another slot of the same page
    assert isinstance(error_of(played, apart), InvalidFreeError)


@clause("RFC-0001:C-RELEASE/4")
@needs("RoundRobinPages", "release_checks")
@pytest.mark.parametrize("carried", ["sequence", "own"])
@pytest.mark.parametrize("wrong", ["free", "reserved", "beyond", "far beyond", "negative"])
@pytest.mark.parametrize("by_slots", [True, False])
def test_each_kind_of_wrong_page_in_each_place(carried: Any, wrong: str, by_slots: bool) -> None:
    played, slots, pages = two_pages()
    layout = played.layout
    page = {
        "free": layout.page(0, played.pool.free[0][-1]),
        "reserved": layout.page(1, 0),
        "beyond": layout.num_pages,
        "far beyond": 2**40,
        "negative": -1,
    }[wrong]
    for place in range(3):
        ids = list(slots[::4] if by_slots else pages)
        ids.insert(place, page * layout.page_size if by_slots else page)
        step: Step = (Free if by_slots else FreePages)(tuple(ids), carried)
        if wrong != "reserved" or layout.reserved_pages:
            assert isinstance(error_of(played, step), InvalidFreeError)
    assert error_of(played, Free(slots)) is None


@clause("RFC-0001:C-RELEASE/4", "RFC-0001:C-RELEASE/3")
@needs("release_checks", "RoundRobinPages")
def test_pages_of_one_slot_keep_every_check() -> None:
    played = session.lockstep(LaneLayout(3, 1, 5))
    slots = played.step(AllocExtend((ExtendRequest(0, 5, RoundRobinPages()),))).result.out_cache_loc
    assert error_of(played, Free((slots[0], slots[0]))) is None
    assert isinstance(error_of(played, Free((slots[1], slots[0]))), InvalidFreeError)
    assert error_of(played, Free(slots[1:])) is None


@clause("RFC-0001:C-RELEASE/4")
@needs("RoundRobinPages", "release_checks")
@pytest.mark.parametrize("kind", [Free, FreePages])
def test_ids_do_not_wrap_around_when_every_page_is_allocated(kind: Any) -> None:
    played = session.lockstep(LaneLayout(2, 4, 5))
    tokens = 2 * played.layout.capacity * played.layout.page_size
    played.step(AllocExtend((ExtendRequest(0, tokens, RoundRobinPages()),)))
    size = played.layout.page_size if kind is Free else 1
    last, beyond = -1, played.layout.num_pages * size
    for wrong in (last, -2 * size, beyond, beyond + 2 * size, last + 2**32, 2**32 + 2 * size):
        assert isinstance(error_of(played, kind((wrong,))), InvalidFreeError)


@clause("RFC-0001:C-RELEASE/5")
@needs("release_checks", "RoundRobinPages")
@pytest.mark.parametrize("as_other_type", [float, str, lambda number: number + 0.5])
@pytest.mark.parametrize("kind", [Free, FreePages])
def test_other_types_that_name_an_allocated_page_are_refused(kind: Any, as_other_type: Any) -> None:
    played, slots, pages = two_pages()
    ids = slots if kind is Free else pages
    assert isinstance(error_of(played, kind((ids[0], as_other_type(ids[1])))), InvalidFreeError)


@clause("RFC-0001:C-RELEASE/5")
@needs("release_checks", "RoundRobinPages")
@pytest.mark.parametrize("ids", tables.MALFORMED_IDS, ids=repr)
@pytest.mark.parametrize("kind", [Free, FreePages])
def test_what_is_no_sequence_of_integers_is_refused(kind: Any, ids: Any) -> None:
    played, _, _ = two_pages()
    assert isinstance(error_of(played, kind(ids)), InvalidFreeError)


@clause("RFC-0001:C-RELEASE/1", "RFC-0001:C-RELEASE/2")
@pytest.mark.parametrize("kind", [Free, FreePages])
def test_a_release_of_nothing_is_one(kind: Any) -> None:
    session.play(LaneLayout(2, 4, 5), kind(()))

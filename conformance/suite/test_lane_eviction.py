"""C-LANE-EVICTION, the allocator's side: when the evictor is asked, and how its answer is judged.

The cache's side of the clause is about LanePrefixCache and not about an allocator.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies, tables
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.evictors import CALLABLE_BACK, ScriptedFailureError
from ownerlanes.conformance.intents import (
    EvictIntent,
    ExtendIntent,
    Length,
    PagesIntent,
    RequestIntent,
)
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, AllocPages, EvictorScript, FreePages
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import error_of, needs
from ownerlanes.reference.contract import (
    EvictorContractError,
    ExtendRequest,
    LaneLayout,
    ReentrantCallError,
    RoundRobinPages,
)

PRESSED = strategies.layouts(least_pages=1, most_pages=5)
SMALL_BATCH = strategies.batches(faults=False, least=1, most=2)


def full_pool() -> tuple[Lockstep, tuple[int, ...]]:
    """Two lanes of three pages, all taken: lanes 0, 0, 0, 1, 1, 1."""
    played = session.lockstep(LaneLayout(2, 4, 4), evictor=True)
    return played, tuple(played.step(AllocPages((0, 0, 0, 1, 1, 1))).result)


@clause(
    "RFC-0001:C-LANE-EVICTION/2",
    "RFC-0001:C-LANE-EVICTION/3",
    "RFC-0001:C-LANE-EVICTION/5",
    "RFC-0001:C-LANE-EVICTION/7",
    "RFC-0001:C-LANE-EVICTION/8",
    "RFC-0001:C-LANE-EVICTION/12",
)
@needs("eviction", "alloc_pages")
@examples(1.5)
@given(PRESSED, SMALL_BATCH, strategies.good_evictors())
def test_evictors_that_keep_their_contract(
    layout: LaneLayout, batch: tuple[RequestIntent, ...], evictor: EvictIntent
) -> None:
    session.direct(layout, [ExtendIntent(batch, evictor, pressed=True)], evictor=True)


@clause(
    "RFC-0001:C-LANE-EVICTION/6",
    "RFC-0001:C-LANE-EVICTION/9",
    "RFC-0001:C-LANE-EVICTION/10",
    "RFC-0001:C-LANE-EVICTION/11",
)
@needs("eviction", "alloc_pages")
@examples(1.5)
@given(
    PRESSED,
    st.lists(st.integers(1, 9), min_size=1, max_size=2),
    st.integers(1, 9),
    strategies.bad_evictors(),
)
def test_evictors_that_break_it(
    layout: LaneLayout, tails: list[int], more: int, evictor: EvictIntent
) -> None:
    """Chains with tail pages, the rest of the pool taken up, then every chain grows."""
    tokens = [RequestIntent(length=Length("token", count)) for count in tails]
    chunks = [
        RequestIntent("chunk", which, length=Length("token", more)) for which in range(len(tails))
    ]
    director = session.direct(layout, [ExtendIntent(tuple(tokens))], evictor=True)
    director.play(ExtendIntent(tuple(chunks), evictor, pressed=True))


@clause("RFC-0001:C-LANE-EVICTION/5", "RFC-0001:C-LANE-EVICTION/7", "RFC-0001:C-ATOMIC-BATCH/7")
@needs("eviction", "alloc_pages")
@examples()
@given(PRESSED, st.lists(st.integers(0, 7), min_size=1, max_size=6), strategies.evictors())
def test_pages_without_tokens_evict_likewise(
    layout: LaneLayout, owners: list[int], evictor: EvictIntent | None
) -> None:
    session.direct(
        layout, [PagesIntent(fit=1), PagesIntent(tuple(owners), evictor=evictor)], evictor=True
    )


@clause("RFC-0001:C-LANE-EVICTION/1", "RFC-0001:C-LANE-EVICTION/4")
@needs("eviction")
@examples()
@given(
    strategies.layouts(least_pages=20, most_pages=20),
    strategies.batches(faults=False, phases=strategies.FIXED_PHASES),
    strategies.bad_evictors(),
)
def test_nobody_is_asked_while_there_is_room(
    layout: LaneLayout, batch: tuple[RequestIntent, ...], evictor: EvictIntent
) -> None:
    session.direct(layout, [ExtendIntent(batch, evictor)], evictor=True)


@clause("RFC-0001:C-LANE-EVICTION/2")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("evictable", [(0, 0), (1, 9), (9, 0), (9, 1)])
def test_an_evictor_that_cannot_cover_every_lane_keeps_its_pages(
    evictable: tuple[int, int],
) -> None:
    played, pages = full_pool()
    script = EvictorScript(evictable, pages)
    played.step(AllocPages((0, 0, 1, 1), script))


@clause("RFC-0001:C-LANE-EVICTION/3", "RFC-0001:C-LANE-EVICTION/8")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("given_up", [0, 1, 2, 3])
@pytest.mark.parametrize("through", tables.THROUGH)
def test_the_evictor_is_asked_once_with_the_deficit(given_up: int, through: Any) -> None:
    played, pages = full_pool()
    played.step(AllocPages((0, 0), EvictorScript((3, 3), pages[:given_up], through)))


@clause("RFC-0001:C-LANE-EVICTION/3")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("wanted", [(0, 0, 0), (1, 1, 0, 0, 0), (0, 0, 1, 1, 1, 1)])
def test_the_deficit_is_what_the_free_pages_lack(wanted: tuple[int, ...]) -> None:
    played, pages = full_pool()
    played.step(FreePages((pages[0], pages[3], pages[4])))
    played.step(AllocPages(wanted, EvictorScript((2, 2), (pages[1], pages[2], pages[5]))))


@clause("RFC-0001:C-LANE-EVICTION/6")
@needs("eviction", "alloc_pages", "partial_pages", "RoundRobinPages")
@pytest.mark.parametrize("through", tables.THROUGH)
def test_the_page_being_filled_cannot_be_given_up(through: Any) -> None:
    played = session.lockstep(LaneLayout(2, 4, 3), evictor=True)
    first = played.step(AllocExtend((ExtendRequest(0, 14, RoundRobinPages()),)))
    tail = first.result.pages[0][-1]
    chunk = ExtendRequest(14, 20, RoundRobinPages(), first.result.out_cache_loc[-1])
    error = error_of(played, AllocExtend((chunk,), EvictorScript((2, 2), (tail,), through)))
    assert isinstance(error, EvictorContractError)


@clause("RFC-0001:C-LANE-EVICTION/6")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("through", tables.THROUGH)
def test_all_wrong_pages_are_told_and_none_of_the_others_goes(through: Any) -> None:
    played, pages = full_pool()
    wrong = (pages[1], -1, played.layout.num_pages, pages[0], pages[1], 0)
    error = error_of(played, AllocPages((0, 1), EvictorScript((3, 3), wrong, through)))
    assert isinstance(error, EvictorContractError)


@clause("RFC-0001:C-LANE-EVICTION/9")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize(
    "answer", [(1,), (3, 3, 3), (-1, 3), (1.0, 3.0), "33", 7, None, (True, 3)], ids=repr
)
def test_counts_of_a_wrong_form_are_refused(answer: Any) -> None:
    played, pages = full_pool()
    error_of(played, AllocPages((0,), EvictorScript(answer, pages[:1])))


@clause("RFC-0001:C-LANE-EVICTION/9")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("answer", [7, "pages", (1.5,), ("1",), (None,), ((1,),)], ids=repr)
def test_an_answer_that_is_no_pages_is_refused(answer: Any) -> None:
    played, _ = full_pool()
    assert isinstance(
        error_of(played, AllocPages((0,), EvictorScript((3, 3), answer))), EvictorContractError
    )


@clause("RFC-0001:C-LANE-EVICTION/10")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("catches", [True, False])
@pytest.mark.parametrize("during", ["evictable_pages", "evict"])
@pytest.mark.parametrize("method", sorted(CALLABLE_BACK))
def test_calls_back_into_the_allocator(method: str, during: Any, catches: bool) -> None:
    if session.candidate().capabilities.lacks(
        *({method} & {"plan_extend", "clear", "snapshot", "digest"})
    ):
        return
    played, pages = full_pool()
    script = EvictorScript((3, 3), pages[:1], calls=method, during=during, catches=catches)
    error = error_of(played, AllocPages((0,), script))
    allowed = during == "evict" and method.startswith("free")
    assert isinstance(error, ReentrantCallError) == (not allowed and not catches)
    played.step(AllocPages((1,), EvictorScript((3, 3), pages[3:4])))


@clause("RFC-0001:C-LANE-EVICTION/11")
@needs("eviction", "alloc_pages")
@pytest.mark.parametrize("through", tables.THROUGH)
def test_the_evictors_own_failure_passes_through(through: Any) -> None:
    played, pages = full_pool()
    script = EvictorScript((3, 3), pages[:2], through, raises="the disk is full")
    assert isinstance(error_of(played, AllocPages((0, 1), script)), ScriptedFailureError)
    played.step(AllocPages((0,), EvictorScript((3, 3), pages[:1])))


@clause("RFC-0001:C-LANE-EVICTION/7", "RFC-0001:C-LANE-EVICTION/12")
@needs("eviction", "alloc_pages", "RoundRobinPages")
@pytest.mark.parametrize("through", tables.THROUGH)
def test_pages_beyond_the_deficit_are_released_too(through: Any) -> None:
    played, pages = full_pool()
    script = EvictorScript((3, 3), (pages[4], pages[0], pages[1]), through)
    outcome = played.step(AllocExtend((ExtendRequest(0, 4, RoundRobinPages()),), script))
    assert outcome.error is None
    assert outcome.result.evicted == tuple(sorted((pages[4], pages[0], pages[1])))

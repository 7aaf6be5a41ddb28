"""C-UNSUPPORTED-PLANS: malformed requests and impossible plans are refused, and nothing happens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies, tables
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import (
    EvictIntent,
    ExtendIntent,
    Length,
    Malformed,
    PagesIntent,
    RequestIntent,
    SplitIntent,
)
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, Index, PlanExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import error_of, needs
from ownerlanes.reference.contract import (
    ExtendRequest,
    InvalidRequestError,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)

SMALL = LaneLayout(2, 16, 2)


@clause("RFC-0001:C-UNSUPPORTED-PLANS/1", "RFC-0001:C-UNSUPPORTED-PLANS/5")
@needs("argument_checks")
@pytest.mark.parametrize(
    "fault", tables.MALFORMED, ids=lambda fault: f"{fault.field}={fault.value}"[:30]
)
def test_a_malformed_field_is_refused_and_located(fault: Malformed) -> None:
    good = RequestIntent(length=Length("page", 1))
    explicit = fault.field == "owners"
    bad = replace(
        good, fault=fault, split=SplitIntent("ExplicitOwners") if explicit else good.split
    )
    director = session.direct(LaneLayout(3, 4, 6), [PagesIntent((0, 1))])
    for batch in ((good, bad, bad), (bad,)):
        director.play(ExtendIntent(batch, only_plan=True))
        director.play(ExtendIntent(batch))


@clause(
    "RFC-0001:C-UNSUPPORTED-PLANS/1",
    "RFC-0001:C-UNSUPPORTED-PLANS/11",
    "RFC-0001:C-ATOMIC-BATCH/3",
)
@needs("argument_checks")
@examples()
@given(
    strategies.layouts(),
    strategies.batches(faults=False, most=2),
    st.sampled_from(tables.MALFORMED),
    strategies.batches(most=2),
    strategies.evictors(),
)
def test_the_first_malformed_request_is_reported_whatever_else_is_there(
    layout: LaneLayout,
    before: tuple[RequestIntent, ...],
    fault: Malformed,
    after: tuple[RequestIntent, ...],
    evictor: EvictIntent | None,
) -> None:
    batch = (*before, RequestIntent(fault=fault), *after)
    director = session.direct(layout, [PagesIntent((0, 1, 1))], evictor=True)
    director.play(ExtendIntent(batch, evictor))


def with_a_tail() -> tuple[Lockstep, ExtendRequest, int]:
    """A pool with one request of 20 tokens, the request that goes on, and the last slot."""
    played = session.lockstep(LaneLayout(2, 16, 5))
    first = played.step(AllocExtend((ExtendRequest(0, 20, RoundRobinPages()),)))
    last = first.result.out_cache_loc[-1]
    return played, ExtendRequest(20, 24, RoundRobinPages(), last), last


@clause("RFC-0001:C-UNSUPPORTED-PLANS/2", "RFC-0001:C-FLATTENED-ORDER/4")
@needs("argument_checks", "partial_pages", "RoundRobinPages")
def test_of_two_requests_with_one_tail_page_the_later_is_at_fault() -> None:
    played, chunk, _ = with_a_tail()
    other = ExtendRequest(0, 16, RoundRobinPages())
    error = error_of(played, AllocExtend((chunk, other, replace(chunk, seq_len=30))))
    assert isinstance(error, InvalidRequestError)
    assert error.request_index == 2
    played.step(AllocExtend((chunk,)))


@clause("RFC-0001:C-UNSUPPORTED-PLANS/1")
@needs("argument_checks", "partial_pages", "RoundRobinPages")
@pytest.mark.parametrize("wrong", ["missing", "offset", "free page", "reserved page", "beyond"])
def test_last_slot_has_to_be_the_slot_of_the_last_token(wrong: str) -> None:
    played, chunk, last = with_a_tail()
    size = played.layout.page_size
    free_page = played.layout.page(0, played.pool.free[0][-1])
    slots = {
        "missing": None,
        "offset": last + 1,
        "free page": free_page * size + last % size,
        "reserved page": last % size,
        "beyond": played.layout.num_slots + last % size,
    }
    error = error_of(played, AllocExtend((replace(chunk, last_slot=slots[wrong]),)))
    assert isinstance(error, InvalidRequestError) or not played.layout.reserved_pages


@clause("RFC-0001:C-UNSUPPORTED-PLANS/1", "RFC-0001:C-ATOMIC-BATCH/3")
@needs("argument_checks", "partial_pages", "RoundRobinPages")
@pytest.mark.parametrize("tails", [2, 3, 5])
@pytest.mark.parametrize("at_fault", [(0,), (1,), (0, 1), (-1,), (1, -1)])
def test_of_several_tail_pages_the_first_that_is_free_is_told(
    tails: int, at_fault: tuple[int, ...]
) -> None:
    """Chains of one page and a bit, some of which name a slot of a page that nobody has."""
    played = session.lockstep(LaneLayout(2, 16, 12))
    chain = ExtendRequest(0, 20, RoundRobinPages())
    given = played.step(AllocExtend((chain,) * tails)).result
    lasts = [given.out_cache_loc[end - 1] for end in given.extend_offsets[1:]]
    wrong = sorted(index % tails for index in at_fault)
    for place, index in enumerate(wrong):
        free = played.layout.page(1, played.pool.free[1][place])
        lasts[index] = free * played.layout.page_size + 3
    batch = tuple(ExtendRequest(20, 24, RoundRobinPages(), last) for last in lasts)
    error = error_of(played, AllocExtend(batch))
    assert isinstance(error, InvalidRequestError)
    assert error.request_index == wrong[0]


@clause("RFC-0001:C-UNSUPPORTED-PLANS/3")
@needs("RoundRobinPages", "ZigzagPages")
@pytest.mark.parametrize("ignored", [None, -1, 3, 2**63, "no slot", True])
def test_last_slot_is_ignored_without_a_tail_page(ignored: Any) -> None:
    session.play(
        LaneLayout(2, 16, 5),
        AllocExtend(
            (
                ExtendRequest(0, 16, RoundRobinPages(), ignored),
                ExtendRequest(32, 40, ZigzagPages(), ignored),
                ExtendRequest(7, 7, ZigzagPages(), ignored),
            )
        ),
    )


@clause("RFC-0001:C-UNSUPPORTED-PLANS/5")
@needs("argument_checks")
@examples(0.5)
@given(strategies.layouts(least_pages=1), strategies.batches(faults=False, least=1))
def test_integers_of_any_type_with_index_are_taken(
    layout: LaneLayout, batch: tuple[RequestIntent, ...]
) -> None:
    session.direct(layout, [ExtendIntent(tuple(replace(each, indexed=True) for each in batch))])


@clause("RFC-0001:C-UNSUPPORTED-PLANS/5")
@needs("argument_checks", "partial_pages", "RoundRobinPages")
def test_a_last_slot_of_another_integer_type_is_taken() -> None:
    played, chunk, last = with_a_tail()
    played.step(AllocExtend((replace(chunk, last_slot=Index(last), seq_len=Index(24)),)))  # type: ignore[arg-type]


@clause("RFC-0001:C-UNSUPPORTED-PLANS/6")
@needs("RoundRobinPages", "RoundRobinTokens", "ZigzagPages", "ZigzagTokens", "padding")
def test_runs_and_pads_up_to_their_limit_are_taken() -> None:
    most = 2**31 - 1
    session.play(
        LaneLayout(3, 4, 9),
        AllocExtend((ExtendRequest(0, 20, RoundRobinPages(most)),)),
        AllocExtend((ExtendRequest(0, 8, RoundRobinTokens(most)),)),
        AllocExtend((ExtendRequest(0, 5, ZigzagPages(most)), ExtendRequest(0, 4, ZigzagPages()))),
        AllocExtend((ExtendRequest(0, 5, ZigzagTokens(most)), ExtendRequest(4, 9, ZigzagPages(1)))),
    )


@clause(
    "RFC-0001:C-UNSUPPORTED-PLANS/7",
    "RFC-0001:C-UNSUPPORTED-PLANS/8",
    "RFC-0001:C-UNSUPPORTED-PLANS/9",
    "RFC-0001:C-UNSUPPORTED-PLANS/12",
)
@examples()
@given(
    strategies.layouts(least_pages=2, most_pages=20),
    st.sampled_from([intent for intent in tables.SPLITS if intent.kind.endswith("Tokens")]),
    st.integers(1, 200),
    st.integers(0, 4),
    st.sampled_from((0, 1, None)),
)
def test_token_splits_that_cut_a_page_are_refused(
    layout: LaneLayout, split: SplitIntent, tokens: int, prefix_pages: int, phase: int | None
) -> None:
    if split.kind not in session.candidate().capabilities.splits:
        return
    whole = RequestIntent(length=Length("page", 1))
    cut = RequestIntent("cached", 0, True, prefix_pages, Length("token", tokens), split, phase)
    session.direct(layout, [ExtendIntent((cut,)), ExtendIntent((whole, cut, whole, cut))])


@clause("RFC-0001:C-UNSUPPORTED-PLANS/7", "RFC-0001:C-UNSUPPORTED-PLANS/8")
@needs("ZigzagTokens", "RoundRobinTokens")
def test_known_cuts_are_told_with_their_place() -> None:
    played = session.lockstep(LaneLayout(4, 16, 11))
    zigzag = error_of(played, AllocExtend((ExtendRequest(0, 100, ZigzagTokens()),)))
    narrow = error_of(played, AllocExtend((ExtendRequest(0, 64, RoundRobinTokens(4)),)))
    assert isinstance(zigzag, UnsupportedPagePlanError)
    assert isinstance(narrow, UnsupportedPagePlanError)
    assert narrow.owners == (0, 1, 2, 3)
    played.step(AllocExtend((ExtendRequest(0, 128, ZigzagTokens()),)))
    played.step(AllocExtend((ExtendRequest(0, 64, RoundRobinTokens(16)),)))


@clause(
    "RFC-0001:C-UNSUPPORTED-PLANS/9",
    "RFC-0001:C-UNSUPPORTED-PLANS/12",
    "RFC-0001:C-PAGE-OWNERSHIP/10",
)
@needs("partial_pages", "RoundRobinPages", "phases")
def test_a_tail_page_on_another_lane_is_refused() -> None:
    played, chunk, _ = with_a_tail()
    error = error_of(played, AllocExtend((replace(chunk, phase=1),)))
    assert isinstance(error, UnsupportedPagePlanError)
    assert (error.page_position, error.owners) == (1, (0, 1))
    played.step(AllocExtend((chunk,)))


@clause("RFC-0001:C-UNSUPPORTED-PLANS/10")
@needs("open_phase", "RoundRobinTokens", "plan_extend")
@examples(0.5)
@given(strategies.layouts(least_pages=2), st.integers(1, 90), st.integers(1, 40))
def test_an_open_phase_without_a_plan_is_told_as_phase_zero(
    layout: LaneLayout, tokens: int, run: int
) -> None:
    request = ExtendRequest(0, tokens, RoundRobinTokens(run), phase=None)
    session.play(layout, PlanExtend((request,)), AllocExtend((request,)))


@clause("RFC-0001:C-UNSUPPORTED-PLANS/11", "RFC-0001:C-ATOMIC-BATCH/2")
@needs("ZigzagTokens", "RoundRobinPages")
@pytest.mark.parametrize("short_first", [True, False])
def test_an_unsupported_plan_is_told_before_a_shortage(short_first: bool) -> None:
    batch = (
        ExtendRequest(0, 1000, RoundRobinPages()),
        ExtendRequest(0, 40, ZigzagTokens()),
    )
    played = session.lockstep(SMALL, evictor=True)
    error = error_of(played, AllocExtend(batch if short_first else batch[::-1]))
    assert isinstance(error, UnsupportedPagePlanError)
    assert error.request_index == (1 if short_first else 0)


@clause("RFC-0001:C-UNSUPPORTED-PLANS/11", "RFC-0001:C-ATOMIC-BATCH/2")
@needs("argument_checks", "ZigzagTokens", "RoundRobinPages")
@pytest.mark.parametrize(
    "malformed",
    [ExtendRequest(32, 16, ZigzagPages()), ExtendRequest(0, 16, RoundRobinPages(), phase=5)],
)
def test_a_malformed_request_is_told_before_an_unsupported_plan(malformed: ExtendRequest) -> None:
    cut = ExtendRequest(0, 40, ZigzagTokens())
    too_long = ExtendRequest(0, 1000, RoundRobinPages())
    played = session.lockstep(SMALL, evictor=True)
    for batch in ((cut, malformed), (too_long, malformed), (malformed, cut)):
        error = error_of(played, AllocExtend(batch))
        assert isinstance(error, InvalidRequestError)
        assert error.request_index == batch.index(malformed)

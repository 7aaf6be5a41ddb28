"""C-PAGE-OWNERSHIP: every split by the formula of the RFC, written out here once more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ownerlanes.conformance import session, strategies, tables
from ownerlanes.conformance.clauses import clause
from ownerlanes.conformance.intents import ExtendIntent, Length, RequestIntent
from ownerlanes.conformance.operations import SPLIT_KINDS, AllocExtend
from ownerlanes.conformance.settings import examples
from ownerlanes.conformance.statements import allocation, error_of, expect, needs
from ownerlanes.reference.contract import (
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    RoundRobinPages,
    RoundRobinTokens,
    UnsupportedPagePlanError,
    ZigzagPages,
    ZigzagTokens,
)

OBLIGATION = {
    "ZigzagPages": 1,
    "ZigzagTokens": 2,
    "ContiguousPages": 3,
    "RoundRobinPages": 4,
    "RoundRobinTokens": 5,
    "ExplicitOwners": 6,
}


def block(item: int, items: int, blocks: int) -> int:
    """The block of an item when `items` are dealt in `blocks`, in closed form."""
    size, larger = divmod(items, blocks)
    if item < larger * (size + 1):
        return item // (size + 1)
    return larger + (item - larger * (size + 1)) // size


def zigzag(item: int, items: int, lanes: int) -> int:
    at = block(item, items, 2 * lanes)
    return min(at, 2 * lanes - 1 - at)


def owner_of_token(request: ExtendRequest, layout: LaneLayout, position: int) -> int:
    """The owner before the phase of one new token, by its position in the request."""
    lanes, size = layout.num_lanes, layout.page_size
    page, first = position // size, request.prefix_len // size
    pages = (request.seq_len - 1) // size - first + 1
    new, number = request.seq_len - request.prefix_len, getattr(request.split, "pad", 0)
    match type(request.split).__name__:
        case "ZigzagPages":
            return zigzag(page - first, pages + number, lanes)
        case "ZigzagTokens":
            return zigzag(position - request.prefix_len, new + number, lanes)
        case "ContiguousPages":
            return block(page - first, pages + number, lanes)
        case "RoundRobinPages":
            return page // request.split.run % lanes  # type: ignore[union-attr]
        case "RoundRobinTokens":
            return position // request.split.run % lanes  # type: ignore[union-attr]
        case _:
            assert isinstance(request.split, ExplicitOwners)
            return request.split.owners[page - first]


ROOMY = strategies.layouts(least_pages=30, most_pages=30)
LENGTHS = st.sampled_from([length for length in tables.LENGTHS if length.unit != "free"])
BY_KIND = [
    pytest.param(
        kind,
        marks=[pytest.mark.clause(f"RFC-0001:C-PAGE-OWNERSHIP/{number}"), pytest.mark.needs(kind)],
        id=kind,
    )
    for kind, number in OBLIGATION.items()
]


@clause("RFC-0001:C-PAGE-OWNERSHIP/8", "RFC-0001:C-PAGE-OWNERSHIP/9")
@pytest.mark.parametrize("kind", BY_KIND)
@examples()
@given(
    layout=ROOMY,
    length=LENGTHS,
    choice=st.integers(0, 40),
    owners=st.lists(st.integers(0, 7), min_size=1, max_size=9),
    at=st.sampled_from(((0, 0), (1, 1), (3, 5), (2, 9))),
)
def test_owners_follow_the_formula_of_the_split(
    kind: str,
    layout: LaneLayout,
    length: Length,
    choice: int,
    owners: list[int],
    at: tuple[int, int],
) -> None:
    phase, prefix_pages = at
    choices = [split for split in tables.SPLITS if split.kind == kind and not split.fit]
    split = replace(choices[choice % len(choices)], owners=tuple(owners))
    intent = RequestIntent(
        "cached", prefix_pages=prefix_pages, length=length, split=split, phase=phase
    )
    played, (request,) = session.batch(layout, [intent])
    about = f"C-PAGE-OWNERSHIP/{OBLIGATION[kind]}"
    found = allocation(played, (request,), about=about)
    if found is None:
        return
    layout = played.layout
    lanes = [
        (owner_of_token(request, layout, position) + request.phase) % layout.num_lanes
        for position in range(request.prefix_len, request.seq_len)
    ]
    expect(
        lanes,
        [int(layout.lane_of_slot(slot)) for slot in found.out_cache_loc],
        clause=about,
        field="the lanes of out_cache_loc",
        note=f"by the formula of {kind}",
    )


@clause("RFC-0001:C-PAGE-OWNERSHIP/7")
@needs("ZigzagTokens", "ZigzagPages", "padding")
def test_padding_moves_the_boundaries_and_gets_nothing() -> None:
    layout = LaneLayout(2, 16, 11)
    played = session.lockstep(layout)
    request = ExtendRequest(0, 56, ZigzagTokens(pad=8))
    padded = allocation(played, (request,), about="C-PAGE-OWNERSHIP/7")
    assert padded is not None
    lanes = [int(played.layout.lane_of_page(page)) for page in padded.pages[0]]
    expect([0, 1, 1, 0], lanes, clause="C-PAGE-OWNERSHIP/7", field="lanes of the pages")
    expect(56, len(padded.out_cache_loc), clause="C-PAGE-OWNERSHIP/7", field="number of slots")
    bare = error_of(played, AllocExtend((ExtendRequest(0, 56, ZigzagTokens()),)))
    assert isinstance(bare, UnsupportedPagePlanError)
    allocation(played, (ExtendRequest(0, 33, ZigzagPages(pad=1)),))


@clause("RFC-0001:C-PAGE-OWNERSHIP/1", "RFC-0001:C-PAGE-OWNERSHIP/3")
@needs("ZigzagPages", "ContiguousPages")
@pytest.mark.parametrize("kind", ["ZigzagPages", "ContiguousPages"])
@pytest.mark.parametrize("tokens", [1, 16, 17, 7 * 16, 8 * 16, 9 * 16])
def test_fewer_pages_than_lanes_and_uneven_blocks(kind: str, tokens: int) -> None:
    session.play(
        LaneLayout(8, 16, 5), AllocExtend((ExtendRequest(0, tokens, SPLIT_KINDS[kind]()),))
    )


@clause("RFC-0001:C-PAGE-OWNERSHIP/8")
@needs("RoundRobinPages", "phases")
@pytest.mark.parametrize("phase", range(4))
def test_the_phase_rotates_all_pages_of_its_own_request_once(phase: int) -> None:
    played = session.lockstep(LaneLayout(4, 4, 9))
    found = allocation(
        played,
        (
            ExtendRequest(0, 24, RoundRobinPages(), phase=phase),
            ExtendRequest(0, 24, RoundRobinPages(), phase=0),
            ExtendRequest(0, 24, RoundRobinPages(), phase=phase),
        ),
    )
    assert found is not None
    for row, rotation in zip(found.pages, (phase, 0, phase), strict=True):
        expect(
            [(page + rotation) % 4 for page in range(6)],
            [int(played.layout.lane_of_page(page)) for page in row],
            clause="C-PAGE-OWNERSHIP/8",
            field=f"lanes of the request with phase {rotation}",
        )


@clause("RFC-0001:C-PAGE-OWNERSHIP/5", "RFC-0001:C-UNSUPPORTED-PLANS/7")
@needs("RoundRobinTokens")
@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("run", "first", "end"), [(6, 8, 16), (6, 8, 13), (10, 12, 28), (18, 0, 17)]
)
def test_runs_of_tokens_that_end_with_a_page_though_they_are_no_whole_pages(
    run: int, first: int, end: int, whole: bool, phase: int
) -> None:
    """Whole where the new tokens cross no end of a run inside a page; else one is cut."""
    phase = 0 if session.candidate().capabilities.lacks("phases") else phase
    request = ExtendRequest(first, end if whole else end + run, RoundRobinTokens(run), phase=phase)
    played = session.lockstep(LaneLayout(3, 4, 12))
    error = error_of(played, AllocExtend((request, ExtendRequest(0, 4, RoundRobinTokens(4)))))
    assert isinstance(error, UnsupportedPagePlanError) == (not whole)


@clause("RFC-0001:C-PAGE-OWNERSHIP/6")
@needs("ExplicitOwners", "partial_pages")
def test_explicit_owners_begin_with_the_tail_page() -> None:
    played = session.lockstep(LaneLayout(3, 4, 9))
    first = played.step(AllocExtend((ExtendRequest(0, 6, ExplicitOwners((2, 0))),)))
    chunk = ExtendRequest(6, 18, ExplicitOwners((0, 1, 2, 1)), first.result.out_cache_loc[-1])
    found = allocation(played, (chunk,))
    assert found is not None
    expect(
        [1, 2, 1],
        [int(played.layout.lane_of_page(page)) for page in found.pages[0]],
        clause="C-PAGE-OWNERSHIP/6",
        field="lanes of the new pages",
    )


@clause("RFC-0001:C-PAGE-OWNERSHIP/10", "RFC-0001:C-FLATTENED-ORDER/7")
@needs("partial_pages")
@examples()
@given(
    strategies.layouts(least_pages=12, most_pages=12),
    strategies.requests(faults=False),
    st.lists(st.integers(1, 20), min_size=1, max_size=5),
)
def test_chunks_go_on_where_the_chain_ended(
    layout: LaneLayout, first: RequestIntent, chunks: list[int]
) -> None:
    director = session.direct(layout, [ExtendIntent((first,))])
    for tokens in chunks:
        chunk = RequestIntent("chunk", length=Length("token", tokens), split=first.split)
        director.play(ExtendIntent((chunk,)))


@clause("RFC-0001:C-PAGE-OWNERSHIP/5", "RFC-0001:C-UNSUPPORTED-PLANS/8")
@needs("RoundRobinTokens")
def test_a_run_longer_than_what_is_there_is_one_owner() -> None:
    """A run of 24 tokens on pages of 16: supported where no run ends inside a page."""
    played = session.lockstep(LaneLayout(2, 16, 7))
    run = RoundRobinTokens(24)
    assert error_of(played, AllocExtend((ExtendRequest(0, 16, run),))) is None
    cut = error_of(played, AllocExtend((ExtendRequest(0, 32, run),)))
    assert isinstance(cut, UnsupportedPagePlanError)
    assert (cut.page_position, cut.owners) == (1, (0, 1))
    assert error_of(played, AllocExtend((ExtendRequest(48, 64, run),))) is None


@clause("RFC-0001:C-PAGE-OWNERSHIP/1", "RFC-0001:C-FLATTENED-ORDER/3")
@examples(0.5)
@given(st.integers(1, 20), st.integers(1, 3), strategies.batches(faults=False))
def test_one_lane_is_the_identity(
    page_size: int, rounds: int, batch: tuple[RequestIntent, ...]
) -> None:
    session.direct(LaneLayout(1, page_size, 30), [ExtendIntent(batch)] * rounds)

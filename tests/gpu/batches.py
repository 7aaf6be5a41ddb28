"""Strategies for layouts and batches, and a pair of allocators in one state.

Small numbers, so that failures shrink to something readable; every draw is a legal call, for
tests of bad input are elsewhere. Nothing here knows what the answer should be.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ownerlanes.gpu import TritonAllocator
from ownerlanes.reference import (
    ContiguousPages,
    Evictor,
    ExplicitOwners,
    ExtendRequest,
    LaneLayout,
    ReferenceAllocator,
    RoundRobinPages,
    RoundRobinTokens,
    Split,
    ZigzagPages,
    ZigzagTokens,
)

Pair = tuple[ReferenceAllocator, TritonAllocator]


@st.composite
def layouts(draw: st.DrawFn, largest: int = 12) -> LaneLayout:
    reserved = draw(st.sampled_from([0, 1, 3]))
    return LaneLayout(
        num_lanes=draw(st.integers(1, 5)),
        page_size=draw(st.sampled_from([1, 2, 3, 4])),
        pages_per_lane=reserved + draw(st.integers(0, largest)),
        placement=draw(st.sampled_from(["interleaved", "blocked"])),
        reserved_pages=reserved,
    )


def splits(layout: LaneLayout, touched: int) -> st.SearchStrategy[Split]:
    pads, runs = st.integers(0, 9), st.sampled_from([1, 2, 3, 4, 6, 12, 100])
    lane = st.integers(0, layout.num_lanes - 1)
    return st.one_of(
        st.builds(ZigzagPages, pads),
        st.builds(ZigzagTokens, pads),
        st.builds(ContiguousPages, pads),
        st.builds(RoundRobinPages, runs),
        st.builds(RoundRobinTokens, runs),
        st.builds(ExplicitOwners, st.lists(lane, min_size=touched, max_size=touched)),
    )


@st.composite
def extends(
    draw: st.DrawFn,
    layout: LaneLayout,
    tail_pages: Sequence[int],
    most_tokens: int = 40,
) -> ExtendRequest:
    """A request that may fill one of `tail_pages`, and is page-aligned where there are none."""
    size = layout.page_size
    prefix_len = draw(st.integers(0, 30)) * (1 if tail_pages else size)
    new_tokens = draw(st.integers(0, most_tokens))
    touched = -(-(prefix_len + new_tokens) // size) - prefix_len // size if new_tokens else 0
    last_slot = None
    if new_tokens and prefix_len % size:
        last_slot = draw(st.sampled_from(tail_pages)) * size + prefix_len % size - 1
    split = draw(splits(layout, touched))
    phase: int | None = 0
    if not isinstance(split, ExplicitOwners):
        phase = draw(st.none() | st.integers(0, layout.num_lanes - 1))
    return ExtendRequest(prefix_len, prefix_len + new_tokens, split, last_slot, phase)


def usable_pages(layout: LaneLayout) -> list[int]:
    return [
        layout.page(lane, local_page)
        for local_page in range(layout.reserved_pages, layout.pages_per_lane)
        for lane in range(layout.num_lanes)
    ]


def pair(
    layout: LaneLayout, allocated: Sequence[int] = (), evictors: Sequence[Evictor | None] = (None,)
) -> Pair:
    """Oracle and candidate, with just these pages allocated."""
    oracle = ReferenceAllocator(layout, evictors[0])
    candidate = TritonAllocator(layout, evictors[-1])
    everything = usable_pages(layout)
    freed = sorted(set(everything) - set(allocated))
    if allocated:
        for allocator in (oracle, candidate):
            allocator.alloc_pages([layout.lane_of_page(page) for page in everything])
            allocator.free_pages(freed)
    return oracle, candidate


@st.composite
def allocated_pages(draw: st.DrawFn, layout: LaneLayout) -> list[int]:
    """Some of a layout's pages, as a bit set so that it shrinks to none."""
    everything = usable_pages(layout)
    bits = draw(st.integers(0, 2 ** len(everything) - 1))
    return [page for place, page in enumerate(everything) if bits >> place & 1]


def outcome(allocator: ReferenceAllocator | TritonAllocator, batch: list[ExtendRequest]) -> object:
    """What alloc_extend gives, in plain integers, or the error with all that it carries."""
    try:
        given = allocator.alloc_extend(batch)
    except Exception as error:
        return type(error), vars(error)
    slots = given.out_cache_loc
    return (
        list(slots) if isinstance(slots, tuple) else slots.tolist(),
        given.extend_offsets,
        given.pages,
        given.phases,
        given.evicted,
    )

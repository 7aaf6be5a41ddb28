"""Where a slot lives, as Triton device functions, for our kernels and for engines' own.

The arithmetic of LaneLayout on blocks of slots or pages that are known to be in range: Triton's
integer division truncates, so a negative id would pass for one of page 0. Nothing here looks at
which pages are free. Serves [[RFC-0001:C-OWNER-LANE-LAYOUT]] and [[RFC-0001:C-DIRECT-WRITE]].
"""

from __future__ import annotations

from typing import TypedDict

import triton
import triton.language as tl

from ownerlanes.reference.contract import LaneLayout


class LayoutConstants(TypedDict):
    """What a kernel that uses these functions needs to know of a layout."""

    NUM_LANES: int
    PAGE_SIZE: int
    PAGES_PER_LANE: int
    INTERLEAVED: bool


def layout_constants(layout: LaneLayout) -> LayoutConstants:
    """The layout's fields under the names that the functions below take, for a kernel's launch.

    Give them as tl.constexpr where a kernel serves one layout: divisions become multiplications.
    PAGES_PER_LANE is at least 1, so that kernels of an empty pool compile.
    """
    return LayoutConstants(
        NUM_LANES=layout.num_lanes,
        PAGE_SIZE=layout.page_size,
        PAGES_PER_LANE=max(layout.pages_per_lane, 1),
        INTERLEAVED=layout.placement == "interleaved",
    )


@triton.jit
def page_of_slot(slot, PAGE_SIZE):
    """The page that a slot is in."""
    return slot // PAGE_SIZE


@triton.jit
def lane_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED: tl.constexpr):
    """The owner lane of a page."""
    return page % NUM_LANES if INTERLEAVED else page // PAGES_PER_LANE


@triton.jit
def local_page_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED: tl.constexpr):
    """The index of a page in its own lane."""
    return page // NUM_LANES if INTERLEAVED else page % PAGES_PER_LANE


@triton.jit
def lane_of_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED: tl.constexpr):
    """The owner lane of a slot."""
    page = page_of_slot(slot, PAGE_SIZE)
    return lane_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)


@triton.jit
def local_slot(slot, NUM_LANES, PAGE_SIZE, PAGES_PER_LANE, INTERLEAVED: tl.constexpr):
    """The index of a slot in its own lane's pool of pages_per_lane * page_size slots."""
    page = page_of_slot(slot, PAGE_SIZE)
    local = local_page_of_page(page, NUM_LANES, PAGES_PER_LANE, INTERLEAVED)
    return local * PAGE_SIZE + slot % PAGE_SIZE

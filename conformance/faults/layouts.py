"""Faults in where a page lies: ids of pages and slots, reserved pages, capacity.

Each breaks one obligation of C-OWNER-LANE-LAYOUT as an allocator shows it; the kit has a layout of
its own to tell. None of them is known to the kit.
"""

from __future__ import annotations

from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference.contract import InvalidArgumentError, LaneLayout


@plant("C-OWNER-LANE-LAYOUT/1", "layout.LaneLayout.page")
def interleaved_pages_numbered_lane_by_lane(
    original: Function, self: LaneLayout, lane: int, local_page: int
) -> int:
    """Interleaved pages get the ids of a blocked layout."""
    if self.placement == "interleaved":
        return lane * self.pages_per_lane + local_page
    return int(original(self, lane, local_page))


@plant("C-OWNER-LANE-LAYOUT/2", "layout.LaneLayout.page")
def blocked_pages_without_the_reserved_ones(
    original: Function, self: LaneLayout, lane: int, local_page: int
) -> int:
    """Blocked lanes are `capacity` pages apart, not `pages_per_lane`."""
    if self.placement == "blocked":
        return lane * self.capacity + local_page
    return int(original(self, lane, local_page))


@plant("C-OWNER-LANE-LAYOUT/3", "allocator.ReferenceAllocator._slots")
def slots_numbered_by_lane(original: Function, self: Any, *arguments: Any) -> list[int]:
    """Interleaved slots are numbered as if the lanes' pools lay one after the other."""
    layout = self.layout
    pool = layout.pages_per_lane * layout.page_size
    return [
        layout.lane_of_slot(slot) * pool + layout.local_slot(slot)
        for slot in original(self, *arguments)
    ]


@plant("C-OWNER-LANE-LAYOUT/5", "pool.take")
def last_page_is_the_padding_page(original: Function, pool: Any, lanes: Any) -> Any:
    """A lane's last free page is handed out as the reserved page of that lane."""
    after, pages = original(pool, lanes)
    layout = pool.layout
    if not layout.reserved_pages:
        return after, pages
    stale = [
        layout.page(layout.lane_of_page(page), 0)
        if layout.local_page(page) == layout.pages_per_lane - 1
        else page
        for page in pages
    ]
    return after, tuple(stale)


@plant("C-OWNER-LANE-LAYOUT/7", "layout.LaneLayout.capacity")
def capacity_with_the_reserved_pages(_: Function, self: LaneLayout) -> int:
    """A lane's capacity counts its reserved pages."""
    return self.pages_per_lane


@plant("C-OWNER-LANE-LAYOUT/8", "allocator.ReferenceAllocator.__init__")
def layout_without_capacity_refused(
    original: Function, self: Any, layout: LaneLayout, *evictor: Any
) -> None:
    """A layout whose pages are all reserved is refused."""
    if layout.capacity == 0:
        raise InvalidArgumentError("layout: expected a capacity of at least one page")
    original(self, layout, *evictor)


@plant("C-OWNER-LANE-LAYOUT/4", "allocator.ReferenceAllocator._slots")
def pages_of_one_slot_counted_from_one(original: Function, self: Any, *arguments: Any) -> list[int]:
    """With page_size 1 every slot is one too high."""
    return [slot + (self.layout.page_size == 1) for slot in original(self, *arguments)]


@plant("C-OWNER-LANE-LAYOUT/3", "allocator.ReferenceAllocator._slots")
def slots_wrap_at_32_bits(original: Function, self: Any, *arguments: Any) -> list[int]:
    """Slots are held in int32, so that those from 2**31 on come out negative."""
    return [(slot + 2**31) % 2**32 - 2**31 for slot in original(self, *arguments)]

"""Faults of candidates that claim less: free choice of pages, failures told by None.

Page ids and error types of these are not compared; each still breaks an obligation that holds for
any allocator. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.order import by_request, flattened
from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool as transitions
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendAllocation,
    ExtendRequest,
    OwnerLaneError,
    PoolSnapshot,
)

ALLOC = "allocator.ReferenceAllocator.alloc_extend"
SLOTS = "allocator.ReferenceAllocator._slots"
TAKE = "pool.take"
FREELY = {"exact_pages": False}
UNTYPED = {"exact_pages": False, "typed_errors": False}


@plant("C-CONSERVATION/2", TAKE, capabilities=FREELY)
def free_choice_of_a_page_in_use(
    original: Function, pool: PoolSnapshot, lanes: Sequence[int]
) -> Any:
    """Of two pages taken on a lane, the second is the first once more."""
    after, pages = original(pool, lanes)
    first = dict(reversed(list(zip(lanes, pages, strict=True))))
    return after, tuple(first[lane] for lane in lanes)


@plant("C-OWNER-LANE-LAYOUT/5", TAKE, capabilities=FREELY)
def free_choice_of_the_reserved_page(
    original: Function, pool: PoolSnapshot, lanes: Sequence[int]
) -> Any:
    """The first page of a call is the reserved one of its lane."""
    after, pages = original(pool, lanes)
    if pages and pool.layout.reserved_pages:
        pages = (pool.layout.page(lanes[0], 0), *pages[1:])
    return after, pages


@plant("C-FLATTENED-ORDER/3", TAKE, capabilities=FREELY)
def free_choice_of_the_lane(original: Function, pool: PoolSnapshot, lanes: Sequence[int]) -> Any:
    """The first page of a call is taken on the lane with most free pages."""
    counts = [len(lane) for lane in pool.free]
    roomiest = counts.index(max(counts))
    own = counts[roomiest] > list(lanes).count(roomiest)
    return original(pool, (roomiest, *lanes[1:]) if lanes and own else lanes)


@plant("C-FLATTENED-ORDER/7", SLOTS, capabilities=FREELY)
def tail_page_left_for_a_new_one(
    original: Function, self: Any, request: ExtendRequest, pages: tuple[int, ...]
) -> list[int]:
    """New tokens of a tail page go to the same offsets of the first new page."""
    slots = list(original(self, request, pages))
    size = self.layout.page_size
    if request.last_slot is None or not pages:
        return slots
    tail = self.layout.page_of_slot(request.last_slot)
    moved = (pages[0] - tail) * size
    return [slot + moved if slot // size == tail else slot for slot in slots]


@plant("C-FLATTENED-ORDER/8", ALLOC, capabilities=FREELY)
def pages_of_another_request(original: Function, self: Any, requests: Any) -> Any:
    """`pages` of the last two requests stand in each other's place."""
    given: ExtendAllocation = original(self, requests)
    rows = given.pages
    return replace(given, pages=(*rows[:-2], *rows[:-3:-1]))


@plant("C-FLATTENED-ORDER/2", ALLOC, capabilities=FREELY)
def requests_flattened_backwards(original: Function, self: Any, requests: Any) -> Any:
    """The slots of each request come in reverse order."""
    given: ExtendAllocation = original(self, requests)
    return flattened(given, [row[::-1] for row in by_request(given)])


@plant("C-RELEASE/1", "allocator.ReferenceAllocator.free", capabilities=FREELY)
def release_of_whatever_page_of_the_lane(original: Function, self: Any, slots: Any) -> None:
    """free(slots) of one page releases the lowest allocated page of its lane."""
    before = self._pool
    original(self, slots)
    freed = [
        (lane, page)
        for lane, pages in enumerate(self._pool.free)
        for page in set(pages) - set(before.free[lane])
    ]
    if len(freed) == 1:
        ((lane, _),) = freed
        lowest = next(
            local
            for local in range(self.layout.reserved_pages, self.layout.pages_per_lane)
            if local not in before.free[lane]
        )
        self._pool = transitions.release(before, [self.layout.page(lane, lowest)])


@plant("C-ATOMIC-BATCH/1", ALLOC, capabilities=UNTYPED)
def shortage_told_by_none_keeps_pages(original: Function, self: Any, requests: Any) -> Any:
    """A shortage gives None and keeps a page of each lane that had enough."""
    try:
        return original(self, requests)
    except CapacityWaitError as fault:
        served = [lane for lane, n in enumerate(fault.required) if n and not fault.deficit[lane]]
        self._pool, _ = transitions.take(self._pool, served)
        return None
    except OwnerLaneError:
        return None


@plant("C-CAPACITY-AND-EVICTION/2", ALLOC, capabilities=UNTYPED)
def shortage_serves_the_requests_that_fit(original: Function, self: Any, requests: Any) -> Any:
    """A batch that does not fit is cut down to the requests that do."""
    try:
        return original(self, requests)
    except CapacityWaitError:
        return self.alloc_extend(requests[:-1])

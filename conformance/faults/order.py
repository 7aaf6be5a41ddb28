"""Faults in the flattened output, made of the right pages.

Each breaks one obligation of C-FLATTENED-ORDER, or C-DIRECT-WRITE as far as slots decide it; plans
and counts are right. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference.contract import ExtendAllocation, ExtendRequest

ALLOC = "allocator.ReferenceAllocator.alloc_extend"
SLOTS = "allocator.ReferenceAllocator._slots"


def by_request(given: ExtendAllocation) -> list[tuple[int, ...]]:
    """The slots of each request."""
    return [given.out_cache_loc[start:end] for start, end in pairwise(given.extend_offsets)]


def flattened(given: ExtendAllocation, rows: Sequence[Sequence[int]]) -> ExtendAllocation:
    """The allocation with other slots."""
    slots = tuple(slot for row in rows for slot in row)
    return replace(given, out_cache_loc=slots)


@plant("C-FLATTENED-ORDER/1", ALLOC)
def two_requests_swapped(original: Function, self: Any, requests: Any) -> Any:
    """The slots of the last two requests of a batch stand in each other's place."""
    given: ExtendAllocation = original(self, requests)
    rows = by_request(given)
    if len(rows) > 1:
        rows[-2:] = rows[:-3:-1]
    return flattened(given, rows)


@plant("C-FLATTENED-ORDER/2", SLOTS)
def slots_grouped_by_lane(original: Function, self: Any, *arguments: Any) -> Any:
    """The slots of a request come lane by lane."""
    return sorted(original(self, *arguments), key=self.layout.lane_of_slot)


@plant("C-FLATTENED-ORDER/2", SLOTS)
def slots_of_one_token_pages_sorted(original: Function, self: Any, *arguments: Any) -> Any:
    """With page_size 1 the slots of a request come in ascending order."""
    slots = original(self, *arguments)
    return sorted(slots) if self.layout.page_size == 1 else slots


@plant("C-FLATTENED-ORDER/3", SLOTS)
def two_pages_swapped(
    original: Function, self: Any, request: ExtendRequest, pages: tuple[int, ...]
) -> Any:
    """The first two new pages of a request hold each other's tokens."""
    return original(self, request, (*pages[1::-1], *pages[2:]))


@plant("C-FLATTENED-ORDER/3", ALLOC)
def one_token_on_the_lane_of_the_next_request(original: Function, self: Any, requests: Any) -> Any:
    """The last token of a request and the first of the next one trade their slots."""
    given: ExtendAllocation = original(self, requests)
    slots = list(given.out_cache_loc)
    for at in given.extend_offsets[1:-1]:
        if 0 < at < len(slots):
            slots[at - 1], slots[at] = slots[at], slots[at - 1]
    return replace(given, out_cache_loc=tuple(slots))


@plant("C-FLATTENED-ORDER/4", SLOTS)
def last_slot_given_twice(original: Function, self: Any, *arguments: Any) -> list[int]:
    """The last token of a request gets the slot of the token before it."""
    slots = list(original(self, *arguments))
    return [*slots[:-1], slots[-2]] if len(slots) > 1 else slots


@plant("C-FLATTENED-ORDER/5", ALLOC)
def offsets_in_whole_pages(original: Function, self: Any, requests: Any) -> Any:
    """extend_offsets count the slots of whole pages, not tokens."""
    given: ExtendAllocation = original(self, requests)
    size = self.layout.page_size
    offsets = accumulate((len(pages) * size for pages in given.pages), initial=0)
    return replace(given, extend_offsets=tuple(offsets))


@plant("C-FLATTENED-ORDER/5", ALLOC)
def offsets_without_the_leading_zero(original: Function, self: Any, requests: Any) -> Any:
    """extend_offsets hold the end of each request only."""
    given: ExtendAllocation = original(self, requests)
    return replace(given, extend_offsets=given.extend_offsets[1:])


@plant("C-FLATTENED-ORDER/6", SLOTS)
def tokens_backwards_in_their_page(
    original: Function, self: Any, request: ExtendRequest, pages: tuple[int, ...]
) -> Iterator[int]:
    """A whole page is filled from its last slot to its first."""
    size = self.layout.page_size
    slots = list(original(self, request, pages))
    for at in range(0, len(slots), size):
        whole = slots[at : at + size]
        yield from whole[::-1] if whole[0] % size == 0 and len(whole) == size else whole


@plant("C-FLATTENED-ORDER/7", SLOTS)
def tail_page_filled_from_its_start(
    original: Function, self: Any, request: ExtendRequest, pages: tuple[int, ...]
) -> list[int]:
    """New tokens on a tail page begin at its first slot, over the prefix's own."""
    size = self.layout.page_size
    slots = list(original(self, request, pages))
    if request.last_slot is None:
        return slots
    on_tail = min(len(slots), size - request.prefix_len % size)
    first = slots[0] - slots[0] % size
    return [*range(first, first + on_tail), *slots[on_tail:]]


@plant("C-FLATTENED-ORDER/8", ALLOC)
def pages_with_the_tail_page(original: Function, self: Any, requests: Any) -> Any:
    """`pages` holds the tail page of each request too."""
    given: ExtendAllocation = original(self, requests)
    size = self.layout.page_size
    rows = [tuple(dict.fromkeys(slot // size for slot in row)) for row in by_request(given)]
    return replace(given, pages=tuple(rows))


@plant("C-FLATTENED-ORDER/8", ALLOC)
def pages_in_ascending_order(original: Function, self: Any, requests: Any) -> Any:
    """`pages` of a request are sorted, not in sequence order."""
    given: ExtendAllocation = original(self, requests)
    return replace(given, pages=tuple(tuple(sorted(row)) for row in given.pages))


@plant("C-DIRECT-WRITE/5", SLOTS)
def two_rows_in_one_slot(original: Function, self: Any, *arguments: Any) -> list[int]:
    """The last token of each whole page is stored over the first one."""
    size = self.layout.page_size
    slots = list(original(self, *arguments))
    return [slot - size + 1 if size > 1 and slot % size == size - 1 else slot for slot in slots]

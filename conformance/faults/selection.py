"""Faults in which free pages are taken, and in how the state is told.

Each breaks one obligation of C-DETERMINISTIC-SELECTION or C-REPLICA-DETERMINISM: lanes and counts
are right, the pages or their account are not. None of them is known to the kit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference.contract import LaneLayout, PoolSnapshot

ALLOCATIONS = (
    "allocator.ReferenceAllocator.alloc_extend",
    "allocator.ReferenceAllocator.alloc_pages",
)
SNAPSHOT = "allocator.ReferenceAllocator.snapshot"
DIGEST = "pool.digest"
Taken = tuple[PoolSnapshot, tuple[int, ...]]
CALLS = count()


def arranged(pool: PoolSnapshot, key: Callable[[int, int], Any]) -> PoolSnapshot:
    """The free pages of each lane in another order than theirs; key(lane, local page)."""
    lanes = (sorted(pages, key=lambda p: key(lane, p)) for lane, pages in enumerate(pool.free))
    return PoolSnapshot(pool.layout, tuple(map(tuple, lanes)))


@contextmanager
def taking_by(allocator: Any, key: Callable[[int, int], Any]) -> Iterator[None]:
    """While it lasts, the allocator hands out its free pages in the order of a key."""
    make_room = allocator._make_room

    def make_room_and_arrange(*arguments: Any, **named: Any) -> Any:
        evicted = make_room(*arguments, **named)
        allocator._pool = arranged(allocator._pool, key)
        return evicted

    allocator._make_room = make_room_and_arrange
    try:
        yield
    finally:
        del allocator._make_room
        allocator._pool = arranged(allocator._pool, lambda _, page: page)


def header(layout: LaneLayout) -> bytes:
    """The line that a digest begins with."""
    fields = (layout.num_lanes, layout.page_size, layout.pages_per_lane, layout.placement)
    line = "|".join(map(str, ("ownerlanes-state-1", *fields, layout.reserved_pages)))
    return f"{line}\n".encode("ascii")


@plant("C-DETERMINISTIC-SELECTION/1", "pool.take")
def highest_pages_first(_: Function, pool: PoolSnapshot, lanes: Sequence[int]) -> Taken:
    """Each lane hands out its highest free page."""
    free = [list(lane) for lane in pool.free]
    pages = tuple(pool.layout.page(lane, free[lane].pop()) for lane in lanes)
    return PoolSnapshot(pool.layout, tuple(map(tuple, free))), pages


@plant("C-DETERMINISTIC-SELECTION/2", "pool.take")
def pages_of_a_lane_reversed(original: Function, pool: PoolSnapshot, lanes: Sequence[int]) -> Taken:
    """Within a call, the first page on a lane gets the highest of those taken there."""
    after, pages = original(pool, lanes[::-1])
    return after, pages[::-1]


@plant("C-DETERMINISTIC-SELECTION/2", "pool.take")
def first_two_pages_of_a_lane_swapped(
    original: Function, pool: PoolSnapshot, lanes: Sequence[int]
) -> Taken:
    """The first two pages that a call takes on one lane are swapped."""
    after, pages = original(pool, lanes)
    swapped = list(pages)
    for lane in set(lanes):
        own = [i for i, each in enumerate(lanes) if each == lane]
        if len(own) > 1:
            swapped[own[0]], swapped[own[1]] = swapped[own[1]], swapped[own[0]]
    return after, tuple(swapped)


@plant("C-DETERMINISTIC-SELECTION/3", *ALLOCATIONS, "allocator.ReferenceAllocator._release")
def last_released_first(original: Function, self: Any, *arguments: Any) -> Any:
    """A lane hands out the page that was released last, wherever it lies."""
    order: dict[tuple[int, int], int] = self.__dict__.setdefault("_order", {})
    if original.__name__ != "_release":
        with taking_by(self, lambda lane, page: (-order.get((lane, page), 0), page)):
            return original(self, *arguments)
    before = self._pool
    original(self, *arguments)
    for lane, pages in enumerate(self._pool.free):
        for page in set(pages) - set(before.free[lane]):
            order[lane, page] = len(order) + 1
    return None


@plant("C-DETERMINISTIC-SELECTION/4", SNAPSHOT)
def snapshot_descending(original: Function, self: Any) -> Any:
    """The free pages of a lane are told from the highest down."""
    return arranged(original(self), lambda _, page: -page)


@plant("C-DETERMINISTIC-SELECTION/5", SNAPSHOT)
def snapshot_of_lists(original: Function, self: Any) -> Any:
    """The free pages of a snapshot are lists: it is not equal to others and has no hash."""
    pool: PoolSnapshot = original(self)
    lists: Any = tuple(map(list, pool.free))
    return replace(pool, free=lists)


class LiveSnapshot(PoolSnapshot):
    """A snapshot that shows the pool as it is when it is looked at."""

    def __init__(self, allocator: Any) -> None:
        object.__setattr__(self, "layout", allocator.layout)
        object.__setattr__(self, "_allocator", allocator)

    @property
    def free(self) -> tuple[tuple[int, ...], ...]:
        """The pages that are free now."""
        now: tuple[tuple[int, ...], ...] = self.__dict__["_allocator"]._pool.free
        return now

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PoolSnapshot) and self.free == other.free

    def __hash__(self) -> int:
        return hash(PoolSnapshot(self.layout, self.free))


@plant("C-DETERMINISTIC-SELECTION/6", SNAPSHOT)
def snapshot_of_the_present(_: Function, self: Any) -> Any:
    """A snapshot shows later allocations and releases."""
    return LiveSnapshot(self)


@plant("C-REPLICA-DETERMINISM/1", *ALLOCATIONS)
def calls_counted_over_all_allocators(original: Function, self: Any, *arguments: Any) -> Any:
    """Every third allocation of the process takes the highest pages."""
    if next(CALLS) % 3:
        return original(self, *arguments)
    with taking_by(self, lambda _, page: -page):
        return original(self, *arguments)


@plant("C-REPLICA-DETERMINISM/4", *ALLOCATIONS)
def pages_in_hash_order(original: Function, self: Any, *arguments: Any) -> Any:
    """Free pages are handed out in the order of their names' hashes."""
    with taking_by(self, lambda lane, page: hash(f"{lane}:{page}")):
        return original(self, *arguments)


@plant("C-REPLICA-DETERMINISM/2", DIGEST)
def digest_of_big_endian_bits(_: Function, pool: PoolSnapshot) -> str:
    """Bit 0 is the most significant bit of a digest's first byte."""
    size = -(-pool.layout.pages_per_lane // 8)
    lanes = (sum(1 << 8 * size - 1 - page for page in free) for free in pool.free)
    encoded = b"".join(lane.to_bytes(size, "big") for lane in lanes)
    return hashlib.sha256(header(pool.layout) + encoded).hexdigest()


@plant("C-REPLICA-DETERMINISM/2", DIGEST)
def digest_without_padding(_: Function, pool: PoolSnapshot) -> str:
    """The lanes of a digest follow each other bit by bit, not byte by byte."""
    layout = pool.layout
    pages = layout.pages_per_lane
    bits = sum(1 << lane * pages + page for lane, free in enumerate(pool.free) for page in free)
    whole = bits.to_bytes(-(-layout.num_lanes * pages // 8), "little")
    return hashlib.sha256(header(layout) + whole).hexdigest()


@plant("C-REPLICA-DETERMINISM/2", DIGEST)
def digest_of_the_free_pages_alone(_: Function, pool: PoolSnapshot) -> str:
    """A digest leaves out the line of the layout."""
    return hashlib.sha256(repr(pool.free).encode()).hexdigest()


@plant("C-REPLICA-DETERMINISM/2", DIGEST)
def digest_in_capitals(original: Function, pool: PoolSnapshot) -> str:
    """A digest is in uppercase hexadecimal."""
    return str(original(pool)).upper()


@plant("C-REPLICA-DETERMINISM/3", "allocator.ReferenceAllocator.digest")
def digest_kept_over_releases(original: Function, self: Any) -> Any:
    """A digest is computed again only when fewer pages are free than before."""
    free = sum(map(len, self._pool.free))
    known, digest = self.__dict__.get("_known", (free + 1, None))
    if digest is None or free < known:
        digest = original(self)
        self._known = (free, digest)
    return digest


@plant("C-REPLICA-DETERMINISM/3", DIGEST)
def digest_of_the_counts(original: Function, pool: PoolSnapshot) -> Any:
    """A digest tells how many pages are free on each lane, not which."""
    lanes = (
        range(pool.layout.pages_per_lane - len(free), pool.layout.pages_per_lane)
        for free in pool.free
    )
    return original(PoolSnapshot(pool.layout, tuple(map(tuple, lanes))))

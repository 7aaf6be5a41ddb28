"""Faults in releases and in keeping account of pages.

Each breaks one obligation of C-RELEASE or C-CONSERVATION; what is allocated is right until a page
was released wrongly. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool as transitions
from ownerlanes.reference.contract import InvalidFreeError, LaneLayout, PoolSnapshot

FREE = "allocator.ReferenceAllocator.free"
FREE_PAGES = "allocator.ReferenceAllocator.free_pages"
RELEASE = "allocator.ReferenceAllocator._release"
COUNTS = "allocator.ReferenceAllocator.available_pages"
CLEAR = "allocator.ReferenceAllocator.clear"
TAKE = "pool.take"


@plant("C-RELEASE/1", FREE)
def first_slot_releases_the_page(original: Function, self: Any, slots: Any) -> None:
    """A page is released only when its first slot is named."""
    if isinstance(slots, list | tuple) and all(type(slot) is int for slot in slots):
        slots = [slot for slot in slots if slot % self.layout.page_size == 0 or slot < 0]
    original(self, slots)


@plant("C-RELEASE/1", FREE)
def page_of_the_first_slot_only(original: Function, self: Any, slots: Any) -> None:
    """free(slots) releases the page of the first slot."""
    size = self.layout.page_size
    if isinstance(slots, list | tuple) and all(type(slot) is int for slot in slots):
        slots = [slot for slot in slots if slot // size == slots[0] // size]
    original(self, slots)


@plant("C-RELEASE/2", FREE_PAGES)
def last_page_of_a_release_kept(original: Function, self: Any, pages: Any) -> None:
    """Of more than two pages the last one stays allocated."""
    if isinstance(pages, list | tuple) and len(pages) > 2:
        pages = pages[:-1]
    original(self, pages)


@plant("C-RELEASE/3", RELEASE)
def duplicate_counted_twice(original: Function, self: Any, name: str, pages: Iterable[int]) -> None:
    """A page that is named twice is put on the free list twice."""
    given = list(pages)
    original(self, name, given)
    if not self._evictor.evicting and len(given) > len(set(given)):
        free = [list(lane) for lane in self._pool.free]
        for page in {page for page in given if given.count(page) > 1}:
            free[self.layout.lane_of_page(page)].append(self.layout.local_page(page))
        self._pool = PoolSnapshot(self.layout, tuple(tuple(sorted(lane)) for lane in free))


@plant("C-RELEASE/3", RELEASE)
def duplicate_refused(original: Function, self: Any, name: str, pages: Iterable[int]) -> None:
    """A page that is named twice in one call is refused."""
    given = list(pages)
    if not self._evictor.evicting and name == "free_pages" and len(given) > len(set(given)):
        raise InvalidFreeError(f"{name}: a page is named twice")
    original(self, name, given)


def _accepting(kind: str) -> Any:
    """A release that leaves out pages of a kind in place of refusing them."""

    def release(original: Function, self: Any, name: str, pages: Iterable[int]) -> None:
        if self._evictor.evicting:
            original(self, name, pages)
            return
        layout: LaneLayout = self.layout

        def wrong(page: int) -> str:
            if not 0 <= page < layout.num_pages:
                return "out of range"
            reserved = layout.local_page(page) < layout.reserved_pages
            return "reserved" if reserved else "free"

        original(
            self,
            name,
            [p for p in pages if transitions.is_allocated(self._pool, p) or wrong(p) != kind],
        )

    return release


@plant("C-RELEASE/4", RELEASE)
def double_free_accepted(original: Function, *arguments: Any) -> None:
    """A page that is free already is released again without an error."""
    _accepting("free")(original, *arguments)


@plant("C-RELEASE/4", RELEASE)
def free_of_a_reserved_page_accepted(original: Function, *arguments: Any) -> None:
    """A reserved page is released without an error."""
    _accepting("reserved")(original, *arguments)


@plant("C-RELEASE/4", RELEASE)
def free_out_of_range_accepted(original: Function, *arguments: Any) -> None:
    """A page beyond the pool is released without an error."""
    _accepting("out of range")(original, *arguments)


@plant("C-RELEASE/4", RELEASE)
def negative_page_counts_from_the_end(
    original: Function, self: Any, name: str, pages: Iterable[int]
) -> None:
    """Page -1 is the last page of the pool."""
    original(self, name, [p + self.layout.num_pages if p < 0 else p for p in pages])


@plant("C-RELEASE/4", RELEASE)
def refused_release_half_done(
    original: Function, self: Any, name: str, pages: Iterable[int]
) -> None:
    """Of a release that is refused, the pages before the wrong one are released."""
    given = list(dict.fromkeys(pages))
    try:
        original(self, name, given)
    except InvalidFreeError:
        for page in given:
            if not transitions.is_allocated(self._pool, page):
                break
            self._pool = transitions.release(self._pool, [page])
        raise


@plant("C-RELEASE/5", "allocator.checked_ids")
def ids_of_any_number_type_accepted(original: Function, ids: Any, name: str) -> Any:
    """Floats and strings of digits are taken for ids."""
    with suppress(TypeError, ValueError):
        ids = [int(number) if isinstance(number, float | str) else number for number in ids]
    return original(ids, name)


@plant("C-RELEASE/6", RELEASE)
def released_page_held_back(original: Function, self: Any, *arguments: Any) -> None:
    """The page of a release of one page becomes free with the next release."""
    before = self._pool
    original(self, *arguments)
    free = [set(lane) for lane in self._pool.free]
    freed = [len(new - set(old)) for new, old in zip(free, before.free, strict=True)]
    if self._evictor.evicting or sum(freed) != 1:
        return
    held = self._pool
    self._pool = before
    release = self._release

    def with_the_page_held(*next_arguments: Any) -> None:
        del self._release
        self._pool = held
        release(*next_arguments)

    self._release = with_the_page_held


@plant("C-CONSERVATION/1", "pool.release")
def page_lost_in_a_large_release(
    original: Function, pool: PoolSnapshot, pages: Iterable[int]
) -> PoolSnapshot:
    """Of more than three pages released at once, one is lost."""
    given = list(pages)
    after: PoolSnapshot = original(pool, given[1:] if len(given) > 3 else given)
    return after


@plant("C-CONSERVATION/2", TAKE)
def last_page_taken_stays_free(original: Function, pool: PoolSnapshot, lanes: Sequence[int]) -> Any:
    """The last of several pages that a call takes stays on the free list."""
    after, pages = original(pool, lanes)
    if len(pages) > 1:
        after = transitions.release(after, pages[-1:])
    return after, pages


@plant("C-CONSERVATION/3", COUNTS)
def counts_as_of_the_last_allocation(original: Function, self: Any) -> Any:
    """available_pages() is counted again only when pages were taken, not when released."""
    now = original(self)
    before = self.__dict__.get("_counted", now)
    self._counted = tuple(map(min, before, now)) if sum(now) <= sum(before) else before
    return self._counted


@plant("C-CONSERVATION/3", COUNTS)
def counts_with_the_reserved_pages(original: Function, self: Any) -> Any:
    """available_pages() counts the reserved pages too."""
    return tuple(count + self.layout.reserved_pages for count in original(self))


@plant("C-CONSERVATION/4", "allocator.ReferenceAllocator.__init__")
def last_page_missing_at_the_start(original: Function, self: Any, *arguments: Any) -> None:
    """A new allocator lacks the last page of its last lane."""
    original(self, *arguments)
    *lanes, last = self._pool.free
    self._pool = PoolSnapshot(self.layout, (*lanes, last[:-1]))


@plant("C-CONSERVATION/5", CLEAR)
def clear_forgets_the_last_lane(original: Function, self: Any) -> None:
    """clear() leaves the pages of the last lane as they are."""
    last = self._pool.free[-1]
    original(self)
    self._pool = PoolSnapshot(self.layout, (*self._pool.free[:-1], last))


@plant("C-CONSERVATION/5", CLEAR)
def clear_frees_the_reserved_pages(original: Function, self: Any) -> None:
    """clear() makes the reserved pages free too."""
    original(self)
    lane = tuple(range(self.layout.pages_per_lane))
    self._pool = PoolSnapshot(self.layout, (lane,) * self.layout.num_lanes)


@plant("C-CONSERVATION/6", CLEAR)
def clear_asks_the_evictor(original: Function, self: Any) -> None:
    """clear() asks for evictable pages before it clears."""
    count = self._evictor.count_once()
    if count is not None:
        count()
    original(self)
